// SPDX-License-Identifier: Apache-2.0
// What the LibTorch adapter claims of devices, a result each, on the device and, where there is such a thing, on the
// processor. Without Catch2, and linked to the processor's part of LibTorch only: the device's is loaded if it can be.
//   usage: torch_claims LIBRARIES FILE DEVICE DRIVER CUDA DATE COMMIT
#include <torch/torch.h>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>
#include <torch/version.h>
#include <cairn/adapt/torch/record/region.hpp>
#include <cairn/adapt/torch/checkpoint/saved_tensors_hooks.hpp>
#include <cairn/adapt/torch/compat/memory_stats.hpp>
#include <cairn/adapt/torch/loop/loop.hpp>
#include <cairn/adapt/torch/state/rng_states.hpp>
#include "row.hpp"

namespace cl = cairn::libtorch;
using at::Tensor;
using gpu::row;

namespace {

bool same_bits(Tensor const& a, Tensor const& b) {
  auto const x = a.detach().cpu().contiguous(), y = b.detach().cpu().contiguous();
  return x.sizes() == y.sizes() && std::memcmp(x.data_ptr(), y.data_ptr(), x.nbytes()) == 0;
}

/// A loop with dropout over a square matrix, and its gradient by the weights.
struct network {
  explicit network(c10::Device on) : device{on} {
    torch::manual_seed(1);
    size = on.is_cpu() ? 64 : 1024;
    w = (torch::randn({size, size}, on) / std::sqrt(double(size))).requires_grad_(true);
    x0 = torch::randn({size, size}, on);
    gradient([&] { return plain(); });  // what is set up once
  }
  [[nodiscard]] Tensor step(Tensor const& x) const { return torch::dropout(torch::tanh(x.mm(w) + x), 0.1, true); }
  [[nodiscard]] Tensor plain() const {
    Tensor x = x0;
    for (int i = 0; i < steps; ++i) x = step(x);
    return x;
  }
  [[nodiscard]] Tensor looped(cl::LoopOptions const& options) const {
    return cl::checkpointed_loop([this](Tensor const& x) { return step(x); }, x0, steps, options);
  }
  /// From the same numbers each time.
  Tensor gradient(std::function<Tensor()> const& last) {
    torch::manual_seed(7);
    last().pow(2).sum().backward();
    auto const found = w.grad();
    w.mutable_grad() = Tensor{};
    return found;
  }
  /// The same; seconds and, on a device, bytes at most are added to what was found.
  Tensor measured(row& r, std::string const& name, std::function<Tensor()> const& last) {
    if (!device.is_cpu()) cl::reset_peak_memory(device);
    auto const held = device.is_cpu() ? 0 : cl::memory_stats(device).allocated;
    auto const before = std::chrono::steady_clock::now();
    auto const found = gradient(last);
    (void)found.sum().item<float>();  // waits
    r.found.add(name + "_seconds", std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count());
    if (!device.is_cpu()) bytes = cl::memory_stats(device).peak - held, r.found.add(name + "_bytes", bytes);
    return found;
  }

