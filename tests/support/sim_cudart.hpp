// SPDX-License-Identifier: Apache-2.0
// Stands in for the CUDA runtime library: a program that includes this once answers its own calls, so that what
// `cuda_runtime` does with every answer and with several devices is tested where there is no device. Nothing runs: what
// is asked is written down.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>
#include <cuda_runtime_api.h>

namespace sim_cudart {

struct made_on { int device; };
/// The library's state. Tests set answers and devices, and read the rest.
struct library {
  int devices = 2;
  int current = 0;
  std::size_t free = 1'000'000;
  int copy_engines = 2;
  std::map<std::string, cudaError_t> answers;  ///< of calls, by name; the others succeed
  cudaError_t every_answer = cudaSuccess;  ///< of all calls but those for the last error, if it is not cudaSuccess
  cudaError_t last = cudaSuccess;
  std::vector<std::string> calls;  ///< "cudaMalloc on 1": a name and the device that was current
  std::uintptr_t made = 0;  ///< things so far
  std::map<void*, made_on> memory, pinned, streams, events, drawn,
      graphs;                       ///< drawn: graphs that nothing can launch yet
  bool capture_is_spoiled = false;  ///< its end succeeds and gives no graph
  cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeRelaxed;
  unsigned stream_flags = 0, event_flags = 0, pinned_flags = 0;
  std::size_t registered_bytes = 0;
  cudaMemcpyKind direction = cudaMemcpyDefault;

  cudaError_t call(char const* name) {
    calls.push_back(std::string{name} + " on " + std::to_string(current));
    auto const planned = answers.find(name);
    return tell(every_answer != cudaSuccess ? every_answer : planned != answers.end() ? planned->second : cudaSuccess);
  }
  cudaError_t tell(cudaError_t answer) {
    if (answer != cudaSuccess) last = answer;
    return answer;
  }
  [[nodiscard]] std::size_t held() const {
    return memory.size() + pinned.size() + streams.size() + events.size() + drawn.size() + graphs.size();
  }
  cudaError_t make(std::map<void*, made_on>& where, void** at) {
    *at = reinterpret_cast<void*>(++made * 256);
    where[*at] = {current};
    return cudaSuccess;
  }
  cudaError_t end(std::map<void*, made_on>& where, void* at) {
    return where.erase(at) == 0 ? tell(cudaErrorInvalidValue) : cudaSuccess;
  }
};
inline library now;

}  // namespace sim_cudart

