// SPDX-License-Identifier: Apache-2.0
// Sweeps of real kernels captured into graphs on a real device: bits of every launch, and what the driver says of what
// cannot be captured.
#include <cstddef>
#include <functional>
#include <string>
#include <vector>
#include <cairn/adapt/cuda/cuda_runtime.hpp>
#include <cairn/adapt/cuda/detail/owned_handle.hpp>
#include <cairn/adapt/cuda/device_buffer.hpp>
#include <cairn/adapt/cuda/graph.hpp>
#include <cairn/adapt/cuda/owned_stream.hpp>
#include <cairn/adapt/cuda/sweep.hpp>
#include <cairn/core/device_memory.hpp>
#include <cairn/schedule/any.hpp>
#include <cairn/schedule/hrevolve.hpp>
#include <cairn/schedule/revolve.hpp>
#include <cairn/schedule/two_level.hpp>
#include <cairn/schedule/uniform.hpp>
#include "support/catch.hpp"

using namespace cairn;

namespace graph_test {

constexpr int size = 3'000;

/// Numbers on the device.
class field {
 public:
  static constexpr bool in_device_memory = true;
  explicit field(cuda_runtime& device) : buffer_{device, size * sizeof(double)} {}
  template <class F> void visit_buffers(F&& f) { f(device_pointer<void>{buffer_.data()}, buffer_.size()); }
  template <class F> void visit_buffers(F&& f) const { f(device_pointer<void const>{buffer_.data()}, buffer_.size()); }
  [[nodiscard]] double* numbers() const { return static_cast<double*>(buffer_.data()); }

 private:
  device_buffer<cuda_runtime> buffer_;
};

}  // namespace graph_test

namespace {

using graph_test::field;
using graph_test::size;
constexpr int threads = 128, blocks = (size + threads - 1) / threads;

__global__ void put_start(double* x, double more) {
  int const k = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (k < size) x[k] = 0.5 + more - 1e-4 * k;
}
__global__ void put_step(double const* x, double* x1, step_index i) {
  int const k = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (k < size) x1[k] = x[k] + 0.125 * (x[(k + 1) % size] - x[k] * x[k] / double(2 + i % 7));
}
__global__ void put_seed(double const* x, double* bar) {
  int const k = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (k < size) bar[k] = x[k] - 1;
}
/// The gather form of the transpose: each thread writes one number. `in` and `out` differ.
__global__ void put_adjoint(double const* x, double const* in, double* out, step_index i) {
  int const k = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (k < size) out[k] = in[k] * (1 - 0.25 * x[k] / double(2 + i % 7)) + 0.125 * in[(k + size - 1) % size];
}

bool has_device() {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
}

struct adjoint_pair {
  field now, next;
};

struct bench {
  cuda_runtime device;
  owned_stream<cuda_runtime> compute{device};
  field input{device};
  adjoint_pair bar{field{device}, field{device}};

  static void step(field const& x, field& x1, step_index i, cudaStream_t in) {
    put_step<<<blocks, threads, 0, in>>>(x.numbers(), x1.numbers(), i);
  }
  static void seed(field const& x, adjoint_pair& bar, cudaStream_t in) {
    put_seed<<<blocks, threads, 0, in>>>(x.numbers(), bar.now.numbers());
  }
  static void adjoint(field const& x, adjoint_pair& bar, step_index i, cudaStream_t in) {
    put_adjoint<<<blocks, threads, 0, in>>>(x.numbers(), bar.now.numbers(), bar.next.numbers(), i);
    cudaMemcpyAsync(bar.now.numbers(), bar.next.numbers(), size * sizeof(double), cudaMemcpyDeviceToDevice, in);
  }
  void put_input(double more) { put_start<<<blocks, threads, 0, compute.get()>>>(input.numbers(), more); }
  [[nodiscard]] std::vector<double> numbers_of(field const& x) {
    std::vector<double> numbers(size);
    device.sync(compute.get());
    REQUIRE(cudaMemcpy(numbers.data(), x.numbers(), size * sizeof(double), cudaMemcpyDeviceToHost) == cudaSuccess);
    return numbers;
  }
  [[nodiscard]] auto maker() {
    return [this] { return field{device}; };
  }
  /// With everything stored, and no graph.
  [[nodiscard]] std::vector<double> expected(step_index n, double more) {
    any_schedule const plan = store_all(n);
    device_sweep<cuda_runtime, field> sweep{device, compute.get(), device_capacity_for(plan), maker()};
    put_input(more);
    sweep.gradient(step, input, plan, seed, adjoint, bar);
    return numbers_of(bar.now);
  }
};

/// The code of the device_error that `f` throws, and in `text` what it says; 0 where it throws none.
int code_of(std::function<void()> const& f, std::string& text) {
  try {
    f();
  } catch (device_error const& refused) {
    text = refused.what();
    return int(refused.value(refused.value_count() - 1).magnitude);
  }
  return 0;
}

}  // namespace

