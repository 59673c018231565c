// SPDX-License-Identifier: Apache-2.0
// Tensors through DLPack and back: one memory, one owner at the end.
#include "support/torch.hpp"
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/adapt/torch/compat/dlpack.hpp>

namespace dlpack_tests {

using cl::dlpack_tensor;
using cl::from_dlpack;
using cl::to_dlpack;

/// A producer of ours: doubles in a vector, counted when they end.
struct produced {
  DLManagedTensor managed{};
  std::vector<double> numbers;
  std::vector<std::int64_t> shape, strides;
  static inline int ended = 0;

  static dlpack_tensor make(std::vector<std::int64_t> shape, std::vector<std::int64_t> strides,
                            std::uint64_t byte_offset = 0) {
    auto* const p = new produced;
    for (int k = 0; k < 12; ++k) p->numbers.push_back(k);
    p->shape = std::move(shape);
    p->strides = std::move(strides);
    auto& t = p->managed.dl_tensor;
    t.data = p->numbers.data();
    t.device = {kDLCPU, 0};
    t.ndim = int(p->shape.size());
    t.dtype = {kDLFloat, 64, 1};
    t.shape = p->shape.data();
    t.strides = p->strides.empty() ? nullptr : p->strides.data();
    t.byte_offset = byte_offset;
    p->managed.manager_ctx = p;
    p->managed.deleter = [](DLManagedTensor* self) {
      ++ended;
      delete static_cast<produced*>(self->manager_ctx);
    };
    return dlpack_tensor{&p->managed};
  }
};

TEST_CASE("a tensor goes through DLPack without a copy and keeps its memory alive", "[torch][dlpack]") {
  cl::byte_meter meter;
  auto t = torch::arange(12, torch::kDouble).view({3, 4}).t();
  auto const* const address = t.data_ptr();
  auto const same = t.clone();
  auto const held = meter.allocated();
  auto packed = to_dlpack(t);
  t.reset();
  CHECK(meter.allocated() == held);
  auto back = from_dlpack(std::move(packed));
  CHECK(back.data_ptr() == address);
  CHECK(support::same_bits(back, same));
  CHECK(back.stride(0) == 1);
  back.add_(1);
  back.reset();
  CHECK(meter.allocated() == 96);  // that of `same`
  to_dlpack(same).reset();  // a consumer that never came
  CHECK(same.use_count() == 1);
}

TEST_CASE("tensors of other libraries end once, when the last view of them does", "[torch][dlpack]") {
  produced::ended = 0;
  auto t = from_dlpack(produced::make({3, 4}, {4, 1}));
  auto const view = t[2];
  t.reset();
  CHECK(produced::ended == 0);
  CHECK(view[1].item<double>() == 9);
  auto const dense = from_dlpack(produced::make({2, 6}, {}));  // without strides: contiguous
  CHECK(dense[1][0].item<double>() == 6);
  auto const turned = from_dlpack(produced::make({4, 3}, {1, 4}));
  CHECK(turned[1][2].item<double>() == 9);
}

TEST_CASE("tensors of other libraries may begin after their address", "[torch][dlpack]") {
  produced::ended = 0;
  {
    auto const t = from_dlpack(produced::make({2, 4}, {4, 1}, 4 * sizeof(double)));
    CHECK(t[0][0].item<double>() == 4);
    CHECK(t[1][3].item<double>() == 11);
  }
  CHECK(produced::ended == 1);
}

TEST_CASE("DLPack tensors that nobody keeps or that are none are refused, and ended", "[torch][dlpack]") {
  CHECK_THROWS_AS(from_dlpack(dlpack_tensor{}), cairn::invalid_call);
  auto owned = produced::make({12}, {});
  auto* const deleter = owned->deleter;
  owned->deleter = nullptr;
  auto* const raw = owned.get();
  CHECK_THROWS_AS(from_dlpack(std::move(owned)), cairn::invalid_call);
  produced::ended = 0;
  raw->deleter = deleter;
  raw->dl_tensor.dtype = {kDLFloat, 12, 1};  // a type that there is not
  CHECK_THROWS_AS(from_dlpack(dlpack_tensor{raw}), c10::Error);
  CHECK(produced::ended == 1);
}

TEST_CASE("tensors that others cannot read or write as they are stay here", "[torch][dlpack]") {
  auto const w = torch::ones({2}, at::TensorOptions().requires_grad(true));
  CHECK_THROWS_AS(to_dlpack(at::Tensor()), cairn::invalid_call);
  CHECK_THROWS_AS(to_dlpack(w), cairn::invalid_call);
  CHECK_THROWS_AS(to_dlpack(w * 2), cairn::invalid_call);
  CHECK_THROWS_AS(to_dlpack(torch::ones({2, 2}).to_sparse()), cairn::invalid_call);
  CHECK_THROWS_AS(to_dlpack(torch::conj(torch::ones({2}, torch::kComplexFloat))), cairn::invalid_call);
  CHECK(from_dlpack(to_dlpack(w.detach())).data_ptr() == w.data_ptr());
}

/// \param tensor  of a type that is deduced: LibTorch 1.13 has no versioned DLPack
template <class Tensor>
void check_versioned(Tensor const& tensor) {
  if constexpr (requires { toDLPackVersioned(tensor); }) {
    auto* const packed = toDLPackVersioned(tensor);
    packed->flags |= 1;
    CHECK_THROWS_AS(from_dlpack(packed), cairn::invalid_call);
    packed->flags &= ~std::uint64_t(1);
    CHECK(from_dlpack(packed).data_ptr() == tensor.data_ptr());
  }
}
TEST_CASE("read-only DLPack tensors are refused", "[torch][dlpack]") {
  auto const t = torch::ones({3});
  check_versioned(t);
  CHECK(t.use_count() == 1);
}

}  // namespace dlpack_tests
