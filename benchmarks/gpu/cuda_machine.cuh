// SPDX-License-Identifier: Apache-2.0
#pragma once
// A CUDA device: kernels of the loop, and times by events.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <cairn/adapt/cuda/cuda_runtime.hpp>
#include <cairn/adapt/cuda/device_buffer.hpp>
#include <cairn/adapt/cuda/graph.hpp>
#include <cairn/adapt/cuda/graph_pays.hpp>
#include <cairn/adapt/cuda/owned_stream.hpp>
#include <cairn/core/error.hpp>
#include "facts.hpp"
#include "pinned_cache.hpp"
#include "rods.hpp"

namespace gpu {

/// A block is a rod, and a thread four numbers of it.
inline constexpr unsigned threads_of_rod = rod / 4;

/// What lies left and right of a thread's four numbers. The block must not write to its rod before all have been here.
struct neighbours {
  float left, right;
};
__device__ inline neighbours neighbours_of(float4 mine) {
  __shared__ float first[threads_of_rod], last[threads_of_rod];
  unsigned const k = threadIdx.x;
  first[k] = mine.x;
  last[k] = mine.w;
  __syncthreads();
  return {last[(k + threads_of_rod - 1) % threads_of_rod], first[(k + 1) % threads_of_rod]};
}
__device__ inline std::size_t place_of_thread() { return std::size_t{blockIdx.x} * threads_of_rod + threadIdx.x; }

__global__ void step_kernel(float4 const* x, float4* x1, cairn::step_index i) {
  std::size_t const at = place_of_thread();
  float4 const was = x[at];
  neighbours const beside = neighbours_of(was);
  x1[at] = {stepped(beside.left, was.x, was.y, i), stepped(was.x, was.y, was.z, i), stepped(was.y, was.z, was.w, i),
            stepped(was.z, was.w, beside.right, i)};
}
__global__ void adjoint_kernel(float4 const* x, float4* bar, cairn::step_index i) {
  std::size_t const at = place_of_thread();
  float4 const was = bar[at], state = x[at];
  neighbours const beside = neighbours_of(was);
  bar[at] = {pulled_back(beside.left, was.x, was.y, state.x, i), pulled_back(was.x, was.y, was.z, state.y, i),
             pulled_back(was.y, was.z, was.w, state.z, i), pulled_back(was.z, was.w, beside.right, state.w, i)};
}
__global__ void seed_kernel(float4 const* x, float4* bar) { bar[place_of_thread()] = x[place_of_thread()]; }
__global__ void fill_kernel(float4* x) {
  std::size_t const at = place_of_thread();
  x[at] = {noise(4 * at), noise(4 * at + 1), noise(4 * at + 2), noise(4 * at + 3)};
}
__global__ void digest_kernel(float4 const* x, unsigned long long* sum) {
  std::size_t const at = place_of_thread();
  float4 const v = x[at];
  unsigned long long part =
      digest_of(v.x, 4 * at) + digest_of(v.y, 4 * at + 1) + digest_of(v.z, 4 * at + 2) + digest_of(v.w, 4 * at + 3);
  for (int away = 16; away > 0; away /= 2) part += __shfl_down_sync(0xffffffffu, part, away);
  if (threadIdx.x % 32 == 0) atomicAdd(sum, part);
}
__global__ void empty_kernel() {}

/// The device that is current. Not to be copied.
class cuda_machine {
 public:
  using runtime = pinned_cache<cairn::cuda_runtime>;
  using stream = cudaStream_t;

  /// \throws device_error where there is no driver or no device
  cuda_machine()
      : runtime_{0, can_register() ? pinning_threads() : 0},
        compute_{runtime_},
        sum_{runtime_, sizeof(unsigned long long)},
        sum_on_host_{runtime_, sizeof(unsigned long long)} {}
  cuda_machine(cuda_machine const&) = delete;
  cuda_machine& operator=(cuda_machine const&) = delete;

