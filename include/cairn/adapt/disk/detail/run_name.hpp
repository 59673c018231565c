// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file run_name.hpp  By what a run is the same in two processes, part by part, which part differs where it is not,
/// and what may be used of a stopped process.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>
#include <cairn/adapt/disk/detail/file_head.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/state_bytes.hpp>
#include <cairn/run/with/flush_subnormals.hpp>

namespace cairn::detail {

/// What a run is known by.
enum class run_part : std::uint8_t {
  verb, steps, plan, initial, params, key, code, step, adjoint, seed, objective, condition, first,
  arithmetic  ///< how the thread rounds, and whether it flushes subnormal numbers; given where it is not the default
};
inline constexpr std::size_t run_parts = std::size_t(run_part::arithmetic) + 1;
/// Their names.
inline constexpr char const* part_names[run_parts] = {"verb", "n",    "plan",    "x0",   "p",         "key",       "code",
                                                     "step", "adjoint", "seed", "objective", "condition", "state 1",
                                                     "arithmetic"};
/// Why nothing of the nearest run is used, if it differs in this part alone.
inline constexpr char const* why_other_part[run_parts] = {
    "the nearest run in the folder is of another verb",
    "the nearest run in the folder has another number of steps",
    "the nearest run in the folder has another plan",
    "the nearest run in the folder has another initial state",
    "the nearest run in the folder has other parameters",
    "the nearest run in the folder has another key",
    "the nearest run in the folder is of another build; if its functions are the same, disk_options::code says so",
    "the nearest run in the folder has another step, or one that holds or reads something else",
    "the nearest run in the folder has another adjoint, or one that holds or reads something else",
    "the nearest run in the folder has another seed, or one that holds or reads something else",
    "the nearest run in the folder has another objective, or one that holds or reads something else",
    "the nearest run in the folder has another condition, or one that holds or reads something else",
    "in the nearest run in the folder step 0 makes another state of x0: what it reads otherwise differs, or the arithmetic",
    "the nearest run in the folder rounds in another way, or treats subnormal numbers in another way"};
inline constexpr char const* why_changed =
    "parameters changed during the sweep, or what a function holds, which may be a sum: nothing of it is kept; give sums "
    "as cairn::wrt{p, dp}";
inline constexpr char const* why_other_states =
    "what another process left is another trajectory, and was given up: what the step reads beside its state differs, as "
    "static variables, what it refers to or what a snapshot leaves out; or the processor, libraries or flags";
inline constexpr char const* why_more_parts =
    "the nearest run in the folder differs in more than one part, which disk_report::differs names";
/// Why a function cannot be known, by its part.
inline constexpr char const* why_unknown_part[run_parts] = {
    "", "", "", "", "", "", "the build of the program cannot be read here; give the code a name, disk_options::code",
    ("the step, or a stage, holds what cannot be seen, as a pointer; name what it reads, cairn::reads_only(step, "
     "values...), or give a key"),
    ("the adjoint holds what cannot be seen, as a pointer or a sum; name what it reads, cairn::reads_only(adjoint, "
     "values...), or give a key; give sums as cairn::wrt{p, dp}"),
    "the seed holds what cannot be seen, as a pointer; name what it reads, cairn::reads_only(seed, values...), or give a key",
    ("the objective holds what cannot be seen, as a pointer; name what its functions read, cairn::reads_only(f, values...), "
     "or give a key"),
    ("the condition holds what cannot be seen, as a pointer; name what it reads, cairn::reads_only(condition, values...), "
     "or give a key"),
    "", ""};

inline constexpr char const* why_unknown_object =
    "the object holds what cannot be seen beside its snapshots; give a key, or the object members write_state(sink) const "
    "and read_state(source)";

/// The parts of a run's name.
class run_name {
 public:
  struct part {
    run_id value;
    bool given = false;
    char const* type = "";  ///< as the compiler writes it; of the key and the code their texts
  };
  [[nodiscard]] part& operator[](run_part which) noexcept { return all_[std::size_t(which)]; }
  [[nodiscard]] part const& operator[](run_part which) const noexcept { return all_[std::size_t(which)]; }
  /// A part becomes what fill(sum) adds.
  template <class Fill>
  void set(run_part which, char const* type, Fill const& fill) {
    sum_.begin();
    fill(sum_);
    (*this)[which] = {sum_.value(), true, type};
  }
  [[nodiscard]] run_id id() {
    if (auto const mode = bits_of_float_mode(); mode != 0)
      set(run_part::arithmetic, "", [mode](id_sum& sum) { sum.number(std::uint64_t{mode}); });
    sum_.begin();
    sum_.number(std::uint64_t{5});  // the format: of hashes of states, too
    for (auto const& one : all_) sum_.number(one.given), sum_.number(one.value.words[0]), sum_.number(one.value.words[1]);
    return sum_.value();
  }
  /// \param of  another run   \returns whether a part is the same in it
  [[nodiscard]] bool same(std::size_t which, run_name const& of) const noexcept {
    return all_[which].given == of.all_[which].given && all_[which].value == of.all_[which].value;
  }
  [[nodiscard]] id_sum& sum() noexcept { return sum_; }

