// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stands in for CoDiPack, which Debian does not have: of its documented interface (ReverseTapeInterface,
// GradientAccessTapeInterface, TapeValues) what an adapter needs, over a tape of our own.
#include <cstddef>
#include "adapt/ad/stand_in/recorder.hpp"

namespace codi {

struct TapeValues {
  double used = 0, allocated = 0;
  double getUsedMemorySize() { return used; }
  double getAllocatedMemorySize() { return allocated; }
};

class RealReverse;

class Tape {
 public:
  using Identifier = std::size_t;
  template <class Real> void registerInput(Real& value);
  template <class Real> void registerOutput(Real& value);
  void setActive() { record_.active = true; }
  void setPassive() { record_.active = false; }
  bool isActive() const { return record_.active; }
  void evaluate() { record_.evaluate(); }
  void clearAdjoints() { record_.clear_adjoints(); }
  void reset() { record_.reset(); }
  void resetHard() { record_ = {}; }
  double const& getGradient(Identifier const& id) const { return record_.adjoints[id]; }
  double& gradient(Identifier const& id) { return record_.adjoints[id]; }
  TapeValues getTapeValues() const { return {double(record_.used()), double(record_.allocated())}; }
  stand_in::record& record() { return record_; }

 private:
  stand_in::record record_;
};

namespace detail {
inline Tape& tape() {
  static Tape only;
  return only;
}
struct tag {
  static stand_in::record* tape() { return &detail::tape().record(); }
};
}  // namespace detail

class RealReverse : public stand_in::number<detail::tag> {
 public:
  using Identifier = std::size_t;
  using number = stand_in::number<detail::tag>;
  using number::number;
  RealReverse() = default;
  RealReverse(number const& from) : number{from} {}
  static Tape& getTape() { return detail::tape(); }
  Identifier getIdentifier() const { return place(); }
  double& gradient() { return getTape().gradient(place()); }
  explicit operator double() const { return value(); }
};

template <class Real>
void Tape::registerInput(Real& value) { value.be_input(record_); }
template <class Real>
void Tape::registerOutput(Real& value) { value = value.copied(); }

}  // namespace codi
