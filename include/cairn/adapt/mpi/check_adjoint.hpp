// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file check_adjoint.hpp  Checks the adjoint of a step that communicates, by numbers that are the same on all ranks.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mpi.h>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/adapt/mpi/collective.hpp>
#include <cairn/adapt/mpi/detail/rendezvous.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/run/check/check_adjoint.hpp>
#include <cairn/run/check/detail/user_loop.hpp>

namespace cairn {
namespace detail {

/// This rank's part of a value, and the numbers of all parts, the same on all ranks. Decisions by these numbers are the
/// same on all ranks, without a message.
/// \tparam Which  which numbers of a part count
template <class T, class Which>
class gathered {
 public:
  /// \param lead  how many numbers of this part come before the rest of any part
  gathered(T&& part, rendezvous const& with, Which const& which, std::size_t lead)
      : own_{std::move(part)}, with_{&with}, which_{which} {
    gather(lead);
  }
  gathered(gathered const& other)
      : own_{copy_of(other.own_)},
        with_{other.with_},
        which_{other.which_},
        all_{other.all_},
        part_size_{other.part_size_} {}
  gathered(gathered&&) = default;
  gathered& operator=(gathered const& other) {
    if (this != &other) *this = gathered{other};
    return *this;
  }
  gathered& operator=(gathered&&) = default;
  ~gathered() = default;

  [[nodiscard]] T& own() noexcept { return own_; }
  [[nodiscard]] T const& own() const noexcept { return own_; }
  [[nodiscard]] rendezvous const& with() const noexcept { return *with_; }
  [[nodiscard]] Which const& which() const noexcept { return which_; }
  /// The numbers of this part.
  [[nodiscard]] std::size_t own_numbers() const {
    std::size_t sum = 0;
    which_(own_, [&](auto const*, std::size_t count) { sum += count; });
    return sum;
  }
  /// Sends the numbers of this part to all ranks.
  void gather(std::size_t lead = ~std::size_t{0}) {
    std::vector<unsigned char> mine(sizeof(part_head));
    part_head head{lead, 0};
    which_(std::as_const(own_), [&]<class Number>(Number const* run, std::size_t count) {
      run_head const next{kind_of<Number>(), count};
      put(mine, &next, sizeof next);
      put(mine, run, count * sizeof(Number));
      ++head.runs;
    });
    std::memcpy(mine.data(), &head, sizeof head);
    // All parts are sent with the size of the longest. In this round, ranks also learn that the step of one has thrown.
    auto& ranks = with_->ranks();
    std::uint64_t const longest = most_bytes - with_->least("cairn::check_adjoint", most_bytes - mine.size());
    if (longest > (std::uint64_t{1} << 30) / std::uint64_t(ranks.size()))
      throw invalid_call{"cairn::check_adjoint",
                         "the numbers of all ranks are too many for a check",
                         {{"ranks", ranks.size()}, {"most bytes of a rank", longest}},
                         "check a smaller state: each rank holds the numbers of all"};
    mine.resize(std::size_t(longest));
    part_size_ = mine.size();
    all_.resize(part_size_ * std::size_t(ranks.size()));
    ranks.gather(mine.data(), all_.data(), mine.size());
  }
  /// The numbers of all parts, rank by rank: the leading ones first, then the others.
  template <class Fn>
  void visit_numbers(Fn&& f) { visit(*this, f); }
  template <class Fn>
  void visit_numbers(Fn&& f) const { visit(*this, f); }

 private:
  /// The beginning of what one rank sends. For each run, a `run_head` and the numbers follow, all at multiples of 16
  /// bytes.
  struct alignas(16) part_head {
    std::uint64_t lead, runs;
  };
  struct alignas(16) run_head {
    std::uint64_t kind, count;
  };
  static constexpr std::size_t alignment = 16;
  static constexpr std::uint64_t most_bytes = std::uint64_t{1} << 62;

  template <class Number>
  [[nodiscard]] static constexpr std::uint64_t kind_of() noexcept {
    return std::is_same_v<Number, float> ? 0 : std::is_same_v<Number, double> ? 1 : 2;
  }
  static void put(std::vector<unsigned char>& into, void const* from, std::size_t size) {
    std::size_t const at = into.size();
    into.resize(at + (size + alignment - 1) / alignment * alignment);
    if (size > 0) std::memcpy(into.data() + at, from, size);
  }
  template <class Self, class Fn>
  static void visit(Self& self, Fn& f) {
    for (bool const leads : {true, false})
      for (int rank = 0; rank < self.with_->ranks().size(); ++rank) {
        auto* at = self.all_.data() + self.part_size_ * std::size_t(rank);
        part_head head;
        std::memcpy(&head, at, sizeof head);
        at += sizeof head;
        std::uint64_t before = 0;
        auto const part = [&](auto* run, std::size_t count) {
          std::uint64_t const rest = head.lead > before ? head.lead - before : 0;
          std::size_t const split = rest < count ? std::size_t(rest) : count;
          if (leads && split > 0) f(run, split);
          if (!leads && split < count) f(run + split, count - split);
          before += count;
        };
        if (rank == self.with_->ranks().rank()) {
          self.which_(self.own_, part);
          continue;
        }
        for (std::uint64_t k = 0; k < head.runs; ++k) {
          run_head next;
          std::memcpy(&next, at, sizeof next);
          at += sizeof next;
          if (next.kind == 0) at = walk<float>(at, next.count, part);
          else if (next.kind == 1) at = walk<double>(at, next.count, part);
          else at = walk<long double>(at, next.count, part);
        }
      }
  }
  template <class Number, class Byte, class Part>
  [[nodiscard]] static Byte* walk(Byte* at, std::uint64_t count, Part const& part) {
    using number = std::conditional_t<std::is_const_v<Byte>, Number const, Number>;
    part(reinterpret_cast<number*>(at), std::size_t(count));
    return at + (std::size_t(count) * sizeof(Number) + alignment - 1) / alignment * alignment;
  }