  /// For the file beside a run's states.
  template <class Sink>
  void write(Sink& sink) const {
    for (auto const& one : all_) {
      write_state(std::uint8_t(one.given), sink);
      write_state(one.value.words, sink);
    }
    for (auto const& one : all_) write_state(std::string{one.type}, sink);
  }
  /// Reads the values of the parts, and their texts if these are asked for.
  template <class Source>
  void read(Source& source, std::array<std::string, run_parts>* texts = nullptr) {
    for (auto& one : all_) {
      std::uint8_t given = 0;
      read_state(given, source);
      one.given = given != 0;
      read_state(one.value.words, source);
    }
    if (texts != nullptr)
      for (auto& one : *texts) read_state(one, source);
  }

 private:
  std::array<part, run_parts> all_;
  id_sum sum_;
};

[[nodiscard]] constexpr bool is_function(run_part which) noexcept {
  return which >= run_part::step && which <= run_part::condition;
}
/// The run of a folder that is nearest to one that is not there.
struct nearest_run {
  std::string id;                  ///< empty if there is none
  std::vector<run_part> differs;   ///< its parts that are other ones
  /// Why nothing of it is used.
  [[nodiscard]] char const* why() const noexcept {
    if (id.empty()) return "";
    if (differs.size() > 3) return "";  // a run of its own
    return differs.size() == 1 ? why_other_part[std::size_t(differs.front())] : why_more_parts;
  }
  /// The names of the parts.
  [[nodiscard]] std::string names() const {
    std::string all;
    for (run_part const one : differs) all += (all.empty() ? "" : ", ") + std::string{part_names[std::size_t(one)]};
    return all;
  }
  /// Looks at one more.   \param other  its name
  void consider(std::string const& other, run_name const& mine, run_name const& its) {
    std::vector<run_part> found;
    bool const rebuilt = !mine.same(std::size_t(run_part::code), its);  // then all functions stand elsewhere
    for (std::size_t k = 0; k < run_parts; ++k)
      if (!mine.same(k, its) && !(rebuilt && is_function(run_part(k)))) found.push_back(run_part(k));
    if (id.empty() || found.size() < differs.size()) id = other, differs = std::move(found);
  }
};

/// An object whose library has the adjoint, and can save it.
template <class Object>
concept saves_bar = requires(Object& x, Object const& same) {
  x.restore_bar(same.save_bar());
  requires written_state<std::remove_cvref_t<decltype(same.save_bar())>>;
  requires std::is_default_constructible_v<std::remove_cvref_t<decltype(same.save_bar())>>;
};

/// What may be used of a stopped process.
struct trust {
  bool states = false;   ///< checkpoints
  bool record = false;   ///< the adjoint, and the sums beside it
  char const* why = "";  ///< why not all of it; empty if all
};
/// Which functions could be seen through.
struct seen_parts {
  bool all[run_parts] = {true, true, true, true, true, true, true, true, true, true, true, true, true, true};
  [[nodiscard]] bool& operator[](run_part which) noexcept { return all[std::size_t(which)]; }

  /// States are what the step made, with sums of terms beside them; records are what the adjoint made of these.
  /// \param keyed  whether the user gave a key, by which the run is another one where what functions read is
  /// \param terms_along  whether the objective has terms of other states than the last
  [[nodiscard]] trust trusted(bool keyed, bool terms_along) {
    if (!(*this)[run_part::code]) return {false, false, why_unknown_part[std::size_t(run_part::code)]};
    if (keyed) return {true, true};
    for (run_part const one : {run_part::step, run_part::condition, run_part::objective})
      if (!(*this)[one] && (one != run_part::objective || terms_along))
        return {false, false, why_unknown_part[std::size_t(one)]};
    for (run_part const one : {run_part::adjoint, run_part::seed, run_part::objective})
      if (!(*this)[one]) return {true, false, why_unknown_part[std::size_t(one)]};
    return {true, true};
  }
};

}  // namespace cairn::detail
