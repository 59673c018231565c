// error: several inputs are one argument, as in checkpoint\(f, std::tuple\{x, z\}\)
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

auto const f = [](at::Tensor const& x, at::Tensor const& z) { return x * z; };
#ifdef CAIRN_FIXED
auto const y = cairn::checkpoint(f, std::tuple{at::ones(3), at::ones(3)});
#else
auto const y = cairn::checkpoint(f, at::ones(3), at::ones(3));
#endif
