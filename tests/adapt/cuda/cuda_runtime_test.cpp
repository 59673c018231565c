// SPDX-License-Identifier: Apache-2.0
// What cuda_runtime asks of the CUDA runtime, with which device current, and what it makes of every answer. The library
// is played by the test.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>
#include <cairn/adapt/cuda/cuda_runtime.hpp>
#include <cairn/adapt/cuda/detail/owned_handle.hpp>
#include <cairn/adapt/cuda/detail/touched_pages.hpp>
#include <cairn/adapt/cuda/device_buffer.hpp>
#include <cairn/adapt/cuda/owned_stream.hpp>
#include <cairn/adapt/cuda/sweep.hpp>
#include <cairn/schedule/revolve.hpp>
#include "support/catch.hpp"
#include "support/sim_cudart.hpp"

using namespace cairn;

namespace {

auto& library = sim_cudart::now;
void start_again() { library = {}; }

/// The text of what `f` throws, after "device: " or "memory: "; "" where it throws nothing.
std::string thrown_by(std::function<void()> const& f) {
  try {
    f();
  } catch (out_of_memory const& refused) {
    return std::string{"memory: "} + refused.what();
  } catch (device_error const& refused) {
    return std::string{"device: "} + refused.what();
  }
  return "";
}
bool begins(std::string const& text, std::string const& with) { return text.compare(0, with.size(), with) == 0; }
bool has(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

/// The calls that may throw, by the CUDA function behind each.
struct one_call {
  std::string function, operation;
  std::function<void(cuda_runtime const&)> make;
};
std::vector<one_call> const calls = {
    {"cudaMalloc", "device_alloc", [](auto& on) { static_cast<void>(on.device_alloc(8)); }},
    {"cudaHostAlloc", "pinned_alloc", [](auto& on) { static_cast<void>(on.pinned_alloc(8)); }},
    {"cudaStreamCreateWithFlags", "make_stream", [](auto& on) { static_cast<void>(on.make_stream()); }},
    {"cudaEventCreateWithFlags", "make_event", [](auto& on) { static_cast<void>(on.make_event()); }},
    {"cudaEventRecord", "record", [](auto& on) { on.record(nullptr, nullptr); }},
    {"cudaStreamWaitEvent", "wait", [](auto& on) { on.wait(nullptr, nullptr); }},
    {"cudaEventSynchronize", "sync", [](auto& on) { on.sync(cudaEvent_t{}); }},
    {"cudaStreamSynchronize", "sync", [](auto& on) { on.sync(cudaStream_t{}); }},
    {"cudaEventQuery", "done", [](auto& on) { static_cast<void>(on.done(nullptr)); }},
    {"cudaMemcpyAsync", "copy",
     [](auto& on) {
       char a = 0, b = 0;
       on.copy(&a, &b, 1, copy_kind::device_to_device, nullptr);
     }},
    {"cudaMemsetAsync", "zero",
     [](auto& on) {
       char a = 0;
       on.zero(&a, 1, nullptr);
     }},
    {"cudaMemGetInfo", "free_bytes", [](auto& on) { static_cast<void>(on.free_bytes()); }},
};

}  // namespace

TEST_CASE("each call is made with the runtime's device current, and leaves the one that was", "[adapt][cuda]") {
  for (int const current : {0, 1})
    for (auto const& one : calls) {
      start_again();
      cuda_runtime const device{1};
      library.current = current;
      one.make(device);
      CAPTURE(one.function, current);
      bool found = false;
      for (auto const& call : library.calls) found = found || call == one.function + " on 1";
      CHECK(found);
      CHECK(library.current == current);
    }
}

TEST_CASE("a call that fails leaves the device that was current, too", "[adapt][cuda]") {
  for (auto const& one : calls) {
    start_again();
    cuda_runtime const device{1};
    library.answers[one.function] = cudaErrorInvalidValue;
    auto const text = thrown_by([&] { one.make(device); });
    CAPTURE(one.function, text);
    CHECK(begins(text, "device: cairn::cuda_runtime::" + one.operation +
                           ": a call of the device's runtime failed (device = 1, code = 1)"));
    CHECK(library.current == 0);
    CHECK(library.last == cudaSuccess);  // no other call takes it for its own
  }
}

TEST_CASE("the device is not touched where it cannot be made current", "[adapt][cuda]") {
  for (char const* const fails : {"cudaGetDevice", "cudaSetDevice"})
    for (auto const& one : calls) {
      start_again();
      cuda_runtime const device{1};
      library.answers[fails] = cudaErrorInvalidDevice;
      CHECK(has(thrown_by([&] { one.make(device); }), "there is no device of that number (device = 1, code = 101)"));
      for (auto const& call : library.calls) CHECK(!begins(call, one.function));
    }
}

TEST_CASE("memory that is not available is reported with what was requested and what is free", "[adapt][cuda]") {
  start_again();
  cuda_runtime const device{1};
  library.free = 5'000;
  library.answers = {{"cudaMalloc", cudaErrorMemoryAllocation}, {"cudaHostAlloc", cudaErrorMemoryAllocation}};
  CHECK(begins(thrown_by([&] { static_cast<void>(device.device_alloc(7'000)); }),
               "memory: cairn::cuda_runtime::device_alloc: the device has less memory free than was asked for "
               "(bytes asked = 7000, bytes free = 5000, device = 1, code = 2); give a smaller budget"));
  CHECK(library.last == cudaSuccess);
  CHECK(begins(thrown_by([&] { static_cast<void>(device.pinned_alloc(7'000)); }),
               "memory: cairn::cuda_runtime::pinned_alloc: that much host memory cannot be pinned (bytes asked = 7000, "
               "device = 1, code = 2); keep fewer slots"));
  library.answers["cudaMemGetInfo"] = cudaErrorInvalidValue;
  CHECK(has(thrown_by([&] { static_cast<void>(device.device_alloc(7'000)); }), "bytes free = 0"));
  CHECK(library.last == cudaSuccess);
  library.answers = {{"cudaStreamCreateWithFlags", cudaErrorMemoryAllocation}};
  CHECK(begins(thrown_by([&] { static_cast<void>(device.make_stream()); }),
               "memory: cairn::cuda_runtime::make_stream: the device or its driver has no memory left"));
  CHECK(library.current == 0);
  CHECK(library.last == cudaSuccess);
}

TEST_CASE("errors from which a context never recovers are reported as such by every call", "[adapt][cuda]") {
  for (auto const answer : {cudaErrorIllegalAddress, cudaErrorLaunchFailure, cudaErrorAssert, cudaErrorECCUncorrectable,
                            cudaErrorMisalignedAddress, cudaErrorLaunchTimeout})
    for (auto const& one : calls) {
      start_again();
      cuda_runtime const device{0};
      library.answers[one.function] = answer;
      auto const text = thrown_by([&] { one.make(device); });
      CAPTURE(one.function, text);
      CHECK(has(text, "and the device's context is lost (device = 0, code = " + std::to_string(int(answer)) + ")"));
      CHECK(has(text, "end the process"));
    }
}

TEST_CASE("answers are told apart by what to do about them", "[adapt][cuda]") {
  using detail::device_failure;
  auto const means = [](cudaError_t answer) { return detail::meaning_of(answer); };
  CHECK(means(cudaErrorInsufficientDriver) == device_failure::no_driver);
  CHECK(means(cudaErrorNoDevice) == device_failure::no_device);
  CHECK(means(cudaErrorInvalidDevice) == device_failure::no_such_device);
  CHECK(means(cudaErrorDevicesUnavailable) == device_failure::busy);
  CHECK(means(cudaErrorMemoryAllocation) == device_failure::no_memory);
  CHECK(means(cudaErrorInvalidResourceHandle) == device_failure::foreign_handle);
  CHECK(means(cudaErrorNoKernelImageForDevice) == device_failure::no_code);
  CHECK(means(cudaErrorStreamCaptureUnsupported) == device_failure::captured);
  CHECK(means(cudaErrorStreamCaptureInvalidated) == device_failure::capture_spoiled);
  CHECK(means(cudaErrorStreamCaptureUnjoined) == device_failure::capture_unjoined);
  CHECK(means(cudaErrorStreamCaptureIsolation) == device_failure::capture_from_outside);
  CHECK(means(cudaErrorStreamCaptureImplicit) == device_failure::capture_of_legacy);
  CHECK(means(cudaErrorInvalidValue) == device_failure::other);
  CHECK(means(cudaErrorUnknown) == device_failure::other);
}

TEST_CASE("without driver or device nothing can be made, and the error says what to do", "[adapt][cuda]") {
  struct { cudaError_t answer; int devices; char const* said; } const cases[] = {
      {cudaErrorInsufficientDriver, 0, "the CUDA driver is missing, or older than the CUDA runtime of this program"},
      {cudaErrorNoDevice, 0, "the machine has no CUDA device that this program may see"},
      {cudaSuccess, 0, "the machine has no CUDA device that this program may see"},
  };
  for (auto const& one : cases) {
    start_again();
    library.devices = one.devices;
    library.answers["cudaGetDeviceCount"] = one.answer;
    for (auto const& text :
         {thrown_by([] { cuda_runtime{}; }), thrown_by([] { cuda_runtime{0}; }), thrown_by([] { cuda_runtime{-1}; }),
          thrown_by([] { static_cast<void>(cuda_runtime::device_count()); })}) {
      CAPTURE(text);
      CHECK(has(text, one.said));
      CHECK(has(text, "nvidia-smi"));
    }
  }
}

TEST_CASE("a runtime is on the device that is current, or on one that there is", "[adapt][cuda]") {
  start_again();
  library.current = 1;
  CHECK(cuda_runtime{}.device() == 1);
  CHECK(cuda_runtime{0}.device() == 0);
  CHECK(cuda_runtime::device_count() == 2);
  CHECK(library.current == 1);
  CHECK(begins(thrown_by([] { cuda_runtime{2}; }),
               "device: cairn::cuda_runtime: there is no device of that number (device = 2, code = 101)"));
  CHECK(has(thrown_by([] { cuda_runtime{-1}; }), "(device = -1, code = 101)"));
  library.copy_engines = 1;
  CHECK(cuda_runtime{1}.copy_engines() == 1);
  CHECK(cuda_runtime{1}.free_bytes() == library.free);
  cuda_runtime const first{1}, copied = first;
  CHECK(copied.device() == 1);
}

TEST_CASE("streams wait for no legacy stream, events keep no time, pinned memory is for all devices", "[adapt][cuda]") {
  start_again();
  cuda_runtime device{0};
  owned_stream<cuda_runtime> const stream{device};
  detail::owned_event<cuda_runtime> const event{device};
  pinned_buffer<cuda_runtime> const memory{device, 8};
  CHECK(library.stream_flags == cudaStreamNonBlocking);
  CHECK(library.event_flags == cudaEventDisableTiming);
  CHECK(library.pinned_flags == cudaHostAllocPortable);
}

TEST_CASE("memory that threads touch first is taken in whole pages, pinned where it is, and given back",
          "[adapt][cuda]") {
  start_again();
  cuda_runtime device{1, 3};
  for (std::size_t const bytes : {1u, 4095u, 4096u, 4097u, 1'000'000u}) {
    pinned_buffer<cuda_runtime> const memory{device, bytes};
    CHECK(library.registered_bytes == (bytes + 4095) / 4096 * 4096);
    CHECK(library.pinned_flags == cudaHostRegisterPortable);
    CHECK(reinterpret_cast<std::uintptr_t>(memory.data()) % 4096 == 0);
    std::memset(memory.data(), 1, bytes);
    CHECK(library.pinned.size() == 1);
    CHECK(library.pinned[memory.data()].device == 1);
  }
  CHECK(library.pinned.empty());
  CHECK(library.current == 0);
  library.answers["cudaHostRegister"] = cudaErrorMemoryAllocation;
  CHECK(has(thrown_by([&] { static_cast<void>(device.pinned_alloc(5'000)); }),
            "cannot be pinned (bytes asked = 5000, device = 1, code = 2)"));
  library.answers["cudaHostRegister"] = cudaErrorNotSupported;
  CHECK(
      has(thrown_by([&] { static_cast<void>(device.pinned_alloc(5'000)); }), "a call of the device's runtime failed"));
  library.answers.clear();
  auto const registered = std::count(library.calls.begin(), library.calls.end(), "cudaHostRegister on 1");
  CHECK(has(thrown_by([&] { static_cast<void>(device.pinned_alloc(~std::size_t{0})); }), "cannot be pinned"));
  CHECK(std::count(library.calls.begin(), library.calls.end(), "cudaHostRegister on 1") == registered);
  library.every_answer = cudaErrorCudartUnloading;
  device.pinned_free(detail::take_pages(10, 2));
  CHECK(library.last == cudaSuccess);
}

TEST_CASE("threads touch every page once, whatever their number", "[adapt][cuda]") {
  for (unsigned const threads : {0u, 1u, 2u, 5u, 16u})
    for (std::size_t const bytes : {1u, 4096u, 4097u, 5u * 4096u, 33u * 4096u + 7u}) {
      std::vector<char> memory(detail::whole_pages(bytes) + 4096, 'x');
      detail::touch_pages(memory.data(), bytes, threads);
      std::size_t wrong = 0;
      for (std::size_t k = 0; k < memory.size(); ++k)
        wrong += (memory[k] == '\0') == (k % 4096 == 0 && k < bytes) ? 0u : 1u;
      CHECK(wrong == 0);
    }
}

TEST_CASE("copies go where they say, and none of no bytes is made", "[adapt][cuda]") {
  start_again();
  cuda_runtime const device{0};
  char bytes[2] = {};
  device.copy(bytes, bytes + 1, 1, copy_kind::device_to_device, nullptr);
  CHECK(library.direction == cudaMemcpyDeviceToDevice);
  device.copy(bytes, bytes + 1, 1, copy_kind::device_to_host, nullptr);
  CHECK(library.direction == cudaMemcpyDeviceToHost);
  device.copy(bytes, bytes + 1, 1, copy_kind::host_to_device, nullptr);
  CHECK(library.direction == cudaMemcpyHostToDevice);
  auto const before = library.calls.size();
  device.copy(nullptr, nullptr, 0, copy_kind::host_to_device, nullptr);
  device.zero(nullptr, 0, nullptr);
  CHECK(device.device_alloc(0) == nullptr);
  CHECK(device.pinned_alloc(0) == nullptr);
  CHECK(library.calls.size() == before);
}

TEST_CASE("an event that has not run is no error", "[adapt][cuda]") {
  start_again();
  cuda_runtime const device{0};
  CHECK(device.done(nullptr));
  library.answers["cudaEventQuery"] = cudaErrorNotReady;
  CHECK_FALSE(device.done(nullptr));
  CHECK(library.last == cudaSuccess);  // the library counts it as one
}

TEST_CASE("a launch that CUDA refuses is told once, and what has not run or failed later is not taken for one",
          "[adapt][cuda]") {
  start_again();
  cuda_runtime const device{1};
  CHECK(thrown_by([&] { device.check(); }) == "");
  library.last = cudaErrorNoKernelImageForDevice;
  CHECK(thrown_by([&] { device.check(); }) ==
        "device: cairn::cuda_runtime::check: the program holds no code for this device (device = 1, code = 209); "
        "cudaErrorOfSomeKind: compile for its architecture, for example nvcc -arch=native");
  CHECK(thrown_by([&] { device.check(); }) == "");
  CHECK(library.last == cudaSuccess);
  library.last = cudaErrorInvalidConfiguration;
  CHECK(begins(thrown_by([&] { device.check(); }),
               "device: cairn::cuda_runtime::check: a call of the device's runtime failed (device = 1, code = 9)"));
  for (auto const other : {cudaErrorNotReady, cudaErrorIllegalAddress, cudaErrorLaunchFailure}) {
    library.last = other;
    CHECK(thrown_by([&] { device.check(); }) == "");
    CHECK(library.last == other);  // for who asks next
  }
  library.last = cudaSuccess;
}

namespace {

struct field {
  device_buffer<cuda_runtime> numbers;
  static constexpr bool in_device_memory = true;
  void visit_buffers(auto&& f) { f(device_pointer<void>{numbers.data()}, numbers.size()); }
  void visit_buffers(auto&& f) const { f(device_pointer<void const>{numbers.data()}, numbers.size()); }
};

}  // namespace

TEST_CASE("a sweep names the step whose kernel CUDA refuses to launch", "[adapt][cuda]") {
  for (step_index const bad : {0, 3, 6}) {
    start_again();
    cuda_runtime device{0};
    int bar = 0;
    device_sweep<cuda_runtime, field> sweep{device, nullptr, {4, 0}, [&] { return field{{device, 8}}; }};
    auto const start = [](field&, cudaStream_t) {};
    auto const seed = [](field const&, int&, cudaStream_t) {};
    auto const adjoint = [](field const&, int&, step_index, cudaStream_t) {};
    auto const step = [&](field const&, field&, step_index i, cudaStream_t) {
      if (i == bad) library.last = cudaErrorNoKernelImageForDevice;  // what <<< >>> leaves behind
    };
    CHECK(begins(thrown_by([&] {
                   sweep.gradient(step, start, revolve{7, 2}, seed, adjoint, bar);
                 }),
                 "device: cairn::device_sweep: a launch of the step failed on the way forward (step = " +
                     std::to_string(bad) + ", device = 0, code = 209)"));
    CHECK(thrown_by([&] {
            sweep.gradient([](field const&, field&, step_index, cudaStream_t) {}, start, revolve{7, 2}, seed, adjoint,
                           bar);
          }) == "");
  }
}

TEST_CASE("clean-up gives everything back and never throws, whatever the library says", "[adapt][cuda]") {
  for (auto const answer :
       {cudaSuccess, cudaErrorCudartUnloading, cudaErrorIllegalAddress, cudaErrorInsufficientDriver})
    for (bool const current_known : {true, false}) {
      start_again();
      {
        cuda_runtime device{1};
        device_buffer<cuda_runtime> const memory{device, 8};
        pinned_buffer<cuda_runtime> const host{device, 8};
        owned_stream<cuda_runtime> const stream{device};
        detail::owned_event<cuda_runtime> const event{device};
        CHECK(library.held() == 4);
        library.calls.clear();
        for (auto const& [at, made] : library.memory) CHECK(made.device == 1);
        for (auto const& [at, made] : library.streams) CHECK(made.device == 1);
        library.every_answer = answer;
        if (!current_known) library.answers["cudaGetDevice"] = cudaErrorCudartUnloading;
      }
      CHECK(library.held() == 0);
      for (std::string const function : {"cudaFree", "cudaFreeHost", "cudaStreamDestroy", "cudaEventDestroy"}) {
        bool const on_its_device = answer == cudaSuccess && current_known;
        auto const call = function + (on_its_device ? " on 1" : " on 0");
        CHECK(std::find(library.calls.begin(), library.calls.end(), call) != library.calls.end());
      }
      CHECK(library.last == cudaSuccess);
      CHECK(library.current == 0);
    }
  start_again();
  cuda_runtime const device{0};
  device.device_free(nullptr);
  device.pinned_free(nullptr);
  device.destroy(cudaStream_t{});
  device.destroy(cudaEvent_t{});
  for (auto const& call : library.calls) CHECK(call == "cudaGetDeviceCount on 0");
  static_assert(noexcept(device.device_free(nullptr)) && noexcept(device.pinned_free(nullptr)));
  static_assert(noexcept(device.destroy(cudaStream_t{})) && noexcept(device.destroy(cudaEvent_t{})));
}
