// SPDX-License-Identifier: Apache-2.0
// Gradients on two threads, and on one, against a loop by hand that stores all states in one flat, reused slab. Wall
// clock: each figure is the median of the ratios of interleaved rounds; rounds in which other processes took more than
// 6 % of a core are thrown away. Every gradient is compared bit for bit. No sweep on two threads can take less than each
// step and each adjoint once, over states in the cache, while the other core runs steps, too: that is timed beside them.
//   ahead_pairs [diffusion|wave|lstm|large|scalar|all] [rounds] [seconds] [states]
//   ahead_pairs busy   two threads over one: while two other processes keep both cores busy, and on one core alone
#include "../../pairs.hpp"
#include "../diffusion.hpp"
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>
#include <csignal>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cairn/adapt/threads.hpp>
#include <cairn/cairn.hpp>
#include <cairn/plan/loop/advise.hpp>
#include <cairn/run/probe.hpp>

namespace {

using cairn::step_index;
/// A wave with a cubic term on 64 x 64 cells: the state is this moment and the one before.
struct wave {
  static constexpr std::size_t m = 64, cells = m * m;
  field out = field(2 * cells);
  [[nodiscard]] field begin() const {
    field x(2 * cells);
    for (std::size_t k = 0; k < x.size(); ++k) x[k] = std::sin(float(k % cells) * 0.003f);
    return x;
  }
  [[gnu::noinline]] void step(float const* __restrict x, float* __restrict x1, step_index) const {
    float const *before = x, *now = x + cells;
    float* next = x1 + cells;
    std::memcpy(x1, now, cells * sizeof(float));
    std::memcpy(next, now, cells * sizeof(float));
    for (std::size_t j = 1; j + 1 < m; ++j)
      for (std::size_t i = 1; i + 1 < m; ++i) {
        std::size_t const k = j * m + i;
        next[k] = 2 * now[k] - before[k] + 0.2f * (now[k - 1] + now[k + 1] + now[k - m] + now[k + m] - 4 * now[k]) -
                  1e-3f * now[k] * now[k] * now[k];
      }
  }
  [[gnu::noinline]] void back(float const* __restrict x, float const* __restrict bar, float* __restrict to,
                              step_index) const {
    float const *now = x + cells, *first = bar, *second = bar + cells;
    float *before_bar = to, *now_bar = to + cells;
    for (std::size_t k = 0; k < cells; ++k) before_bar[k] = 0, now_bar[k] = first[k] + second[k];
    for (std::size_t j = 1; j + 1 < m; ++j)
      for (std::size_t i = 1; i + 1 < m; ++i) {
        std::size_t const k = j * m + i;
        before_bar[k] = -second[k];
        now_bar[k] = first[k] + second[k] * (1.2f - 3e-3f * now[k] * now[k]);
      }
    for (std::ptrdiff_t const to_neighbour : {-std::ptrdiff_t(m), std::ptrdiff_t(m), std::ptrdiff_t(-1), std::ptrdiff_t(1)})
      for (std::size_t j = 1; j + 1 < m; ++j)
        for (std::size_t i = 1; i + 1 < m; ++i) {
          std::size_t const k = j * m + i;
          now_bar[std::size_t(std::ptrdiff_t(k) + to_neighbour)] += 0.2f * second[k];
        }
  }
  void adjoint(float const* x, field& bar, step_index i) { back(x, bar.data(), out.data(), i), bar.swap(out); }
};

/// An LSTM with 128 units on 4 sequences of characters; its adjoint makes the activations again.
struct lstm {
  static constexpr std::size_t units = 128, batch = 4, gates = 4 * units, half = units * batch;
  struct activations {
    field g = field(gates * batch), t = field(half), c = field(half);
  };
  field r = field(gates * units), w = field(gates * 32), dr = field(gates * units), dw = field(gates * 32),
        dg = field(gates * batch);
  activations of_adjoint;
  mutable activations of_step;  // two scratches: step and adjoint run at once
  lstm() {
    for (std::size_t k = 0; k < r.size(); ++k) r[k] = 0.05f * std::sin(float(k) * 1.7f);
    for (std::size_t k = 0; k < w.size(); ++k) w[k] = 0.3f * std::sin(float(k) * 2.3f);
  }
  [[nodiscard]] field begin() const { return field(2 * half, 0.1f); }
  static float logistic(float x) { return 1 / (1 + std::exp(-x)); }
  [[gnu::noinline]] void forward(float const* __restrict x, activations& a, step_index i) const {
    for (std::size_t b = 0; b < batch; ++b) {
      float* __restrict g = &a.g[b * gates];
      std::memcpy(g, &w[std::size_t((i * 7 + step_index(b) * 5) % 32) * gates], gates * sizeof(float));
      for (std::size_t k = 0; k < units; ++k) {
        float const h = x[b * units + k];
        float const* __restrict column = &r[k * gates];
        for (std::size_t j = 0; j < gates; ++j) g[j] += column[j] * h;
      }
      for (std::size_t j = 0; j < 3 * units; ++j) g[j] = logistic(g[j]);
      for (std::size_t j = 3 * units; j < gates; ++j) g[j] = std::tanh(g[j]);
      for (std::size_t k = 0; k < units; ++k) {
        float const c = g[units + k] * x[half + b * units + k] + g[k] * g[3 * units + k];
        a.c[b * units + k] = c, a.t[b * units + k] = std::tanh(c);
      }
    }
  }
  void write(activations const& a, float* x1) const {
    for (std::size_t b = 0; b < batch; ++b)
      for (std::size_t k = 0; k < units; ++k) {
        x1[b * units + k] = a.g[b * gates + 2 * units + k] * a.t[b * units + k];
        x1[half + b * units + k] = a.c[b * units + k];
      }
  }
  void step(float const* x, float* x1, step_index i) const { forward(x, of_step, i), write(of_step, x1); }
  [[gnu::noinline]] void reverse(float const* __restrict x, activations const& a, float* __restrict bar, step_index i) {
    for (std::size_t b = 0; b < batch; ++b) {
      float const* g = &a.g[b * gates];
      float *d = &dg[b * gates], *hb = bar + b * units, *cb = bar + half + b * units;
      for (std::size_t k = 0; k < units; ++k) {
        float const in = g[k], forget = g[units + k], out = g[2 * units + k], cand = g[3 * units + k],
                    t = a.t[b * units + k];
        float const c = cb[k] + hb[k] * out * (1 - t * t);
        d[k] = c * cand * in * (1 - in);
        d[units + k] = c * x[half + b * units + k] * forget * (1 - forget);
        d[2 * units + k] = hb[k] * t * out * (1 - out);
        d[3 * units + k] = c * in * (1 - cand * cand);
        cb[k] = c * forget;
      }
      for (std::size_t k = 0; k < units; ++k) {
        float const h = x[b * units + k];
        float const* __restrict column = &r[k * gates];
        float* __restrict sum = &dr[k * gates];
        float dot = 0;
        for (std::size_t j = 0; j < gates; ++j) dot += column[j] * d[j];
        for (std::size_t j = 0; j < gates; ++j) sum[j] += d[j] * h;
        hb[k] = dot;
      }
      float* __restrict sum = &dw[std::size_t((i * 7 + step_index(b) * 5) % 32) * gates];
      for (std::size_t j = 0; j < gates; ++j) sum[j] += d[j];
    }
  }
  void adjoint(float const* x, field& bar, step_index i) { forward(x, of_adjoint, i), reverse(x, of_adjoint, bar.data(), i); }
};

struct scalar {
  [[nodiscard]] field begin() const { return {.3f}; }
  void step(float const* x, float* x1, step_index i) const { x1[0] = x[0] + 1e-4f * x[0] * (1 - x[0]) * float(i & 7); }
  void adjoint(float const* x, field& bar, step_index i) { bar[0] *= 1 + 1e-4f * (1 - 2 * x[0]) * float(i & 7); }
};

double now() { return wall_seconds(); }
double own_seconds() {
  auto const [user, system] = process_seconds();
  return user + system;
}
/// Processor time of the whole machine.
double all_seconds() {
  double of[7] = {};
  if (std::FILE* const file = std::fopen("/proc/stat", "r")) {
    if (std::fscanf(file, "cpu %lf %lf %lf %lf %lf %lf %lf", of, of + 1, of + 2, of + 3, of + 4, of + 5, of + 6) != 7)
      of[0] = 0;
    std::fclose(file);
  }
  return (of[0] + of[1] + of[2] + of[5] + of[6]) / 100;
}

int rounds = 9;
double seconds = 60;

struct row {
  std::string name;
  std::function<void()> run;
  std::vector<double> ratios, processor = {};
  cairn::sweep_report report = {};
  char const* why = nullptr;  // it ran on one thread in the first round, or nothing
};

template <class Model>
void measure(char const* name, Model model, step_index n, cairn::slot_index states) {
  field const x0 = model.begin();
  std::size_t const size = x0.size();
  auto const step = [&](field const& x, field& x1, step_index i) { model.step(x.data(), x1.data(), i); };
  auto const adjoint = [&](field const& x, field& bar, step_index i) { model.adjoint(x.data(), bar, i); };
  auto const seed = [](field const& x) { return x; };
  field slab(size * std::size_t(n + 1)), wanted;
  std::vector<row> rows;
  rows.reserve(16);
  auto const check = [&](field const& bar) {
    if (wanted.empty()) wanted = bar;
    if (std::memcmp(wanted.data(), bar.data(), size * sizeof(float)) != 0) std::puts("other bits"), std::exit(1);
  };
  rows.push_back({"flat slab by hand", [&] {
                    std::memcpy(slab.data(), x0.data(), size * sizeof(float));
                    for (step_index i = 0; i < n; ++i)
                      model.step(&slab[std::size_t(i) * size], &slab[std::size_t(i + 1) * size], i);
                    field bar(slab.end() - std::ptrdiff_t(size), slab.end());
                    for (step_index i = n; i-- > 0;) model.adjoint(&slab[std::size_t(i) * size], bar, i);
                    check(bar);
                  }, {}});
  auto const once = [&](Model& with) {
    field x = x0, x1(size), bar = x0;
    for (step_index i = 0; i < n; ++i) with.step(x.data(), x1.data(), i), x.swap(x1);
    for (step_index i = n; i-- > 0;) with.adjoint(x0.data(), bar, i);
  };
  rows.push_back({"each step and adjoint once, nothing kept", [&] { once(model); }, {}});
  rows.push_back({"the same, the other core runs steps", [&] {
                    std::atomic<bool> done{false};
                    std::thread other{[&, with = model] {
                      field x = x0, x1(size);
                      for (step_index i = 0; !done.load(std::memory_order_relaxed); ++i)
                        with.step(x.data(), x1.data(), i), x.swap(x1);
                    }};
                    once(model);
                    done = true;
                    other.join();
                  }, {}});
  std::vector<lstm::activations> kept;
  if constexpr (std::is_same_v<Model, lstm>) {
    kept.resize(std::size_t(n));
    rows.push_back({"flat slab that keeps activations", [&] {
                      std::memcpy(slab.data(), x0.data(), size * sizeof(float));
                      for (step_index i = 0; i < n; ++i) {
                        auto& a = kept[std::size_t(i)];
                        model.forward(&slab[std::size_t(i) * size], a, i), model.write(a, &slab[std::size_t(i + 1) * size]);
                      }
                      field bar(slab.end() - std::ptrdiff_t(size), slab.end());
                      for (step_index i = n; i-- > 0;)
                        model.reverse(&slab[std::size_t(i) * size], kept[std::size_t(i)], bar.data(), i);
                      check(bar);
                    }, {}});
  }
  auto const one = [&]<class Plan>(std::string const& what, Plan const& plan) {
    rows.push_back({what, [&, plan, work = std::make_shared<cairn::workspace<field, Plan>>()] {
                      check(cairn::gradient(step, x0, plan, seed, adjoint, *work));
                    }, {}});
  };
  auto const two = [&]<class Plan>(std::string const& what, Plan const& plan, cairn::slot_index ahead) {
    rows.push_back({what, nullptr, {}});
    row& here = rows.back();
    here.run = [&, plan, ahead, work = std::make_shared<cairn::workspace<field, Plan>>()] {
      cairn::parallel const how{.ahead = ahead};
      if (here.why == nullptr)
        check(cairn::gradient(cairn::concurrent(step), x0, plan, seed, adjoint, *work, here.report, how));
      else check(cairn::gradient(cairn::concurrent(step), x0, plan, seed, adjoint, *work, how));
    };
  };
  cairn::slot_index const slots = states - 2, half = slots / 2;
  one("one thread, revolve", cairn::revolve{n, slots});
  two("two threads, same plan and more frames", cairn::revolve{n, slots}, 0);
  two("two threads, revolve, half and half", cairn::revolve{n, slots - half}, half);
  two("two threads, revolve, 3/4 and 1/4", cairn::revolve{n, slots - half / 2}, half / 2);
  for (step_index period = 2; period < states; ++period)
    if ((n + period - 1) / period + period + 3 <= states) {
      auto const plan = cairn::two_level{n, period, period - 1, {.periods_on = cairn::tier::memory}};
      one("one thread, two_level", plan);
      two("two threads, two_level, the rest ahead", plan, slots - plan.slots());
      break;
    }
  std::size_t advised = 0;
  double predicted = 0;
  if (states > 4) {
    cairn::byte_size const bytes{std::int64_t(states + 2) * std::int64_t(size * sizeof(float) + 80)};
    auto const budget = cairn::budget_of{n, bytes};
    rows.push_back({"two threads asked, budget_of", nullptr, {}});
    row& here = rows.back();
    here.run = [&, budget, work = std::make_shared<cairn::workspace<field, cairn::revolve>>()] {
      if (here.why == nullptr)
        check(cairn::gradient(cairn::concurrent(step), x0, budget, seed, adjoint, *work, here.report, cairn::parallel{}));
      else check(cairn::gradient(cairn::concurrent(step), x0, budget, seed, adjoint, *work, cairn::parallel{}));
    };
    auto const measured = cairn::probe<std::chrono::steady_clock>(step, x0, n, x0, adjoint, 200);
    auto const best = cairn::advise(bytes, measured, {.threads = 2}).best;
    auto const how = cairn::parallel::of(best);
    advised = rows.size(), predicted = best.cost.seconds;
    std::string const what = std::string{"advised, "} + cairn::name_of(best.by) + " " +
                             std::to_string(best.with.slots) + " and " + std::to_string(how.ahead) + " ahead";
    auto const add = [&](auto const& plan) {
      if (how.threads > 1) two(what, plan, how.ahead);
      else one(what, plan);
    };
    if (auto const* const plan = best.schedule.template target<cairn::revolve>()) add(*plan);
    else add(best.schedule);
    std::printf("step %.2f us, adjoint %.2f us; ", 1e6 * measured.step_seconds, 1e6 * measured.adjoint_seconds);
  }

  std::vector<double> by_hand;
  int kept_rounds = 0, thrown = 0;
  double const end = now() + seconds;
  for (int k = 0; kept_rounds < rounds && (now() < end || kept_rounds == 0); ++k) {
    double const all = all_seconds(), own = own_seconds(), begin = now();
    std::vector<double> took, used;
    for (auto& r : rows) {
      double const before = now(), processor = own_seconds();
      r.run();
      took.push_back(now() - before), used.push_back(own_seconds() - processor);
    }
    for (auto& r : rows) r.why = r.report.serial != nullptr ? r.report.serial : "";
    if (k == 0) continue;  // memory is made
    if ((all_seconds() - all) - (own_seconds() - own) > 0.06 * (now() - begin) + 0.02 && now() < end) {
      ++thrown;
      continue;
    }
    ++kept_rounds;
    by_hand.push_back(took[0]);
    for (std::size_t j = 0; j < rows.size(); ++j)
      rows[j].ratios.push_back(took[j] / took[0]), rows[j].processor.push_back(used[j] / used[0]);
  }
  std::printf("%s, %lld steps, states of %.1f KiB, %lld states in all; %d rounds, %d thrown away%s\n", name, static_cast<long long>(n),
              double(size) / 256, static_cast<long long>(states), kept_rounds, thrown, kept_rounds < 3 ? " (NOISY)" : "");
  for (auto const& r : rows)
    std::printf("  %-42s %6.3f  processor %6.3f  %s\n", r.name.c_str(), median(r.ratios), median(r.processor),
                r.why);
  if (advised > 0) {
    // The best by one half of the rounds is compared in the other half: the least of several medians is below all.
    auto const half_of = [](std::vector<double> const& all, std::size_t odd) {
      std::vector<double> some;
      for (std::size_t k = odd; k < all.size(); k += 2) some.push_back(all[k]);
      return some.empty() ? all : some;
    };
    double over_best[2];
    for (std::size_t odd : {0u, 1u}) {
      std::size_t best = advised;
      for (std::size_t k = 1; k < rows.size(); ++k)
        if ((rows[k].name.find("revolve") != std::string::npos || rows[k].name.find("budget_of") != std::string::npos) &&
            median(half_of(rows[k].ratios, odd)) < median(half_of(rows[best].ratios, odd)))
          best = k;
      over_best[odd] = median(half_of(rows[advised].ratios, 1 - odd)) / median(half_of(rows[best].ratios, 1 - odd));
    }
    std::printf("  advised over the better of one and two threads %.3f, over what it predicts %.3f\n",
                (over_best[0] + over_best[1]) / 2, median(rows[advised].ratios) * median(by_hand) / predicted);
  }
  std::fflush(stdout);
}

/// Two threads over one by the same plan, while others want both cores, or only one may be used.
template <class Model>
void over_one(char const* name, Model model, step_index n, cairn::slot_index slots, int count) {
  auto const step = [&](field const& x, field& x1, step_index i) { model.step(x.data(), x1.data(), i); };
  auto const adjoint = [&](field const& x, field& bar, step_index i) { model.adjoint(x.data(), bar, i); };
  auto const seed = [](field const& x) { return x; };
  field const x0 = model.begin();
  cairn::revolve const plan{n, slots};
  cairn::workspace<field, cairn::revolve> works[2];
  std::vector<double> clock, processor;
  int serial = 0;
  for (int k = 0; k <= count; ++k) {
    double took[2], used[2];
    for (int threads : {1, 2}) {
      double const before = now(), own = own_seconds();
      cairn::sweep_report report;
      cairn::gradient(cairn::concurrent(step), x0, plan, seed, adjoint, works[threads - 1], report,
                      cairn::parallel{.threads = threads});
      took[threads - 1] = now() - before, used[threads - 1] = own_seconds() - own;
      serial += threads == 2 && report.serial != nullptr;
    }
    if (k > 0) clock.push_back(took[1] / took[0]), processor.push_back(used[1] / used[0]);  // then memory is made
  }
  std::printf("  %-16s %8lld steps: processor %.3f, clock %.3f; %d of %d sweeps ended on one thread\n", name,
              static_cast<long long>(n), median(processor), median(clock), serial, count + 1);
}
void busy() {
  auto const all = [] {
    over_one("diffusion", diffusion{4'096}, 10'000, 498, 20);
    over_one("diffusion", diffusion{4'096}, 200'000, 998, 4);
    over_one("wave", wave{}, 10'000, 498, 10);
    over_one("lstm", lstm{}, 2'000, 98, 4);
    over_one("large diffusion", diffusion{65'536}, 3'000, 50, 6);
    std::fflush(stdout);
  };
  pid_t others[2];
  for (auto& other : others)
    if ((other = fork()) == 0)
      for (double volatile spun = 0;;) spun = spun + 1;
  std::puts("both cores busy");
  std::fflush(stdout);
  all();
  for (auto const other : others) kill(other, SIGKILL), waitpid(other, nullptr, 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  sched_setaffinity(0, sizeof one, &one);
  std::puts("one core");
  all();
}

}  // namespace

int main(int count, char** words) {
  std::string const what = count > 1 ? words[1] : "all";
  if (what == "busy") return busy(), 0;
  if (count > 2) rounds = std::atoi(words[2]);
  if (count > 3) seconds = std::atof(words[3]);
  cairn::slot_index const states = count > 4 ? std::atoi(words[4]) : 0;
  auto const is = [&](char const* name) { return what == "all" || what == name; };
  auto const some = [&](cairn::slot_index otherwise) { return states > 0 ? states : otherwise; };
  if (is("diffusion")) measure("diffusion", diffusion{4'096}, 10'000, some(500));
  if (is("wave")) measure("wave", wave{}, 10'000, some(500));
  if (is("lstm")) measure("lstm", lstm{}, 2'000, some(100));
  if (is("large")) measure("large diffusion", diffusion{65'536}, 1'000, some(52));
  if (is("scalar")) measure("scalar", scalar{}, 100'000, some(142));
}
