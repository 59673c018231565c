// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file unet.hpp  A U-Net (Ronneberger, Fischer, Brox 2015) with batch norms: what is read early is read again late.

#include <cstddef>
#include <cstdint>
#include <vector>

#include <torch/torch.h>

namespace models {

/// Twice a convolution of 3x3, a batch norm and an activation in place.
class DoubleConvolutionImpl : public torch::nn::Module {
 public:
  DoubleConvolutionImpl(std::int64_t from, std::int64_t to) {
    auto const convolution = [](std::int64_t in, std::int64_t out) {
      return torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, 3).padding(1).bias(false));
    };
    conv1 = register_module("conv1", convolution(from, to));
    bn1 = register_module("bn1", torch::nn::BatchNorm2d(to));
    conv2 = register_module("conv2", convolution(to, to));
    bn2 = register_module("bn2", torch::nn::BatchNorm2d(to));
  }
  torch::Tensor forward(torch::Tensor const& x) {
    return bn2(conv2(bn1(conv1(x)).relu_())).relu_();
  }

 private:
  torch::nn::Conv2d conv1{nullptr}, conv2{nullptr};
  torch::nn::BatchNorm2d bn1{nullptr}, bn2{nullptr};
};
TORCH_MODULE(DoubleConvolution);

/// Down by pooling, twice the channels each time, and up again by transposed convolutions beside what was there before.
class UNetImpl : public torch::nn::Module {
 public:
  /// \param width  channels of the first level; 64 in the paper   \param depth  times it goes down; 4 there
  explicit UNetImpl(std::int64_t channels = 3, std::int64_t classes = 2, std::int64_t width = 16, int depth = 3) {
    down = register_module("down", torch::nn::ModuleList());
    ups = register_module("ups", torch::nn::ModuleList());
    up = register_module("up", torch::nn::ModuleList());
    for (int k = 0; k <= depth; ++k) {
      down->push_back(DoubleConvolution(channels, width << k));
      channels = width << k;
    }
    for (int k = depth; k > 0; --k) {
      std::int64_t const half = width << (k - 1);
      ups->push_back(torch::nn::ConvTranspose2d(torch::nn::ConvTranspose2dOptions(2 * half, half, 2).stride(2)));
      up->push_back(DoubleConvolution(2 * half, half));
    }
    last = register_module("last", torch::nn::Conv2d(torch::nn::Conv2dOptions(width, classes, 1)));
  }

  /// \param x  (batch, channels, height, width), the last two multiples of 2^depth
  /// \returns (batch, classes, height, width)
  torch::Tensor forward(torch::Tensor const& x) {
    std::vector<torch::Tensor> before;
    auto y = x;
    for (std::size_t k = 0; k < down->size(); ++k) {
      if (k > 0) y = torch::max_pool2d(y, {2, 2});
      y = down->ptr<DoubleConvolutionImpl>(k)->forward(y);
      before.push_back(y);
    }
    for (std::size_t k = 0; k < up->size(); ++k) {
      auto const wider = ups->ptr<torch::nn::ConvTranspose2dImpl>(k)->forward(y);
      y = up->ptr<DoubleConvolutionImpl>(k)->forward(torch::cat({before[before.size() - 2 - k], wider}, 1));
    }
    return last(y);
  }

 private:
  torch::nn::ModuleList down{nullptr}, ups{nullptr}, up{nullptr};
  torch::nn::Conv2d last{nullptr};
};
TORCH_MODULE(UNet);

}  // namespace models