  [[nodiscard]] runtime& device() noexcept { return runtime_; }
  [[nodiscard]] stream compute() const noexcept { return compute_.get(); }
  [[nodiscard]] static std::string name() {
    cudaDeviceProp about{};
    need(cudaGetDeviceProperties(&about, 0));
    return about.name;
  }
  [[nodiscard]] static std::string driver() { return version([](int* v) { return cudaDriverGetVersion(v); }); }
  [[nodiscard]] static std::string toolkit() { return version([](int* v) { return cudaRuntimeGetVersion(v); }); }
  [[nodiscard]] int copy_engines() const { return runtime_.copy_engines(); }
  /// Bytes of the host's memory that a program may still take: of the machine, and of the group that it is in where
  /// that is limited.
  [[nodiscard]] static std::size_t host_bytes() {
    std::size_t bytes = 0;
    if (std::FILE* const file = std::fopen("/proc/meminfo", "r")) {
      char line[256];
      unsigned long long kilobytes = 0;
      while (std::fgets(line, sizeof line, file) != nullptr)
        if (std::sscanf(line, "MemAvailable: %llu", &kilobytes) == 1) bytes = kilobytes * 1024;
      std::fclose(file);
    }
    for (auto const& [limit_of, used_of] : {std::pair{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
                                            std::pair{"/sys/fs/cgroup/memory/memory.limit_in_bytes",
                                                      "/sys/fs/cgroup/memory/memory.usage_in_bytes"}}) {
      std::size_t const limit = number_in(limit_of), used = number_in(used_of);
      if (limit > used) bytes = std::min(bytes, limit - used);
    }
    return bytes;
  }
  /// Seconds since any moment, by which deadlines are.
  [[nodiscard]] static double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
  static constexpr double slower = 1;  ///< than the device that is assumed
  static constexpr std::size_t rods_compared = 16;
  static constexpr double graphs_below = cairn::graph_rule{}.longest_step_seconds;
  [[nodiscard]] static unsigned pinning_threads() { return std::max(1u, std::thread::hardware_concurrency()); }
  [[nodiscard]] static double seconds_to_pin(std::size_t bytes, unsigned threads) {
    cairn::cuda_runtime by{0, threads};
    cairn::pinned_buffer<cairn::cuda_runtime> made;
    return host_seconds([&] { made = {by, bytes}; });
  }

  void fill(float* x, std::size_t count, stream in) {
    launch(count, [&](unsigned rods) { fill_kernel<<<rods, threads_of_rod, 0, in>>>(four(x)); });
  }
  void poison(float* x, std::size_t count, stream in) { need(cudaMemsetAsync(x, 0xff, count * sizeof(float), in)); }
  void step(float const* x, float* x1, std::size_t count, cairn::step_index i, stream in) {
    launch(count, [&](unsigned rods) { step_kernel<<<rods, threads_of_rod, 0, in>>>(four(x), four(x1), i); });
  }
  void seed(float const* x, float* bar, std::size_t count, stream in) {
    launch(count, [&](unsigned rods) { seed_kernel<<<rods, threads_of_rod, 0, in>>>(four(x), four(bar)); });
  }
  void adjoint(float const* x, float* bar, std::size_t count, cairn::step_index i, stream in) {
    launch(count, [&](unsigned rods) { adjoint_kernel<<<rods, threads_of_rod, 0, in>>>(four(x), four(bar), i); });
  }
  void empty(stream in) {
    empty_kernel<<<1, 1, 0, in>>>();
    need(cudaPeekAtLastError());
  }
  /// Waits for the stream.
  [[nodiscard]] std::uint64_t digest(float const* x, std::size_t count) {
    auto* const sum = static_cast<unsigned long long*>(sum_.data());
    need(cudaMemsetAsync(sum, 0, sizeof *sum, compute()));
    launch(count, [&](unsigned rods) { digest_kernel<<<rods, threads_of_rod, 0, compute()>>>(four(x), sum); });
    runtime_.copy(sum_on_host_.data(), sum, sizeof *sum, cairn::copy_kind::device_to_host, compute());
    runtime_.sync(compute());
    return *static_cast<unsigned long long const*>(sum_on_host_.data());
  }

  /// Seconds of what `put` puts into the stream, once all that was there is done.
  template <class Put>
  [[nodiscard]] double timed(Put const& put) {
    runtime_.sync(compute());
    need(cudaEventRecord(begin_.get(), compute()));
    put();
    need(cudaEventRecord(end_.get(), compute()));
    need(cudaEventSynchronize(end_.get()));
    float milliseconds = 0;
    need(cudaEventElapsedTime(&milliseconds, begin_.get(), end_.get()));
    return 1e-3 * double(milliseconds);
  }
  /// The same of a few calls in a row, from which predictions are made.
  template <class Put>
  [[nodiscard]] double timed_alone(Put const& put) { return timed(put); }
  /// What `put` puts into the stream, as a graph; calling it launches that.
  template <class Put>
  [[nodiscard]] std::function<void()> captured(Put const& put) {
    auto graph = std::make_shared<cairn::device_graph<runtime>>(runtime_, compute(), [&](stream) { put(); });
    return [graph] { graph->launch(); };
  }

 private:
  /// Some machines let nobody pin what he has taken himself; then the driver takes it.
  [[nodiscard]] static bool can_register() {
    try {
      cairn::cuda_runtime by{0, 1};
      cairn::pinned_buffer<cairn::cuda_runtime> const page{by, 4096};
      return true;
    } catch (cairn::device_error const&) {
    } catch (cairn::out_of_memory const&) {
    }
    return false;
  }
  /// \throws device_error, out_of_memory   unless the answer is cudaSuccess
  static void need(cudaError_t answer) { cairn::cuda_runtime::check(answer, "gpu_plan"); }
  struct destroy_timed_event {
    void operator()(cudaEvent_t which) const noexcept { cudaEventDestroy(which); }
  };
  /// An event that has a time, as those of the runtime do not.
  using timed_event = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, destroy_timed_event>;
  [[nodiscard]] static timed_event make_timed_event() {
    cudaEvent_t made = nullptr;
    need(cudaEventCreate(&made));
    return timed_event{made};
  }
  [[nodiscard]] static float4* four(float* x) { return reinterpret_cast<float4*>(x); }
  [[nodiscard]] static float4 const* four(float const* x) { return reinterpret_cast<float4 const*>(x); }
  template <class Launch>
  static void launch(std::size_t count, Launch const& put) {
    if (count > 0) put(static_cast<unsigned>(count / rod));
    need(cudaPeekAtLastError());
  }
  template <class Ask>
  [[nodiscard]] static std::string version(Ask ask) {
    int number = 0;
    need(ask(&number));
    return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
  }
  [[nodiscard]] static std::size_t number_in(char const* path) {
    unsigned long long number = 0;
    if (std::FILE* const file = std::fopen(path, "r")) {
      if (std::fscanf(file, "%llu", &number) != 1) number = 0;
      std::fclose(file);
    }
    return number;
  }

  runtime runtime_;
  cairn::owned_stream<runtime> compute_;
  cairn::device_buffer<runtime> sum_;
  cairn::pinned_buffer<runtime> sum_on_host_;
  timed_event begin_ = make_timed_event(), end_ = make_timed_event();
};

}  // namespace gpu