  T own_;
  rendezvous const* with_;
  Which which_;
  std::vector<unsigned char> all_;  // what all ranks sent; for this rank, `own_` is read in its place
  std::size_t part_size_ = 0;       // bytes of each rank there
};

}  // namespace detail

/// The same as `check_adjoint` without `collective`, for a state of which each rank has a part. The step on all ranks
/// is one step of the whole state, so its adjoint is checked through halo exchanges and reductions. Each rank knows all
/// numbers, so that all come to the same verdict; use a small state. Numbers are counted across all ranks, in the order
/// of the ranks: `report.number` counts in the whole state.
///
/// A number that is a constant of the loop must be named by `with_constants`, or left out by the state's
/// `visit_numbers`: with `collective`, no number is recognised as a constant automatically. What x1 held before an
/// out-of-place step is not varied.
/// \param x0, seed  this rank's part   \param with  the ranks
/// \returns the report, the same on all ranks
/// \throws collective_error   on all ranks, with what user code threw on one
template <class Step, class Adjoint, class X0, class Seed, bool BetweenActions>
[[nodiscard]] adjoint_report check_adjoint(Step&& step, Adjoint&& adjoint, X0 const& x0, step_index n, Seed&& seed,
                                           collective<BetweenActions> with, check_options const& options = {}) {
  using State = typename detail::state_within<X0>::type;
  using StepF = std::remove_reference_t<Step>;
  using AdjointF = std::remove_reference_t<Adjoint>;
  using SeedF = std::remove_reference_t<Seed>;
  using Bar = typename std::conditional_t<std::is_same_v<std::remove_const_t<SeedF>, detail::state_is_bar>,
                                          std::type_identity<State>, detail::bar_of<SeedF, State>>::type;
  constexpr bool on_host = !detail::numbers_on_device<State> && !detail::numbers_on_device<Bar>;
  constexpr bool finds_numbers = on_host && copied_state<State> && numbered<Bar>;
  static_assert(finds_numbers,
                "cairn: check_adjoint over ranks needs a state that can be copied, and numbers of state and adjoint "
                "that visit_numbers finds in host memory");
  if constexpr (!finds_numbers || !detail::check_forward<StepF, State, step_index>()) return {};
  else if constexpr (!detail::check_adjoint<AdjointF, State, Bar>()) return {};
  else {
    auto const& ranks = detail::inside::of(with);
    auto const check = [&]<class Which>(Which const& which, State const& part) {
      constexpr bool bar_is_state = std::is_same_v<Bar, State>;
      using whole = detail::gathered<State, Which>;
      using of_bar = std::conditional_t<bar_is_state, Which, detail::every_number>;
      using whole_bar = detail::gathered<Bar, of_bar>;
      detail::user_loop<State, Bar, StepF, AdjointF, SeedF> loop{step, adjoint, seed};
      auto const of_bars = [&]() -> of_bar {
        if constexpr (bar_is_state) return which;
        else return {};
      }();
      auto const step_of_all = [&](whole& x, step_index i) {
        loop.advance(x.own(), i);
        x.gather();
      };
      auto const adjoint_of_all = [&](whole const& x, whole_bar& bar, step_index i) {
        loop.pull(x.own(), bar.own(), i);
        bar.gather(x.own_numbers());
      };
      auto const seed_of_all = [&](whole const& x) {
        return whole_bar{loop.made_bar(x.own()), ranks, of_bars, x.own_numbers()};
      };
      whole const all{detail::copy_of(part), ranks, which, ~std::size_t{0}};
      return check_adjoint(step_of_all, adjoint_of_all, all, n, seed_of_all, options);
    };
    detail::sent_plan shared;
    shared.steps = std::uint64_t(n);
    return ranks.guarded("cairn::check_adjoint", [&] {
      ranks.begin("cairn::check_adjoint", shared);
      auto report = [&] {
        if constexpr (detail::has_constants<X0>) return check(detail::numbers_but{x0}, x0.x0);
        else return check(detail::every_number{}, x0);
      }();
      ranks.end("cairn::check_adjoint");
      return report;
    });
  }
}
/// The same for an adjoint that is a State.
template <class Step, class Adjoint, class X0, bool BetweenActions>
[[nodiscard]] adjoint_report check_adjoint(Step&& step, Adjoint&& adjoint, X0 const& x0, step_index n,
                                           collective<BetweenActions> with, check_options const& options = {}) {
  return check_adjoint(std::forward<Step>(step), std::forward<Adjoint>(adjoint), x0, n, detail::state_is_bar{}, with,
                       options);
}

}  // namespace cairn
