// SPDX-License-Identifier: Apache-2.0
#pragma once
// A small tape by overloading, on which the stand-ins for CoDiPack and XAD stand: each statement has up to two
// arguments with their partial derivatives, and each result a place of its own. No line is shared with an adapter.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace stand_in {

struct statement {
  std::size_t left = 0, argument[2] = {0, 0};
  double partial[2] = {0, 0};
};

/// Statements in chunks, which stay when they are cleared.
class statement_list {
 public:
  static constexpr std::size_t chunk = std::size_t{1} << 14;
  void push_back(statement const& next) {
    if (size_ == chunks_.size() * chunk) chunks_.emplace_back(chunk);
    chunks_[size_ / chunk][size_ % chunk] = next;
    ++size_;
  }
  statement const& operator[](std::size_t k) const { return chunks_[k / chunk][k % chunk]; }
  std::size_t size() const { return size_; }
  void clear() { size_ = 0; }
  std::size_t used() const { return size_ * sizeof(statement); }
  std::size_t allocated() const {
    return chunks_.size() * chunk * sizeof(statement) + chunks_.capacity() * sizeof(std::vector<statement>);
  }

 private:
  std::vector<std::vector<statement>> chunks_;
  std::size_t size_ = 0;
};

struct record {
  statement_list statements;
  std::vector<double> adjoints{0};
  std::size_t places = 1, most = 1;  // place 0 is that of constants
  bool active = false;

  std::size_t input() {
    most = std::max(most, places + 1);
    return places++;
  }
  /// The last place is used again.
  void give_back(std::size_t place) {
    if (place != 0 && place == places - 1) --places;
  }
  std::size_t push(std::size_t a, double da, std::size_t b, double db) {
    if (!active || (a == 0 && b == 0)) return 0;
    statements.push_back({places, {a, b}, {da, db}});
    most = std::max(most, places + 1);
    return places++;
  }
  void reset() {
    statements.clear();
    adjoints.assign(1, 0);
    places = most = 1;
  }
  void clear_adjoints() { adjoints.assign(most, 0); }
  void evaluate() {
    for (std::size_t k = statements.size(); k-- > 0;) {
      statement const& s = statements[k];
      double const bar = std::exchange(adjoints[s.left], 0);  // the place may have been that of another one before
      adjoints[s.argument[1]] += s.partial[1] * bar;
      adjoints[s.argument[0]] += s.partial[0] * bar;
      adjoints[0] = 0;
    }
  }
  std::size_t used() const { return statements.used() + adjoints.size() * sizeof(double); }
  std::size_t allocated() const { return statements.allocated() + adjoints.capacity() * sizeof(double); }
};

/// The number; `Tag::tape()` answers where it records, or nullptr.
template <class Tag>
class number {
 public:
  number() = default;
  number(double value) : value_{value} {}
  double value() const { return value_; }
  std::size_t place() const { return place_; }
  void be_input(record& tape) { place_ = tape.input(); }
  void swap_places(number& other) { std::swap(place_, other.place_); }
  void forget() { place_ = 0; }
  /// As a statement of its own.
  number copied() const { return made(value_, place_, 1, 0, 0); }

  friend number operator+(number const& a, number const& b) {
    return made(a.value_ + b.value_, a.place_, 1, b.place_, 1);
  }
  friend number operator-(number const& a, number const& b) {
    return made(a.value_ - b.value_, a.place_, 1, b.place_, -1);
  }
  friend number operator*(number const& a, number const& b) {
    return made(a.value_ * b.value_, a.place_, b.value_, b.place_, a.value_);
  }
  friend number operator/(number const& a, number const& b) {
    return made(a.value_ / b.value_, a.place_, 1 / b.value_, b.place_, -a.value_ / (b.value_ * b.value_));
  }
  friend number operator-(number const& a) { return made(-a.value_, a.place_, -1, 0, 0); }
  number& operator+=(number const& b) { return *this = *this + b; }
  number& operator-=(number const& b) { return *this = *this - b; }
  number& operator*=(number const& b) { return *this = *this * b; }
  number& operator/=(number const& b) { return *this = *this / b; }
  friend bool operator<(number const& a, number const& b) { return a.value_ < b.value_; }
  friend bool operator>(number const& a, number const& b) { return a.value_ > b.value_; }
  friend number sin(number const& a) { return made(std::sin(a.value_), a.place_, std::cos(a.value_), 0, 0); }
  friend number cos(number const& a) { return made(std::cos(a.value_), a.place_, -std::sin(a.value_), 0, 0); }
  friend number exp(number const& a) { return made(std::exp(a.value_), a.place_, std::exp(a.value_), 0, 0); }
  friend number sqrt(number const& a) { return made(std::sqrt(a.value_), a.place_, 0.5 / std::sqrt(a.value_), 0, 0); }

 private:
  static number made(double value, std::size_t a, double da, std::size_t b, double db) {
    number result{value};
    if (record* tape = Tag::tape(); tape != nullptr) result.place_ = tape->push(a, da, b, db);
    return result;
  }
  double value_ = 0;
  std::size_t place_ = 0;
};

}  // namespace stand_in
