// error: the state must be a tensor, tuples, vectors or dictionaries of tensors
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

auto const step = [](at::Tensor const& x) { return x.tanh(); };
#ifdef CAIRN_FIXED
auto const sum = cairn::estimate(step, at::ones(3), 10, cairn::LoopOptions());
#else
auto const sum = cairn::estimate(step, 1.0, 10, cairn::LoopOptions());
#endif