TEST_CASE("a captured sweep of real kernels has the bits of storing everything for every input", "[adapt][cuda][gpu]") {
  if (!has_device()) CAIRN_SKIP("no GPU");
  for (step_index const n : {0, 1, 2, 60}) {
    bench on;
    std::vector<std::vector<double>> expected;
    for (int k = 0; k < 3; ++k) expected.push_back(on.expected(n, 0.125 * k));
    CHECK(expected[0] != expected[1]);
    for (any_schedule const& plan :
         {any_schedule{store_all(n)}, any_schedule{revolve{n, 5}},
          any_schedule{two_level{n, 7, 2, {.periods_on = tier::host, .extra_on = tier::device}}},
          any_schedule{hrevolve{n, {{3, 0, 0, tier::device}, {4, 0.5, 0.25, tier::host}}}}}) {
      auto capacity = device_capacity_for(plan);
      capacity.frames += 2;
      device_sweep<cuda_runtime, field> sweep{on.device, on.compute.get(), capacity, on.maker()};
      auto replay = sweep.capture(bench::step, on.input, plan, bench::seed, bench::adjoint, on.bar);
      for (int k = 0; k < 3; ++k) {
        CAPTURE(n, plan.slots(), k);
        on.put_input(0.125 * k);
        replay.launch();
        CHECK(on.numbers_of(on.bar.now) == expected[std::size_t(k)]);
      }
      on.put_input(0.25);
      sweep.gradient(bench::step, on.input, plan, bench::seed, bench::adjoint, on.bar);  // the sweep itself still works
      CHECK(on.numbers_of(on.bar.now) == expected[2]);
      for (int k = 0; k < 3; ++k) replay.launch();  // in a row
      CHECK(on.numbers_of(on.bar.now) == expected[2]);
    }
  }
}

TEST_CASE("a captured segment of real kernels is launched again and again", "[adapt][cuda][gpu]") {
  if (!has_device()) CAIRN_SKIP("no GPU");
  bench on;
  field captured[2] = {field{on.device}, field{on.device}}, direct[2] = {field{on.device}, field{on.device}};
  auto const segment_of = [](field (&x)[2], cudaStream_t in) {
    for (step_index i = 0; i < 6; ++i) bench::step(x[i % 2], x[(i + 1) % 2], i, in);
  };
  cudaStream_t const compute = on.compute.get();
  bench::step(direct[0], direct[1], 0, compute);  // loads the kernel, which a capture may not
  for (field* const x : {captured, direct}) put_start<<<blocks, threads, 0, compute>>>(x[0].numbers(), 0);
  device_graph segment{on.device, compute, [&](cudaStream_t in) { segment_of(captured, in); }};
  for (int k = 0; k < 10; ++k) {
    segment.launch();
    segment_of(direct, compute);
  }
  CHECK(on.numbers_of(captured[0]) == on.numbers_of(direct[0]));
}

