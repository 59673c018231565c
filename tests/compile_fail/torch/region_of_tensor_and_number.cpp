// error: the inputs must be a tensor, tuples, vectors or dictionaries of tensors
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

int const power = 3;
#ifdef CAIRN_FIXED
auto const y = cairn::checkpoint([](at::Tensor const& x) { return x.pow(power); }, at::ones(3));
#else
auto const y = cairn::checkpoint([](at::Tensor const& x, int n) { return x.pow(n); }, std::tuple{at::ones(3), power});
#endif
