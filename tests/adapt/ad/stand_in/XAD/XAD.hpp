// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stands in for XAD, which Debian does not have: of its documented interface (Tape, AReal, adj) what an adapter needs,
// over a tape of our own.
#include <cassert>
#include <cstddef>
#include <stdexcept>
#include <utility>
#include "adapt/ad/stand_in/recorder.hpp"

namespace xad {

struct TapeAlreadyActive : std::runtime_error {
  TapeAlreadyActive() : std::runtime_error{"a tape is already active for the current thread"} {}
};

class AReal;

class Tape {
 public:
  using slot_type = std::size_t;
  using active_type = AReal;
  explicit Tape(bool activates = true) {
    if (activates) activate();
  }
  Tape(Tape&& other) : record_{other.record_} { assert(!other.isActive()); }
  Tape& operator=(Tape&& other) {
    assert(!isActive() && !other.isActive());
    record_ = std::move(other.record_);
    return *this;
  }
  ~Tape() { deactivate(); }
  void activate() {
    if (active() != nullptr && active() != this) throw TapeAlreadyActive{};
    active() = this;
    record_.active = true;
  }
  void deactivate() {
    if (active() == this) active() = nullptr;
    record_.active = false;
  }
  bool isActive() const { return active() == this; }
  static Tape* getActive() { return active(); }
  void registerInput(AReal& value);
  void registerOutput(AReal& value);
  void newRecording() { record_.statements.clear(); }
  void computeAdjoints() { record_.evaluate(); }
  void clearDerivatives() { record_.clear_adjoints(); }
  void clearAll() { record_.reset(); }
  double& derivative(slot_type slot) { return record_.adjoints[slot]; }
  double getDerivative(slot_type slot) const { return record_.adjoints[slot]; }
  std::size_t getMemory() const { return record_.used(); }
  stand_in::record& record() { return record_; }

 private:
  static Tape*& active() {
    static thread_local Tape* one = nullptr;
    return one;
  }
  stand_in::record record_;
};

namespace detail {
struct tag {
  static stand_in::record* tape() { return Tape::getActive() != nullptr ? &Tape::getActive()->record() : nullptr; }
};
}  // namespace detail

/// Gives its place back when it ends, to whatever tape is active then.
class AReal : public stand_in::number<detail::tag> {
 public:
  using number = stand_in::number<detail::tag>;
  using number::number;
  AReal() = default;
  AReal(number const& from) : number{from} {}
  AReal(AReal const& other) : number{other.copied()} {}
  AReal(AReal&& other) noexcept : number{static_cast<number const&>(other)} { other.forget(); }
  AReal& operator=(AReal const& other) {
    AReal copy{other};
    return *this = std::move(copy);
  }
  AReal& operator=(AReal&& other) noexcept {
    std::size_t const mine = place();
    AReal old;
    old.swap_places(*this);
    number::operator=(other);
    other.forget();
    if (mine != 0) other.swap_places(old);
    old.forget();
    return *this;
  }
  ~AReal() {
    if (Tape::getActive() != nullptr) Tape::getActive()->record().give_back(place());
  }
  std::size_t getSlot() const { return place(); }
};

inline void Tape::registerInput(AReal& value) {
  if (value.place() == 0) value.be_input(record_);
}
inline void Tape::registerOutput(AReal& value) {
  if (value.place() == 0) value.be_input(record_);  // a constant gets a place, whose derivative leads nowhere
}

template <class T>
struct adj {
  using tape_type = Tape;
  using active_type = AReal;
};

}  // namespace xad
