// SPDX-License-Identifier: Apache-2.0
// What is between states and a device: the concept, owners of memory, streams and events, errors and budgets. No CUDA.
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <cairn/adapt/cuda/detail/device_failure.hpp>
#include <cairn/adapt/cuda/detail/owned_handle.hpp>
#include <cairn/adapt/cuda/device_budget.hpp>
#include <cairn/adapt/cuda/device_buffer.hpp>
#include <cairn/adapt/cuda/owned_stream.hpp>
#include <cairn/adapt/cuda/runtime.hpp>
#include "support/catch.hpp"
#include "support/sim_runtime.hpp"

using namespace cairn;
using detail::owned_event;

namespace {

/// A runtime as small as can be, to be spoilt.
struct tiny_runtime {
  using stream = int;
  using event = int;
  void* device_alloc(std::size_t) { return nullptr; }
  void device_free(void*) noexcept {}
  void* pinned_alloc(std::size_t) { return nullptr; }
  void pinned_free(void*) noexcept {}
};

template <class R>
constexpr bool all_owners_move_only =
    !std::is_copy_constructible_v<device_buffer<R>> && !std::is_copy_constructible_v<owned_stream<R>> &&
    !std::is_copy_constructible_v<owned_event<R>> && std::is_nothrow_move_constructible_v<device_buffer<R>> &&
    std::is_nothrow_move_constructible_v<owned_stream<R>> && std::is_nothrow_move_constructible_v<owned_event<R>> &&
    std::is_nothrow_move_assignable_v<device_buffer<R>> && std::is_nothrow_move_assignable_v<owned_stream<R>> &&
    std::is_nothrow_move_assignable_v<owned_event<R>>;
static_assert(all_owners_move_only<sim_runtime>);

static_assert(device_runtime<sim_runtime> && checking_runtime<sim_runtime>);
static_assert(!device_runtime<tiny_runtime>);  // most of it is missing
struct throwing_free : sim_runtime { void device_free(void*) {} };
static_assert(!device_runtime<throwing_free>);  // clean-up must not throw
struct other_answer : sim_runtime { int free_bytes() { return 0; } };
static_assert(!device_runtime<other_answer>);

}  // namespace

TEST_CASE("owners give back what they took, once", "[adapt][cuda]") {
  sim_runtime device;
  {
    device_buffer<sim_runtime> empty, none{device, 0}, one{device, 100};
    pinned_buffer<sim_runtime> host{device, 50};
    CHECK(empty.data() == nullptr);
    CHECK((none.data() == nullptr && none.size() == 0));
    CHECK((one.data() != nullptr && one.size() == 100));
    CHECK(device.device_bytes_held() == 100);
    CHECK(device.pinned_bytes_held() == 50);
    void* const at = one.data();
    empty = std::move(one);
    CHECK((empty.data() == at && empty.size() == 100 && one.data() == nullptr && one.size() == 0));
    empty = device_buffer<sim_runtime>{device, 30};
    CHECK(device.device_bytes_held() == 30);
    auto& same = empty;
    empty = std::move(same);
    CHECK(empty.size() == 30);
    owned_stream<sim_runtime> stream, other{device};
    owned_event<sim_runtime> event, another{device};
    stream = std::move(other);
    event = std::move(another);
    CHECK(device.counted().streams_alive == 1);
    CHECK(device.counted().events_alive == 1);
    device.record(event.get(), stream.get());
    device.sync(stream.get());
    other.drain();  // of nothing
  }
  CHECK_FALSE(device.has_leaks());
  CHECK(device.faults() == 0);
}

TEST_CASE("the owner of a stream waits for what is in it, even where that has failed", "[adapt][cuda]") {
  for (bool const fails : {false, true}) {
    sim_runtime device{{.when = sim::order::laziest}};
    device_buffer<sim_runtime> memory{device, 8};
    bool ran = false;
    {
      owned_stream<sim_runtime> const stream{device};
      device.launch(stream.get(), {sim::writes(memory.data(), 8)}, [&] { ran = true; });
      if (fails) device.fail_at(sim::call::sync, 1);
    }
    CHECK(ran == !fails);
    CHECK(device.context_lost() == fails);
    memory = {};
    CHECK(device.faults() == 0);
    CHECK_FALSE(device.has_leaks());
  }
}