TEST_CASE("a real device refuses what cannot be captured, and goes on", "[adapt][cuda][gpu]") {
  if (!has_device()) CAIRN_SKIP("no GPU");
  step_index constexpr n = 8;
  bench on;
  any_schedule const plan = two_level{n, 3, 1, {.periods_on = tier::host, .extra_on = tier::device}};
  auto const expected = on.expected(n, 0);
  owned_stream<cuda_runtime> const other{on.device};
  detail::owned_event<cuda_runtime> const before{on.device}, fork{on.device};
  on.device.record(before.get(), other.get());
  struct broken {
    int code;
    char const* says;
    std::function<void(cudaStream_t)> call;
  };
  std::vector<broken> const all = {
      {900, "cairn::cuda_runtime::sync", [&](cudaStream_t in) { on.device.sync(in); }},
      {900, "cairn::cuda_runtime::device_alloc", [&](cudaStream_t) { static_cast<void>(on.device.device_alloc(8)); }},
      {905, "cairn::cuda_runtime::wait", [&](cudaStream_t in) { on.device.wait(in, before.get()); }},
      {900, "a launch of the step failed on the way forward (step = 7",
       [&](cudaStream_t in) { static_cast<void>(cudaStreamSynchronize(in)); }},
      {904, "work was captured in a second stream",
       [&](cudaStream_t in) {
         on.device.record(fork.get(), in);
         on.device.wait(other.get(), fork.get());
         put_start<<<blocks, threads, 0, other.get()>>>(on.bar.next.numbers(), 0);
       }},
  };
  for (auto const& one : all) {
    CAPTURE(one.code, one.says);
    {
      device_sweep<cuda_runtime, field> sweep{on.device, on.compute.get(), device_capacity_for(plan), on.maker()};
      auto const step = [&](field const& x, field& x1, step_index i, cudaStream_t in) {
        bench::step(x, x1, i, in);
        if (i == n - 1) one.call(in);
      };
      std::string text;
      int const code = code_of(
          [&] { static_cast<void>(sweep.capture(step, on.input, plan, bench::seed, bench::adjoint, on.bar)); }, text);
      CAPTURE(code, text);
      CHECK(code == one.code);
      CHECK(text.find(one.says) != std::string::npos);
      static_cast<void>(cudaGetLastError());  // what the step's own calls left there
      on.put_input(0);
      sweep.gradient(bench::step, on.input, plan, bench::seed, bench::adjoint, on.bar);
      CHECK(on.numbers_of(on.bar.now) == expected);
      auto replay = sweep.capture(bench::step, on.input, plan, bench::seed, bench::adjoint, on.bar);
      replay.launch();
      CHECK(on.numbers_of(on.bar.now) == expected);
    }
  }
  std::string text;
  int const code = code_of([&] { device_graph{on.device, cudaStream_t{}, [](cudaStream_t) {}}; }, text);
  CAPTURE(code, text);
  CHECK(text.find("the stream cannot be captured into a graph") != std::string::npos);
  CHECK_THROWS_AS((device_graph{on.device, on.compute.get(), [](cudaStream_t) { throw 7; }}), int);
  CHECK(on.expected(n, 0) == expected);
}

TEST_CASE("a kernel that a real device refuses to launch is reported with its step, within a capture, too",
          "[adapt][cuda][gpu]") {
  if (!has_device()) CAIRN_SKIP("no GPU");
  step_index constexpr n = 8;
  bench on;
  any_schedule const plan = revolve{n, 3};
  auto const expected = on.expected(n, 0);
  device_sweep<cuda_runtime, field> sweep{on.device, on.compute.get(), device_capacity_for(plan), on.maker()};
  for (step_index const bad : {step_index{0}, step_index{5}, n - 1}) {
    auto const step = [&](field const& x, field& x1, step_index i, cudaStream_t in) {
      put_step<<<blocks, i == bad ? 100'000 : threads, 0, in>>>(x.numbers(), x1.numbers(), i);
    };
    std::string const says = "a launch of the step failed on the way forward (step = " + std::to_string(bad);
    std::string text;
    on.put_input(0);
    CHECK(code_of([&] { sweep.gradient(step, on.input, plan, bench::seed, bench::adjoint, on.bar); }, text) ==
          int(cudaErrorInvalidConfiguration));
    CHECK(text.find(says) != std::string::npos);
    text = "";
    CHECK(code_of([&] { static_cast<void>(sweep.capture(step, on.input, plan, bench::seed, bench::adjoint, on.bar)); },
                  text) != 0);
    CHECK(text.find(says) != std::string::npos);
    CHECK(cudaPeekAtLastError() == cudaSuccess);
    sweep.gradient(bench::step, on.input, plan, bench::seed, bench::adjoint, on.bar);
    CHECK(on.numbers_of(on.bar.now) == expected);
  }
}