  c10::Device device;
  std::int64_t size = 0, bytes = 0;
  int steps = 64;
  Tensor w, x0;
};

bool loops(network& net, row& r) {
  auto const want = net.measured(r, "plain", [&] { return net.plain(); });
  auto const plain_bytes = net.bytes;
  r.found.add("plain_repeats", same_bits(want, net.gradient([&] { return net.plain(); })));
  auto const found = net.measured(r, "loop", [&] { return net.looped(cl::LoopOptions().checkpoints(8)); });
  return same_bits(want, found) && (net.device.is_cpu() || net.bytes < plain_bytes / 2);
}
bool offload(network& net, row& r) {
  auto const options = cl::LoopOptions().checkpoints(32);
  auto const want = net.measured(r, "kept", [&] { return net.looped(options); });
  auto const kept_bytes = net.bytes;
  auto const pinned = cl::LoopOptions(options).offload(cl::Offload::Pinned);
  net.gradient([&] { return net.looped(pinned); });  // pins
  auto const found = net.measured(r, "offloaded", [&] { return net.looped(pinned); });
  return same_bits(want, found) && (net.device.is_cpu() || net.bytes < kept_bytes);
}
bool saves_on_cpu(network& net, row& r) {
  bool right = true;
  auto const want = net.measured(r, "plain", [&] { return net.plain(); });
  auto const plain_bytes = net.bytes;
  for (bool const pins : {false, true}) {
    std::optional<cl::save_on_cpu> scope;
    std::int64_t saved = 0;
    auto const found = net.measured(r, pins ? "pinned" : "not_pinned", [&] {
      scope.emplace(pins);
      auto const last = net.plain();
      saved = scope->bytes();
      scope.reset();
      return last;
    });
    r.found.add(pins ? "pinned_saved" : "not_pinned_saved", saved);
    right = right && same_bits(want, found);
    if (!net.device.is_cpu()) right = right && saved > 0 && net.bytes < plain_bytes / 2;
  }
  return right;
}
/// A region draws again what it drew, and leaves the generator where the plain program does.
bool generators(network& net, row& r) {
  Tensor after[2];
  auto const program = [&](bool region) {
    auto const found = net.gradient([&] {
      Tensor x = net.x0.clone().requires_grad_(true);
      auto const block = [&](Tensor const& t) { return net.step(net.step(t)); };
      for (int k = 0; k < 4; ++k) x = region ? cl::checkpoint(block, x) : block(x);
      after[region ? 1 : 0] = cl::get_device_states({net.w}).back().second.clone();
      return x;
    });
    return found;
  };
  auto const want = program(false), found = program(true);
  bool const generator = same_bits(after[0], after[1]);
  r.found.add("generator_as_in_the_plain_program", generator);
  auto const state = cl::get_device_states({net.w});
  auto const drawn = torch::rand({64}, net.device);
  cl::set_device_states(state);
  return same_bits(want, found) && generator && same_bits(drawn, torch::rand({64}, net.device));
}
/// On a stream of one's own, behind work that is still running there.
bool streams(network& net, row& r) {
  auto const want = net.gradient([&] { return net.plain(); });
  c10::impl::VirtualGuardImpl const device{net.device.type()};
  auto const stream = device.getStreamFromGlobalPool(net.device, false);
  bool right = true;
  for (auto const how : {cl::Offload::Off, cl::Offload::Pinned}) {
    auto const start = net.x0;
    Tensor found;
    {
      device.synchronizeDevice(net.device.index());
      c10::StreamGuard const guard{stream};
      auto busy = torch::randn({2048, 2048}, net.device);
      for (int k = 0; k < 50; ++k) busy = busy.mm(busy).tanh();
      net.x0 = start.clone().add_(busy.sum() * 0);  // late
      found = net.gradient([&] { return net.looped(cl::LoopOptions().checkpoints(8).offload(how)); });
      stream.synchronize();
    }
    net.x0 = start;
    right = right && same_bits(want, found);
  }
  r.found.add("offloaded_too", true);
  return right;
}
bool statistics(network& net, row& r) {
  std::int64_t const bytes = 64 << 20;
  auto const before = cl::memory_stats(net.device);
  auto t = torch::empty({bytes}, c10::TensorOptions(net.device).dtype(at::kByte));
  auto const with = cl::memory_stats(net.device);
  t = Tensor{};
  auto const after = cl::memory_stats(net.device);
  cl::reset_peak_memory(net.device);
  auto const reset = cl::memory_stats(net.device);
  cl::clear_cache();
  auto const cleared = cl::memory_stats(net.device);
  r.found.add("allocated", with.allocated - before.allocated)
      .add("cached_before", after.cached)
      .add("cached_after", cleared.cached);
  return with.allocated - before.allocated == bytes && after.allocated == before.allocated &&
         with.peak >= with.allocated && reset.peak == reset.allocated &&
         cleared.cached < (net.device.is_cpu() ? 1 : after.cached);
}

struct claim {
  char const* name;
  bool (*holds)(network&, row&);
  bool needs_device = false;
};
constexpr claim claims[] = {{"loop", loops},
                            {"offload", offload},
                            {"save_on_cpu", saves_on_cpu},
                            {"generators", generators},
                            {"streams", streams, true},
                            {"statistics", statistics}};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 8) return std::fprintf(stderr, "usage: torch_claims LIBRARIES FILE DEVICE DRIVER CUDA DATE COMMIT\n"), 2;
  // Before LibTorch asks what there is of CUDA, which it does once.
  std::string why = "no CUDA device";
  if (dlopen((std::string{argv[1]} + "/libtorch_cuda.so").c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr)
    why += ": " + std::string{dlerror()};
  bool const has_device = torch::cuda::is_available();
  (void)cl::memory_stats();  // counts from now on
  gpu::results out{{argv[3], argv[4], argv[5], argv[6], argv[7]}, argv[2]};
  for (auto const kind : {at::kCUDA, at::kCPU})
    for (claim const& one : claims) {
      bool const is_cpu = kind == at::kCPU;
      if (is_cpu && one.needs_device) continue;
      row r{.bench = std::string{"torch "} + one.name,
            .params = support::json_object{}.add("on", is_cpu ? "processor" : "device").add("version", TORCH_VERSION)};
      if (!is_cpu && !has_device) {
        r.note = "skipped: " + why;
      } else {
        try {
          network net{is_cpu ? c10::Device{at::kCPU} : c10::Device{at::kCUDA, 0}};
          r.right = one.holds(net, r);
        } catch (std::exception const& failure) {
          r.right = false;
          r.failed = true;
          r.note = "failed: " + std::string{failure.what()}.substr(0, 300);
        }
      }
      try {
        out.add(r);
      } catch (gpu::part_ends const&) {  // one claim says nothing of the next
      }
    }
  std::printf("torch: done\n");
  return out.right() ? 0 : 1;
}
