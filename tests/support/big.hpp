// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whole numbers of any size, slow and simple: what arithmetic of 128 bits is checked against.
#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>
#include "support/int128.hpp"

namespace big {

using u128 = int128::natural;

class natural {
 public:
  natural() = default;
  natural(u128 value) {
    for (; value > 0; value >>= 32) limbs_.push_back(std::uint32_t(value));
  }
  natural(std::integral auto value) : natural{u128(value)} {}
  friend natural operator+(natural const& a, natural const& b) {
    natural sum;
    std::uint64_t carry = 0;
    for (std::size_t k = 0; k < std::max(a.limbs_.size(), b.limbs_.size()) || carry > 0; ++k, carry >>= 32) {
      carry += a.limb(k);
      carry += b.limb(k);
      sum.limbs_.push_back(std::uint32_t(carry));
    }
    return sum;
  }
  /// \pre a >= b
  friend natural operator-(natural const& a, natural const& b) {
    natural rest;
    std::int64_t borrow = 0;
    for (std::size_t k = 0; k < a.limbs_.size(); ++k) {
      std::int64_t const d = std::int64_t(a.limb(k)) - std::int64_t(b.limb(k)) - borrow;
      borrow = d < 0 ? 1 : 0;
      rest.limbs_.push_back(std::uint32_t(d + (borrow << 32)));
    }
    rest.trim();
    return rest;
  }
  friend natural operator*(natural const& a, natural const& b) {
    natural product;
    product.limbs_.assign(a.limbs_.size() + b.limbs_.size(), 0);
    for (std::size_t j = 0; j < a.limbs_.size(); ++j) {
      std::uint64_t carry = 0;
      for (std::size_t k = 0; k < b.limbs_.size() || carry > 0; ++k, carry >>= 32) {
        carry += std::uint64_t(a.limbs_[j]) * b.limb(k) + product.limbs_[j + k];
        product.limbs_[j + k] = std::uint32_t(carry);
      }
    }
    product.trim();
    return product;
  }
  /// By a number below 2^32, rounded down.
  friend natural operator/(natural a, std::uint32_t b) {
    std::uint64_t rest = 0;
    for (std::size_t k = a.limbs_.size(); k-- > 0;) {
      rest = rest << 32 | a.limbs_[k];
      a.limbs_[k] = std::uint32_t(rest / b);
      rest %= b;
    }
    a.trim();
    return a;
  }
  friend bool operator==(natural const& a, natural const& b) { return a.limbs_ == b.limbs_; }
  friend bool operator<(natural const& a, natural const& b) {
    if (a.limbs_.size() != b.limbs_.size()) return a.limbs_.size() < b.limbs_.size();
    return std::lexicographical_compare(a.limbs_.rbegin(), a.limbs_.rend(), b.limbs_.rbegin(), b.limbs_.rend());
  }
  friend bool operator<=(natural const& a, natural const& b) { return !(b < a); }
  [[nodiscard]] std::string text() const {
    std::string digits;
    for (natural left = *this; !left.limbs_.empty(); left = left / 10)
      digits += char('0' + int((left - left / 10 * natural{10}).limb(0)));
    std::reverse(digits.begin(), digits.end());
    return digits.empty() ? "0" : digits;
  }

 private:
  [[nodiscard]] std::uint32_t limb(std::size_t k) const { return k < limbs_.size() ? limbs_[k] : 0; }
  void trim() {
    while (!limbs_.empty() && limbs_.back() == 0) limbs_.pop_back();
  }
  std::vector<std::uint32_t> limbs_;  // the lowest first, no zeros at the end
};

/// beta(s, t) = C(s + t, s) of the binomial schedule, or something above `enough` where it is above; 0 for negative
/// arguments. As each factor makes the product twice as large at least, there are few.
inline natural beta(std::int64_t s, std::int64_t t, natural const& enough) {
  if (s < 0 || t < 0) return {};
  auto const few = std::uint32_t(std::min<std::int64_t>(std::min(s, t), 4'000'000'000));
  natural const many = u128(std::max(s, t));
  natural product = 1;
  for (std::uint32_t k = 1; k <= few && product <= enough; ++k) product = product * (many + natural{k}) / k;
  return product;
}
inline natural beta(std::int64_t s, std::int64_t t) { return beta(s, t, natural{~u128{0}} * natural{~u128{0}}); }

/// The repetition number by the definition: the least t with beta(s, t) >= n.   \pre n >= 2, s >= 1
inline std::int64_t repetitions(std::int64_t n, std::int64_t s) {
  natural const length = u128(n);
  std::int64_t too_few = 0, enough = n - 1;
  while (enough - too_few > 1) {
    std::int64_t const middle = too_few + (enough - too_few) / 2;
    (beta(s, middle, length) < length ? too_few : enough) = middle;
  }
  return enough;
}

/// What a binomial sweep over n steps takes with s slots, that of the first state among them: the formulas of Griewank
/// & Walther (2000).
struct binomial {
  natural advances, saves, loads_of_first;
};
inline binomial binomial_sweep(std::int64_t n, std::int64_t s) {
  if (n < 2) return {};
  s = std::min(s, std::max<std::int64_t>(n - 1, 1));
  std::int64_t const t = repetitions(n, s);
  natural const length = u128(n), p = beta(s, t - 1), q = beta(s - 1, t - 1), above = length - p;
  return {natural{u128(t)} * length - beta(s + 1, t - 1), above <= q ? q : above, natural{u128(above < q ? t - 1 : t)}};
}

}  // namespace big