TEST_CASE("an owner that cannot take owns nothing", "[adapt][cuda]") {
  sim_runtime device{{.device_bytes = 99}};
  CHECK_THROWS_AS((device_buffer<sim_runtime>{device, 100}), out_of_memory);
  device.fail_at(sim::call::make_stream, 1);
  CHECK_THROWS_AS(owned_stream<sim_runtime>{device}, device_error);
  device.fail_at(sim::call::make_event, 1, sim::failure::no_memory);
  CHECK_THROWS_AS(owned_event<sim_runtime>{device}, out_of_memory);
  CHECK_FALSE(device.has_leaks());
  CHECK(device.faults() == 0);
}

TEST_CASE("every failure of a device is reported with its code and what to do", "[adapt][cuda]") {
  using detail::device_failure;
  auto const said = [](device_failure why) -> std::string {
    try {
      detail::refuse_call({"who", 2, 77, "cudaErrorSomething"}, why);
    } catch (out_of_memory const& refused) {
      return std::string{"memory: "} + refused.what();
    } catch (device_error const& refused) {
      return refused.what();
    }
  };
  for (int k = 0; k <= int(device_failure::other); ++k) {
    std::string const text = said(device_failure(k));
    CAPTURE(text);
    CHECK((text.starts_with("memory: ") == (device_failure(k) == device_failure::no_memory)));
    CHECK(text.find("code = 77") != std::string::npos);
    CHECK(text.find("cudaErrorSomething") != std::string::npos);
    CHECK(text.find("...") == std::string::npos);  // nothing had to be cut
    CHECK(text.find("who: ") != std::string::npos);
  }
  CHECK(said(device_failure::context_lost) ==
        "who: a kernel or copy that was started earlier failed, and the device's context is lost (device = 2, code = "
        "77); "
        "cudaErrorSomething: every later call on the device fails: end the process, and find the kernel with "
        "compute-sanitizer");
  try {
    detail::refuse_pinned_memory({"who", 0, 2, "cudaErrorMemoryAllocation"}, 4096);
  } catch (out_of_memory const& refused) {
    CHECK(refused.value(0).magnitude == 4096);
  }
}

TEST_CASE("a budget is a share of what is free or a size", "[adapt][cuda]") {
  CHECK(device_budget{"80%"}.of(1'000) == 800);
  CHECK(device_budget{" 80 % "}.of(1'000) == 800);
  CHECK(device_budget{"87.5%"}.of(1'000) == 875);
  CHECK(device_budget{"0.000001%"}.of(100'000'000) == 1);
  CHECK(device_budget{"33.333333%"}.of(1'000'000'000) == 333'333'330);
  CHECK(device_budget{"50%"}.of(7) == 3);
  CHECK(device_budget{"100%"}.of(~std::size_t{0}) == ~std::size_t{0});
  CHECK(device_budget{"100.000%"}.of(5) == 5);
  CHECK(device_budget{"4GB"}.of(5'000'000'000) == 4'000'000'000);
  CHECK(device_budget{4_GiB}.of(std::size_t{1} << 32) == std::size_t{1} << 32);
  CHECK(device_budget{12}.of(12) == 12);
  CHECK(device_budget{0}.of(12) == 0);
  CHECK(device_budget{std::string{"25%"}}.of(8) == 2);
  CHECK(device_budget{std::string_view{"25%x", 3}}.of(8) == 2);
  CHECK(device_budget{"1%"}.of(99) == 0);
  static_assert(device_budget{"12.5%"}.of(800) == 100);
  sim_runtime device{{.device_bytes = 1'000}};
  auto* const taken = device.device_alloc(200);
  CHECK(device_budget{"80%"}.of(device) == 640);
  device.device_free(taken);
}

TEST_CASE("a budget that is none, or more than is free, is refused", "[adapt][cuda]") {
  for (char const* const text : {"%", "0%", "0.0%", "100.000001%", "101%", "-5%", "1e2%", "80%%", "4GB%", "80 %x%",
                                 ".5%", "5.%", "0.0000001%", "99999999999999999999999%"})
    CHECK_THROWS_AS(device_budget{text}, invalid_size);
  CHECK_THROWS_AS(device_budget{"4G"}, invalid_size);
  CHECK_THROWS_AS(device_budget{""}, invalid_size);
  CHECK_THROWS_AS(device_budget{-1}, invalid_size);
  CHECK_THROWS_AS(device_budget{"5GB"}.of(4'999'999'999), out_of_memory);
  try {
    static_cast<void>(device_budget{"120%"});
    CHECK(false);
  } catch (invalid_size const& refused) {
    CHECK(std::string{refused.what()} ==
          "cairn::device_budget: a share of memory is more than 0% and at most 100%, with at most six decimal places; "
          "write 80%, 87.5%, or a size like 4GB, not \"120%\"");
  }
}