extern "C" {
cudaError_t CUDARTAPI cudaGetLastError() {
  auto const last = sim_cudart::now.last;
  sim_cudart::now.last = cudaSuccess;
  return last;
}
cudaError_t CUDARTAPI cudaPeekAtLastError() { return sim_cudart::now.last; }
char const* CUDARTAPI cudaGetErrorName(cudaError_t) { return "cudaErrorOfSomeKind"; }
cudaError_t CUDARTAPI cudaGetDeviceCount(int* count) {
  *count = sim_cudart::now.devices;
  return sim_cudart::now.call("cudaGetDeviceCount");
}
cudaError_t CUDARTAPI cudaGetDevice(int* device) {
  *device = sim_cudart::now.current;
  return sim_cudart::now.call("cudaGetDevice");
}
cudaError_t CUDARTAPI cudaSetDevice(int device) {
  auto const answer = sim_cudart::now.call("cudaSetDevice");
  if (answer == cudaSuccess) sim_cudart::now.current = device;
  return answer;
}
cudaError_t CUDARTAPI cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int) {
  *value = which == cudaDevAttrAsyncEngineCount ? sim_cudart::now.copy_engines : -1;
  return sim_cudart::now.call("cudaDeviceGetAttribute");
}
cudaError_t CUDARTAPI cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  auto const answer = sim_cudart::now.call("cudaMemGetInfo");
  if (answer == cudaSuccess) *free = sim_cudart::now.free, *total = 2 * sim_cudart::now.free;
  return answer;
}
cudaError_t CUDARTAPI cudaMalloc(void** at, std::size_t) {
  auto const answer = sim_cudart::now.call("cudaMalloc");
  return answer == cudaSuccess ? sim_cudart::now.make(sim_cudart::now.memory, at) : answer;
}
cudaError_t CUDARTAPI cudaFree(void* at) {
  auto const answer = sim_cudart::now.call("cudaFree");
  auto const ended = sim_cudart::now.end(sim_cudart::now.memory, at);
  return answer == cudaSuccess ? ended : answer;
}
cudaError_t CUDARTAPI cudaHostAlloc(void** at, std::size_t, unsigned flags) {
  sim_cudart::now.pinned_flags = flags;
  auto const answer = sim_cudart::now.call("cudaHostAlloc");
  return answer == cudaSuccess ? sim_cudart::now.make(sim_cudart::now.pinned, at) : answer;
}
cudaError_t CUDARTAPI cudaFreeHost(void* at) {
  auto const answer = sim_cudart::now.call("cudaFreeHost");
  auto const ended = sim_cudart::now.end(sim_cudart::now.pinned, at);
  return answer == cudaSuccess ? ended : answer;
}
cudaError_t CUDARTAPI cudaHostRegister(void* at, std::size_t bytes, unsigned flags) {
  sim_cudart::now.pinned_flags = flags;
  sim_cudart::now.registered_bytes = bytes;
  auto const answer = sim_cudart::now.call("cudaHostRegister");
  if (answer == cudaSuccess) sim_cudart::now.pinned[at] = {sim_cudart::now.current};
  return answer;
}
cudaError_t CUDARTAPI cudaHostUnregister(void* at) {
  auto const answer = sim_cudart::now.call("cudaHostUnregister");
  auto const ended = sim_cudart::now.end(sim_cudart::now.pinned, at);
  return answer == cudaSuccess ? ended : answer;
}
cudaError_t CUDARTAPI cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  sim_cudart::now.stream_flags = flags;
  auto const answer = sim_cudart::now.call("cudaStreamCreateWithFlags");
  return answer == cudaSuccess ? sim_cudart::now.make(sim_cudart::now.streams, reinterpret_cast<void**>(stream))
                               : answer;
}
cudaError_t CUDARTAPI cudaStreamDestroy(cudaStream_t stream) {
  auto const answer = sim_cudart::now.call("cudaStreamDestroy");
  auto const ended = sim_cudart::now.end(sim_cudart::now.streams, stream);
  return answer == cudaSuccess ? ended : answer;
}
cudaError_t CUDARTAPI cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  sim_cudart::now.event_flags = flags;
  auto const answer = sim_cudart::now.call("cudaEventCreateWithFlags");
  return answer == cudaSuccess ? sim_cudart::now.make(sim_cudart::now.events, reinterpret_cast<void**>(event)) : answer;
}
cudaError_t CUDARTAPI cudaEventDestroy(cudaEvent_t event) {
  auto const answer = sim_cudart::now.call("cudaEventDestroy");
  auto const ended = sim_cudart::now.end(sim_cudart::now.events, event);
  return answer == cudaSuccess ? ended : answer;
}
cudaError_t CUDARTAPI cudaEventRecord(cudaEvent_t, cudaStream_t) { return sim_cudart::now.call("cudaEventRecord"); }
cudaError_t CUDARTAPI cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) {
  return sim_cudart::now.call("cudaStreamWaitEvent");
}
cudaError_t CUDARTAPI cudaEventSynchronize(cudaEvent_t) { return sim_cudart::now.call("cudaEventSynchronize"); }
cudaError_t CUDARTAPI cudaStreamSynchronize(cudaStream_t) { return sim_cudart::now.call("cudaStreamSynchronize"); }
cudaError_t CUDARTAPI cudaEventQuery(cudaEvent_t) { return sim_cudart::now.call("cudaEventQuery"); }
cudaError_t CUDARTAPI cudaMemcpyAsync(void*, void const*, std::size_t, cudaMemcpyKind direction, cudaStream_t) {
  sim_cudart::now.direction = direction;
  return sim_cudart::now.call("cudaMemcpyAsync");
}
cudaError_t CUDARTAPI cudaMemsetAsync(void*, int value, std::size_t, cudaStream_t) {
  return sim_cudart::now.call(value == 0 ? "cudaMemsetAsync" : "another value");
}
cudaError_t CUDARTAPI cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode mode) {
  sim_cudart::now.capture_mode = mode;
  return sim_cudart::now.call("cudaStreamBeginCapture");
}
cudaError_t CUDARTAPI cudaStreamEndCapture(cudaStream_t, cudaGraph_t* graph) {
  auto const answer = sim_cudart::now.call("cudaStreamEndCapture");
  bool const gives = answer == cudaSuccess && !sim_cudart::now.capture_is_spoiled;
  return gives ? sim_cudart::now.make(sim_cudart::now.drawn, reinterpret_cast<void**>(graph)) : answer;
}
cudaError_t CUDARTAPI cudaGraphInstantiateWithFlags(cudaGraphExec_t* graph, cudaGraph_t, unsigned long long) {
  auto const answer = sim_cudart::now.call("cudaGraphInstantiateWithFlags");
  return answer == cudaSuccess ? sim_cudart::now.make(sim_cudart::now.graphs, reinterpret_cast<void**>(graph)) : answer;
}
cudaError_t CUDARTAPI cudaGraphDestroy(cudaGraph_t graph) {
  auto const answer = sim_cudart::now.call("cudaGraphDestroy");
  auto const ended = sim_cudart::now.end(sim_cudart::now.drawn, graph);
  return answer == cudaSuccess ? ended : answer;
}
cudaError_t CUDARTAPI cudaGraphLaunch(cudaGraphExec_t, cudaStream_t) { return sim_cudart::now.call("cudaGraphLaunch"); }
cudaError_t CUDARTAPI cudaGraphExecDestroy(cudaGraphExec_t graph) {
  auto const answer = sim_cudart::now.call("cudaGraphExecDestroy");
  auto const ended = sim_cudart::now.end(sim_cudart::now.graphs, graph);
  return answer == cudaSuccess ? ended : answer;
}
}
