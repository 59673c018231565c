#pragma once
/// \file progress.hpp  Where a sweep is and when all of them will be done: an observer.

#include <unistd.h>

#include <chrono>
#include <cstdio>

#include <cairn/cairn.hpp>

namespace demo {

/// Seconds that one step and one step's adjoint take.
struct step_costs {
  double step = 0;
  double adjoint = 0;
};

/// Shows pass, phase, share of the work done and time to go on stderr: a line that changes on a terminal, else a line
/// every few seconds. The plan's counts are exact, so only the speed of the machine has to be guessed.
class progress {
 public:
  /// \param step_calls  of one pass   \param steps  reversed in one pass
  progress(int passes, double step_calls, double steps, step_costs costs)
      : passes_{passes}, costs_{costs}, total_{passes * (step_calls * costs.step + steps * costs.adjoint)} {}
  progress(progress const&) = delete;
  ~progress() { wipe(); }

  void begin_pass(int pass) { pass_ = pass; }
  /// Takes the line away before something else is printed.
  void wipe() {
    if (shown_ && terminal_) std::fprintf(stderr, "\r\33[K");
    shown_ = false;
  }

  void operator()(cairn::event const& event) {
    if (event.moment() != cairn::moment::after) return;
    auto const& what = event.what();
    auto const length = double(what.to - what.from);
    if (what.kind == cairn::action_kind::reverse) done_ += length * costs_.adjoint;
    else if (what.kind == cairn::action_kind::advance || what.kind == cairn::action_kind::turn)
      done_ += length * costs_.step;
    auto const now = clock::now();
    if (now < next_) return;
    next_ = now + (terminal_ ? std::chrono::milliseconds{100} : std::chrono::seconds{5});
    show(event.phase(), std::chrono::duration<double>(now - start_).count());
  }

 private:
  using clock = std::chrono::steady_clock;

  void show(cairn::phase phase, double elapsed) {
    static constexpr char const* names[] = {"forward", "recompute", "reverse"};
    double const share = done_ < total_ ? done_ / total_ : 1;
    std::fprintf(stderr, "%spass %d of %d, %-9s  %5.1f %%, %.1f s to go%s", terminal_ ? "\r\33[K" : "", pass_, passes_,
                 names[int(phase)], 100 * share, share > 0 ? elapsed * (1 - share) / share : 0, terminal_ ? "" : "\n");
    shown_ = true;
  }

  int passes_, pass_ = 1;
  step_costs costs_;
  double total_, done_ = 0;
  bool const terminal_ = isatty(STDERR_FILENO) != 0;
  bool shown_ = false;
  clock::time_point const start_ = clock::now();
  clock::time_point next_ = start_ + std::chrono::milliseconds{200};
};

}  // namespace demo
