// SPDX-License-Identifier: Apache-2.0
// Which calls of the CUDA runtime a graph is made of, with which device current, and what is made of every answer. The
// library is played by the test.
#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>
#include <cairn/adapt/cuda/cuda_runtime.hpp>
#include <cairn/adapt/cuda/graph.hpp>
#include "support/catch.hpp"
#include "support/sim_cudart.hpp"

using namespace cairn;

namespace {

auto& library = sim_cudart::now;
cudaStream_t stream_of(std::size_t number) { return reinterpret_cast<cudaStream_t>(number * 16); }

/// The text of what `f` throws; "" where it throws nothing.
std::string thrown_by(std::function<void()> const& f) {
  try {
    f();
  } catch (error const& refused) {
    return refused.what();
  }
  return "";
}
bool has(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }
std::size_t times(std::string const& call) {
  return std::size_t(std::count(library.calls.begin(), library.calls.end(), call));
}
void capture(cuda_runtime& device) { device_graph{device, stream_of(1), [](cudaStream_t) {}}; }

}  // namespace

TEST_CASE("a graph is captured, launched and given up with the runtime's device current", "[adapt][cuda]") {
  for (int const current : {0, 1}) {
    library = {};
    cuda_runtime device{1};
    library.current = current;
    cudaStream_t given = nullptr;
    {
      device_graph graph{device, stream_of(3), [&](cudaStream_t in) { given = in; }};
      CHECK(library.drawn.empty());  // what it was made from is gone
      CHECK(library.graphs.size() == 1);
      graph.launch();
      graph.launch();
    }
    CHECK(given == stream_of(3));
    CHECK(library.capture_mode == cudaStreamCaptureModeThreadLocal);
    for (char const* const call : {"cudaStreamBeginCapture", "cudaStreamEndCapture", "cudaGraphInstantiateWithFlags",
                                   "cudaGraphDestroy", "cudaStreamSynchronize", "cudaGraphExecDestroy"}) {
      CAPTURE(call);
      CHECK(times(std::string{call} + " on 1") == 1);
    }
    CHECK(times("cudaGraphLaunch on 1") == 2);
    CHECK(library.held() == 0);
    CHECK(library.current == current);
  }
}

TEST_CASE("each refusal of a capture is reported by the call that meets it, with what would work", "[adapt][cuda]") {
  struct answer {
    std::string function;
    cudaError_t code;
    std::string says, advises;
  };
  std::vector<answer> const all = {
      {"cudaStreamBeginCapture", cudaErrorStreamCaptureUnsupported,
       "begin_capture: the stream cannot be captured into a graph (device = 1, code = 900)", "the legacy default"},
      {"cudaStreamBeginCapture", cudaErrorStreamCaptureImplicit,
       "begin_capture: the stream cannot be captured into a graph (device = 1, code = 906)", "a stream of your own"},
      {"cudaStreamBeginCapture", cudaErrorIllegalState,
       "begin_capture: the stream cannot be captured into a graph (device = 1, code = 401)", "captured already"},
      {"cudaStreamBeginCapture", cudaErrorInvalidResourceHandle,
       "begin_capture: a stream or an event is not, or no longer, one of this device", "of the stream"},
      {"cudaStreamEndCapture", cudaErrorStreamCaptureInvalidated,
       "end_capture: an earlier call was refused while the stream was captured", "allocates, frees, queries"},
      {"cudaStreamEndCapture", cudaErrorStreamCaptureUnjoined, "end_capture: work was captured in a second stream",
       "wait for an event after"},
      {"cudaStreamEndCapture", cudaErrorStreamCaptureWrongThread,
       "end_capture: a call that a stream does not allow while it is captured", "neither allocate nor wait"},
      {"cudaGraphInstantiateWithFlags", cudaErrorMemoryAllocation,
       "end_capture: the device or its driver has no memory left", "leave some memory free"},
      {"cudaGraphInstantiateWithFlags", cudaErrorInvalidValue,
       "end_capture: a call of the device's runtime failed (device = 1, code = 1)", ""},
  };
  for (auto const& one : all) {
    library = {};
    cuda_runtime device{1};
    library.answers[one.function] = one.code;
    auto const text = thrown_by([&] { capture(device); });
    CAPTURE(one.function, int(one.code), text);
    CHECK(has(text, "cairn::cuda_runtime::" + one.says));
    CHECK(has(text, one.advises));
    CHECK(library.held() == 0);
    CHECK(library.last == cudaSuccess);
    CHECK(library.current == 0);
  }
  struct call_answer {
    cudaError_t code;
    std::string says;
  };
  for (auto const& [code, says] :
       std::vector<call_answer>{{cudaErrorStreamCaptureIsolation, "cannot wait for work that is not"},
                                {cudaErrorStreamCaptureImplicit, "the legacy default stream was used"},
                                {cudaErrorStreamCaptureMerge, "a call that a stream does not allow"},
                                {cudaErrorCapturedEvent, "a call that a stream does not allow"},
                                {cudaErrorStreamCaptureInvalidated, "an earlier call was refused"}}) {
    library = {};
    cuda_runtime device{1};
    library.answers["cudaStreamWaitEvent"] = code;
    auto const text = thrown_by([&] {
      device_graph{device, stream_of(1), [&](cudaStream_t in) { device.wait(in, nullptr); }};
    });
    CAPTURE(text);
    CHECK(has(text, "cairn::cuda_runtime::wait: "));
    CHECK(has(text, says));
    CHECK(times("cudaStreamEndCapture on 1") == 1);  // abandoned
    CHECK(library.held() == 0);
  }
}

TEST_CASE("a capture that ends without a graph is one that was spoiled", "[adapt][cuda]") {
  library = {};
  cuda_runtime device{0};
  library.capture_is_spoiled = true;
  CHECK(has(
      thrown_by([&] { capture(device); }),
      "an earlier call was refused while the stream was captured, so that there is no graph (device = 0, code = 901)"));
  CHECK(times("cudaGraphInstantiateWithFlags on 0") == 0);
  CHECK(library.held() == 0);
}

TEST_CASE("what a captured function throws ends the capture and comes out unchanged", "[adapt][cuda]") {
  for (bool const gives_graph : {true, false}) {
    library = {};
    cuda_runtime device{1};
    library.capture_is_spoiled = !gives_graph;
    CHECK_THROWS_AS((device_graph{device, stream_of(1), [](cudaStream_t) { throw 7; }}), int);
    CHECK(times("cudaStreamEndCapture on 1") == 1);
    CHECK(times("cudaGraphInstantiateWithFlags on 1") == 0);
    CHECK(library.held() == 0);
  }
}

TEST_CASE("a launch that fails is reported, and clean-up goes on for every error of the device", "[adapt][cuda]") {
  library = {};
  cuda_runtime device{1};
  {
    device_graph graph{device, stream_of(1), [](cudaStream_t) {}};
    library.answers["cudaGraphLaunch"] = cudaErrorIllegalAddress;
    CHECK(has(thrown_by([&] { graph.launch(); }),
              "cairn::cuda_runtime::launch: a kernel or copy that was started earlier failed, and the device's context "
              "is lost"));
    CHECK(times("cudaStreamSynchronize on 1") == 0);
    library.answers.clear();
    graph.launch();
    library.every_answer = cudaErrorIllegalAddress;
  }
  CHECK(library.graphs.empty());
  CHECK(library.last == cudaSuccess);
  device.destroy(cudaGraphExec_t{});
  device.abandon_capture(stream_of(1));
  CHECK(library.last == cudaSuccess);
}
