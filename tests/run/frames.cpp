// SPDX-License-Identifier: Apache-2.0
// Frames of the library between main and the user's step and adjoint, as a debugger shows them: no more than these.
// Compile with -O0 -rdynamic. With DISK also those of a run on disk.
#include <execinfo.h>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/run/chain.hpp>
#include <cairn/run/with/jumps.hpp>
#ifdef DISK
#include <cairn/adapt/disk/disk.hpp>
#endif

using field = std::vector<double>;
static int in_step = 0, in_adjoint = 0, wrong = 0;

static void count(int& into) {
  if (into > 0) return;
  void* at[200];
  int const n = backtrace(at, 200);
  char** const names = backtrace_symbols(at, n);
  for (int k = 0; k < n; ++k) into += std::strstr(names[k], "5cairn") != nullptr;
}
static void check(char const* what, int step, int adjoint) {
  std::printf("%-40s step %d of %d, adjoint %d of %d\n", what, in_step, step, in_adjoint, adjoint);
  wrong += in_step > step || in_adjoint > adjoint || in_step == 0 || in_adjoint == 0;
  in_step = in_adjoint = 0;
}

struct plain_step { void operator()(double& x) const { count(in_step), x *= 1.01; } };
struct step_of {
  void operator()(double& x, double const& p) const { count(in_step), x *= p; }
  void operator()(field& x, double const& p) const { count(in_step), x[0] *= p; }
};
struct adjoint_of {
  void operator()(double const&, double& bar) const { count(in_adjoint), bar *= 1.01; }
  void operator()(double const& x, double& bar, double const& p, double& dp) const {
    count(in_adjoint), dp += bar * x, bar *= p;
  }
  void operator()(field const& x, field& bar, double const& p, double& dp) const {
    count(in_adjoint), dp += bar[0] * x[0], bar[0] *= p;
  }
};
struct term { double operator()(field const& x) const { return x[0]; } };
struct d_term { void operator()(field const&, field& bar) const { bar[0] += 1; } };
struct hook_of {
  void operator()(double const&, double&, double const&, double& dp, cairn::step_index) const { dp += 1; }
};
struct jump_of { void operator()(double& x) const { x *= 2; } };
struct back_of { void operator()(double const&, double& bar) const { bar *= 2; } };
struct layer {
  double forward(double x) const { return count(in_step), x * 2; }
  double backward(double, double bar) const { return count(in_adjoint), bar * 2; }
};

int main([[maybe_unused]] int count_of, [[maybe_unused]] char** words) {
  cairn::revolve const plan{100, 5};
  cairn::model const growth{step_of{}, adjoint_of{}};
  auto const losses = cairn::at_every(10, term{}, d_term{});
  double const p = 0.9;
  double dp = 0;
  auto const by = cairn::wrt{p, dp};

  (void)cairn::gradient(plain_step{}, 1.0, plan, 1.0, adjoint_of{});
  check("gradient", 8, 9);
  (void)cairn::differentiate(growth, field(100, 0.1), 0.7, cairn::budget_of{100, "100kB"}, losses);
  check("differentiate", 10, 9);

  (void)cairn::gradient(step_of{}, 1.0, plan, 1.0, cairn::hooked(adjoint_of{}, hook_of{}), by);
  check("gradient with p and a hook", 9, 11);
  auto run = cairn::checkpointed_loop(step_of{}, 1.0, plan, by);
  (void)run.reverse(1.0, cairn::hooked(adjoint_of{}, hook_of{}));
  check("a kept run with p and a hook", 10, 14);
  auto const loop = cairn::with_jumps{step_of{}, adjoint_of{}, cairn::jump_at(50, jump_of{}, back_of{})};
  (void)cairn::gradient(loop.step, 1.0, plan, 1.0, loop.adjoint, by);
  check("gradient with p and a jump", 13, 11);
  auto const deep = cairn::nested{cairn::revolve{10, 3}, step_of{}, adjoint_of{}};
  (void)cairn::gradient(deep.step, 1.0, cairn::revolve{10, 3}, 1.0, deep.adjoint, by);
  check("gradient with p of a nested loop", 14, 24);

  std::vector<layer> const net(3);
  using namespace cairn::chain_actions;
  std::vector<cairn::action> const kept{record(0), record(1), record(2), turn(3), reverse(2), reverse(1), reverse(0)};
  (void)cairn::chain_gradient(net, 1.0, kept, 1.0);
  check("chain_gradient", 10, 9);
#ifdef DISK
  if (count_of < 2) return 2;
  (void)cairn::differentiate(growth, field(100, 0.1), 0.7, cairn::revolve{100, 5}, losses,
                             cairn::disk{std::string{words[1]} + "/run"});
  check("differentiate on disk", 10, 11);
#endif
  return wrong > 0;
}
