// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file resnet.hpp  Residual networks (He, Zhang, Ren, Sun 2016) with parameters named as torchvision names them.

#include <cstdint>
#include <string>
#include <vector>

#include <torch/torch.h>

namespace models {

namespace detail {

/// Weights as torchvision draws them: He's normal distribution by the outputs.
inline torch::nn::Conv2d convolution(std::int64_t from, std::int64_t to, std::int64_t size, std::int64_t stride) {
  torch::nn::Conv2d made(torch::nn::Conv2dOptions(from, to, size).stride(stride).padding(size / 2).bias(false));
  torch::nn::init::kaiming_normal_(made->weight, 0, torch::kFanOut, torch::kReLU);
  return made;
}

}  // namespace detail

/// Two convolutions of 3x3, or with a bottleneck 1x1, 3x3 and 1x1, and what came in added to them. The stride is that
/// of the first 3x3. Activations work in place.
class ResidualBlockImpl : public torch::nn::Module {
 public:
  /// \param width  channels of the 3x3 convolutions; a bottleneck has four times as many after it
  ResidualBlockImpl(std::int64_t from, std::int64_t width, std::int64_t stride, bool bottleneck) {
    std::int64_t const to = bottleneck ? 4 * width : width;
    conv1 = register_module("conv1", detail::convolution(from, width, bottleneck ? 1 : 3, bottleneck ? 1 : stride));
    bn1 = register_module("bn1", torch::nn::BatchNorm2d(width));
    conv2 = register_module("conv2", detail::convolution(width, width, 3, bottleneck ? stride : 1));
    bn2 = register_module("bn2", torch::nn::BatchNorm2d(width));
    if (bottleneck) {
      conv3 = register_module("conv3", detail::convolution(width, to, 1, 1));
      bn3 = register_module("bn3", torch::nn::BatchNorm2d(to));
    }
    if (stride != 1 || from != to)
      downsample = register_module(
          "downsample", torch::nn::Sequential(detail::convolution(from, to, 1, stride), torch::nn::BatchNorm2d(to)));
  }

  torch::Tensor forward(torch::Tensor const& x) {
    auto y = bn1(conv1(x)).relu_();
    y = bn2(conv2(y));
    if (conv3) y = bn3(conv3(y.relu_()));
    y += downsample ? downsample->forward(x) : x;
    return y.relu_();
  }

 private:
  torch::nn::Conv2d conv1{nullptr}, conv2{nullptr}, conv3{nullptr};
  torch::nn::BatchNorm2d bn1{nullptr}, bn2{nullptr}, bn3{nullptr};
  torch::nn::Sequential downsample{nullptr};
};
TORCH_MODULE(ResidualBlock);

/// Sizes of a residual network.
struct resnet_sizes {
  std::vector<int> blocks;   ///< of each layer; each layer has twice the channels of the one before
  bool bottleneck = false;   ///< whether blocks have one
  std::int64_t classes = 1000;
  std::int64_t width = 64;   ///< channels of the stem
};

/// A stem, layers of residual blocks, a mean over the picture, and a linear classifier.
class ResNetImpl : public torch::nn::Module {
 public:
  explicit ResNetImpl(resnet_sizes const& sizes) {
    auto const [layers, bottleneck, classes, width] = sizes;
    conv1 = register_module("conv1", detail::convolution(3, width, 7, 2));
    bn1 = register_module("bn1", torch::nn::BatchNorm2d(width));
    std::int64_t from = width, channels = width;
    int number = 0;
    for (int const count : layers) {
      torch::nn::ModuleList layer;
      for (int k = 0; k < count; ++k) {
        std::int64_t const stride = k == 0 && number > 0 ? 2 : 1;
        blocks_.push_back(ResidualBlock(from, channels, stride, bottleneck));
        layer->push_back(blocks_.back());
        from = bottleneck ? 4 * channels : channels;
      }
      register_module("layer" + std::to_string(++number), layer);
      channels *= 2;
    }
    fc = register_module("fc", torch::nn::Linear(from, classes));
  }

  /// \param x  pictures, (batch, 3, height, width)   \returns (batch, classes)
  torch::Tensor forward(torch::Tensor const& x) {
    auto y = before_blocks(x);
    for (ResidualBlock& block : blocks_) y = block->forward(y);
    return after_blocks(y);
  }

  /// The three parts of `forward`: what comes before the blocks, the blocks, and what comes after them.
  torch::Tensor before_blocks(torch::Tensor const& x) {
    return torch::max_pool2d(bn1(conv1(x)).relu_(), {3, 3}, {2, 2}, {1, 1});
  }
  [[nodiscard]] std::vector<ResidualBlock> const& blocks() const noexcept { return blocks_; }
  torch::Tensor after_blocks(torch::Tensor const& y) {
    return fc(torch::flatten(torch::adaptive_avg_pool2d(y, {1, 1}), 1));
  }

 private:
  torch::nn::Conv2d conv1{nullptr};
  torch::nn::BatchNorm2d bn1{nullptr};
  std::vector<ResidualBlock> blocks_;
  torch::nn::Linear fc{nullptr};
};
TORCH_MODULE(ResNet);

inline ResNet resnet18() { return ResNet(resnet_sizes{{2, 2, 2, 2}, false}); }
inline ResNet resnet50() { return ResNet(resnet_sizes{{3, 4, 6, 3}, true}); }
inline ResNet resnet152() { return ResNet(resnet_sizes{{3, 8, 36, 3}, true}); }

}  // namespace models
