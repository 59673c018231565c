// SPDX-License-Identifier: Apache-2.0
#pragma once
// A loop on whole numbers, run by the actions of a schedule and counted as it runs; knows no header of schedule/ or
// plan/. It trusts the actions: what a wrong one leads to is a wrong number at the end, or std::out_of_range.
#include <cstdint>
#include <map>
#include <vector>
#include "support/action_book.hpp"

namespace stub {

using word = std::uint64_t;
inline word step(word x, book::number i) { return x * 6364136223846793005u + word(i) * 1442695040888963407u + 1; }
inline word adjoint(word x, word bar, book::number i) {
  return bar * 2862933555777941757u + (x ^ word(i)) * 3037000493u;
}

/// The adjoint of the initial state by keeping all states.
inline word kept_all(word x, book::number steps) {
  std::vector<word> states{x};
  for (book::number i = 0; i < steps; ++i) states.push_back(step(states.back(), i));
  word bar = states.back();
  for (book::number i = steps; i-- > 0;) bar = adjoint(states[std::size_t(i)], bar, i);
  return bar;
}

class executor {
 public:
  executor(word x, book::number steps) : first_{x}, live_{x}, steps_{steps} {}

  void obey(book::entry const& a) {
    auto const length = book::count(a.to > a.from ? a.to - a.from : 0);
    switch (a.kind) {
      case book::advance:
        run(live_, a.from, a.to);
        sum.advances += length;
        break;
      case book::save:
        kept_[a.slot] = live_;
        ++sum.saves;
        ++sum.tiers[a.where].saves;
        rise(sum.peak_slots, book::number(kept_.size()));
        rise(sum.tiers[a.where].peak, ++on_tier_[a.where]);
        break;
      case book::load:
        if (a.what == book::tape) {
          live_ = tapes_.at(a.slot).end;
          ++sum.restarts;
          break;
        }
        live_ = a.slot == -1 ? first_ : kept_.at(a.slot);
        ++sum.loads;
        ++sum.tiers[a.where].loads;
        break;
      case book::drop:
        if (a.what == book::tape) {
          tapes_.erase(a.slot);
          break;
        }
        kept_.erase(a.slot);
        --on_tier_[a.where];
        break;
      case book::record: {
        recorded made;
        for (book::number i = a.from; i < a.to; ++i) {
          made.states.push_back(live_);
          run(live_, i, i + 1);
        }
        made.end = live_;
        tapes_[a.slot] = made;
        sum.recorded += length;
        rise(sum.peak_tapes, book::number(tapes_.size()));
        break;
      }
      case book::turn: {
        word last = live_;
        run(last, a.from, steps_);
        bar = last;
        sum.turned += length;
        break;
      }
      case book::reverse: {
        std::vector<word> states;
        if (a.what == book::tape) {
          states = tapes_.at(a.slot).states;
          sum.taped += length;
        } else {
          for (book::number i = a.from; i < a.to; ++i) {
            states.push_back(live_);
            live_ = step(live_, i);
          }
        }
        for (book::number i = a.to; i-- > a.from;) bar = adjoint(states.at(std::size_t(i - a.from)), bar, i);
        sum.reversals += length;
        break;
      }
      default: break;
    }
  }

  word bar = 0;
  book::totals sum;
  book::count ran = 0;  ///< steps, those of adjoints left out

 private:
  struct recorded {
    std::vector<word> states;
    word end = 0;
  };
  void run(word& x, book::number from, book::number to) {
    for (; from < to; ++from, ++ran) x = step(x, from);
  }
  static void rise(book::number& peak, book::number now) { peak = now > peak ? now : peak; }

  word first_, live_;
  book::number steps_;
  std::map<book::number, word> kept_;
  std::map<book::number, recorded> tapes_;
  book::number on_tier_[4] = {};
};

}  // namespace stub
