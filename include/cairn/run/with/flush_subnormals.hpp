// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file flush_subnormals.hpp  Zero in the place of subnormal numbers, for a thread or for one sweep.
#include <cstdint>
#include <utility>

namespace cairn {

namespace detail {

/// What a thread's registers say about the arithmetic of floats and doubles.
struct float_mode {
#if defined(__SSE__)
  using word = std::uint32_t;
  static constexpr word flushing = 0x8040, rounding = 0x6000;  // results become zero, and operands
  static word read() noexcept { return __builtin_ia32_stmxcsr(); }
  static void write(word all) noexcept {
    __asm__ volatile("" ::: "memory");  // no operation on memory moves over the change
    __builtin_ia32_ldmxcsr(all);
    __asm__ volatile("" ::: "memory");
  }
#elif defined(__aarch64__)
  using word = std::uint64_t;
  static constexpr word flushing = word{1} << 24, rounding = word{3} << 22;
  static word read() noexcept {
    word all = 0;
    __asm__ volatile("mrs %0, fpcr" : "=r"(all));
    return all;
  }
  static void write(word all) noexcept { __asm__ volatile("msr fpcr, %0" : : "r"(all) : "memory"); }
#else
  using word = std::uint32_t;
  static constexpr word flushing = 0, rounding = 0;
  static word read() noexcept { return 0; }
  static void write(word) noexcept {}
#endif
};
/// What of it changes results; 0 by default, and where nothing is known.
[[nodiscard]] inline std::uint64_t bits_of_float_mode() noexcept {
  return float_mode::read() & (float_mode::flushing | float_mode::rounding);
}

/// The option of a sweep, which lasts as long as the call: there is nothing else to do.
struct flushed_sweep {
  static constexpr bool one_process = true;
  template <class With, class Plan, class Run, class... Last>
  static auto run(With const&, char const*, Plan const&, Run const& run, Last&&... last) {
    return run(std::forward<Last>(last)...);
  }
};

}  // namespace detail

/// As long as it exists, subnormal results of this thread are zero, and subnormal operands count as zero: `float`s below
/// 1.2e-38 and `double`s below 2.2e-308. An adjoint that decays ends among them, and many processors take a hundred
/// cycles and more for each operation there. Bits of results change, so nothing does this unless it is asked.
///
/// Also one of the last arguments of `gradient`, `differentiate`, `chain_gradient`, `graph_gradient` and a
/// `device_sweep`, which it lasts as long as: `gradient(step, x0, plan, seed, adjoint, flush_subnormals{})`. Kept runs
/// take an object around all of their calls. A run on disk is known by the mode of the thread that runs it, however it
/// was set: with another one it is another run. A replay check compares bits, and so finds a state that was made in
/// another mode. Threads of the caller's functions have modes of their own.
/// The mode before comes back when it dies, which must be in the same thread.
class [[nodiscard]] flush_subnormals {
 public:
  using together = detail::flushed_sweep;  ///< for the verbs
  /// Whether it does anything: on x86 with SSE, and on ARM of 64 bits.
  static constexpr bool works = detail::float_mode::flushing != 0;

  flush_subnormals() noexcept { mode::write(before_ | mode::flushing); }
  flush_subnormals(flush_subnormals const&) = delete;
  ~flush_subnormals() { mode::write(before_); }
  /// Whether this thread's mode is on, whoever set it.
  [[nodiscard]] static bool is_on() noexcept { return works && (mode::read() & mode::flushing) == mode::flushing; }

 private:
  using mode = detail::float_mode;
  mode::word before_ = mode::read();
};

}  // namespace cairn
