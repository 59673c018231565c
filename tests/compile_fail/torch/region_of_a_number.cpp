// error: the inputs must be a tensor, tuples, vectors or dictionaries of tensors
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

auto const f = [](auto const& x) { return x; };
#ifdef CAIRN_FIXED
auto const y = cairn::checkpoint(f, at::scalar_tensor(3));
#else
auto const y = cairn::checkpoint(f, 3);
#endif
