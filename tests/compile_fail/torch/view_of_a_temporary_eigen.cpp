// late error: the matrix would end before the tensor; give it away with cairn::to_tensor
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>
#include <Eigen/Core>

Eigen::MatrixXf m(2, 3);
#ifdef CAIRN_FIXED
auto const t = cairn::to_tensor(Eigen::MatrixXf(2 * m));
#else
auto const t = cairn::tensor_view(Eigen::MatrixXf(2 * m));
#endif
