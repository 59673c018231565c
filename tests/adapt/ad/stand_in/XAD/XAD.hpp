#pragma once
// Stands in for XAD, which Debian does not have: of its documented interface (Tape, AReal, adj) what an adapter needs, over a tape of our own.
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
  std::size_t getMemory() const { return record_.bytes(); }
  stand_in::record& record() { return record_; }

 private:
  static Tape*& active() {
    static Tape* one = nullptr;
    return one;
  }
  stand_in::record record_;
};

namespace detail {
struct tag {
  static stand_in::record* tape() { return Tape::getActive() != nullptr ? &Tape::getActive()->record() : nullptr; }
};
}  // namespace detail

class AReal : public stand_in::number<detail::tag> {
 public:
  using number = stand_in::number<detail::tag>;
  using number::number;
  AReal() = default;
  AReal(number const& from) : number{from} {}
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
