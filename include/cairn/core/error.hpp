// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file error.hpp  Every exception that cairn throws. Each says who refused, what, the values given, and what would
/// work.
#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <type_traits>
#include <cairn/core/detail/text.hpp>
#include <cairn/language.hpp>

namespace cairn {

/// A value in an error message: a name with static storage, and an integer.
struct named_value {
  char const* name = "";  ///< with static storage
  bool negative = false;  ///< its sign
  wide magnitude = 0;  ///< its absolute value

  constexpr named_value() = default;
  /// \param called  a name with static storage
  template <class Integer>
    requires(std::is_integral_v<Integer> || std::is_same_v<Integer, wide>)
  constexpr named_value(char const* called, Integer value) noexcept : name{called}, magnitude{wide(value)} {
    if constexpr (std::is_signed_v<Integer>) {
      negative = value < 0;
      if (negative) magnitude = wide{0} - magnitude;
    }
  }
};

/// The base of all errors of cairn and of its adapters. Do not derive from another exception type as well:
/// std::exception would be an ambiguous base, and no handler for it would catch the error. The texts are stored inside
/// the object, so that throwing one allocates nothing of its own. `what()` reads "operation: problem (name = value,
/// ...); advice".
class error : public std::exception {
 public:
  static constexpr std::size_t most_values = 4;  ///< most values that an error holds

  /// \param operation  the public name that refuses, with static storage   \param problem  what is wrong
  /// \param values  the values given; the first four are kept   \param advice  what would work; may be empty
  error(char const* operation, char const* problem, std::initializer_list<named_value> values,
        char const* advice) noexcept
      : error{operation, problem, values.begin(), values.size(), advice} {}
  /// The same with an array of `count` values.
  [[gnu::cold]] error(char const* operation, char const* problem, named_value const* values, std::size_t count,
                      char const* advice) noexcept
      : operation_{operation} {
    text_.add(operation).add(": ").add(problem);
    char const* before = " (";
    for (std::size_t k = 0; k < count && k < most_values; ++k) {
      auto const& value = values_[count_++] = values[k];
      text_.add(before).add(value.name).add(" = ").add(value.negative ? "-" : "").add(value.magnitude);
      before = ", ";
    }
    if (count_ > 0) text_.add(")");
    if (advice[0] != '\0') text_.add("; ");
    advice_ = text_.size();
    text_.add(advice);
  }

  /// "operation: problem (values); advice".
  [[nodiscard]] char const* what() const noexcept override { return text_.c_str(); }
  /// The public name that refuses, for example "cairn::revolve".
  [[nodiscard]] char const* operation() const noexcept { return operation_; }
  /// What would work instead.
  [[nodiscard]] char const* advice() const noexcept { return text_.c_str() + advice_; }
  [[nodiscard]] std::size_t value_count() const noexcept { return count_; }  ///< number of values
  /// \pre k < value_count()
  [[nodiscard]] named_value const& value(std::size_t k) const noexcept { return values_[k]; }

 private:
  char const* operation_;
  detail::text<400> text_;
  std::size_t advice_ = 0;
  named_value values_[most_values];
  std::size_t count_ = 0;
};

/// A plan that cannot be made, or that does not fit this loop; thrown before any step runs.
struct invalid_plan : error { using error::error; };
/// A budget below the least feasible one, which the values name.
struct infeasible_budget : error { using error::error; };
/// Making the plan takes more work than allowed; the values say how much was done and how much is allowed.
struct too_much_work : error { using error::error; };
/// A text that is not a size in bytes.
struct invalid_size : error { using error::error; };
/// A text that cannot be parsed; the first value says where.
struct parse_error : error { using error::error; };
/// Bytes that a state cannot be read from: cut off, of another shape where the state cannot change its own, or not made
/// by `write_state`; the values say what was asked for.
struct invalid_bytes : error { using error::error; };
/// A file that cannot be opened, read or written; the first value is the system's number of the error, and the advice
/// names the file.
struct file_error : error { using error::error; };
/// A disk without room for the checkpoints of a plan, or with a quota below; the values say what is needed and what is
/// free, and the advice names the folder. Thrown before any step runs.
struct storage_full : error { using error::error; };
/// A run whose folder another process or thread works on; the advice names the folder.
struct directory_busy : error {
  using error::error;
  char host[64] = "";        ///< of that process; empty if it is not known
  std::int64_t process = 0;  ///< its number there; 0 if it is not known
};
/// A run that was asked to stop and did, where the values say: how many steps are left to be reversed, or the number of
/// the state on its way forward. The next process goes on from there; what could not be kept says the report of its
/// `disk`.
struct stopped : error { using error::error; };
/// A number that does not fit the requested type.
struct overflow_error : error { using error::error; };
/// A schedule that no executor can obey; found by `verify` or during a sweep.
struct invalid_schedule : error { using error::error; };
/// A call that is not possible in the object's present state, for example a second reverse of a state that cannot be
/// copied.
struct invalid_call : error { using error::error; };

/// A device that is missing, is not the right one, or failed; the values hold its number and the runtime's error code.
struct device_error : error { using error::error; };
/// Device memory, pinned host memory, or gigabytes for the slots of one plan cannot be allocated; the values say how
/// much was asked for. Other memory of the host is std::bad_alloc.
struct out_of_memory : error { using error::error; };

/// A difference that a replay check found.
struct replay_difference {
  std::int64_t state = 0;       ///< number of the state that differs from its first value
  /// The first step that can have caused the difference; if every step is compared, the step that did.
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;   ///< the last step that can have caused it. Both equal `state` if the state was restored
                                ///< and not run again
  /// Number of the first floating-point number that differs, in the order of `visit_numbers`; -1 if unknown.
  std::int64_t number = -1;
  double first = 0;             ///< its first value, if `number` is known
  double again = 0;             ///< its value the second time
  /// The member of an aggregate state or snapshot that differs, counted from 0; -1 if unknown.
  std::int64_t member = -1;
};

/// A state that was run again, or restored, differs from its first value: the step reads or changes something outside
/// the state, or a copy is incomplete. Thrown by sweeps with a `replay_check`.
struct nondeterminism_error : error {
  /// The usual message; its values come from `seen`.
  nondeterminism_error(char const* operation, char const* problem, replay_difference const& seen,
                       char const* advice) noexcept
      : nondeterminism_error{operation, problem, seen, values_of(seen), advice} {}
  replay_difference found;  ///< where the difference is, and its values

 private:
  struct list {
    named_value all[most_values];
    std::size_t count = 0;
    constexpr void add(char const* name, std::int64_t value) noexcept { all[count++] = {name, value}; }
  };
  [[nodiscard]] static constexpr list values_of(replay_difference const& seen) noexcept {
    list values;
    values.add("state", seen.state);
    if (seen.first_step < seen.last_step) {
      values.add("first step", seen.first_step);
      values.add("last step", seen.last_step);
    } else if (seen.last_step < seen.state) {
      values.add("step", seen.last_step);
    }
    if (seen.number >= 0) values.add("number", seen.number);
    if (seen.member >= 0) values.add("member", seen.member);
    return values;
  }
  nondeterminism_error(char const* operation, char const* problem, replay_difference const& seen, list const& values,
                       char const* advice) noexcept
      : error{operation, problem, values.all, values.count, advice}, found{seen} {}
};

/// A workspace is already in use by a sweep: a step must not start another sweep in the workspace it runs in.
struct reentrancy_error : error { using error::error; };

}  // namespace cairn
