// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file choice_file.hpp  The choices of a loop's steps, as `adaptive` makes them: appended to one file, so that another
/// process repeats them.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <type_traits>
#include <unistd.h>
#include <utility>
#include <cairn/adapt/disk/detail/run_folder.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/state_bytes.hpp>

namespace cairn::detail {

struct no_choices {};

/// The choices that a step, as given, makes once and then repeats; null if there are none.
template <class Given>
[[nodiscard]] auto* choices_of(Given const& step) {
  if constexpr (requires { step.choices(); }) return &step.choices();
  else if constexpr (requires { choices_of(step.call); }) return choices_of(step.call);      // with its form said
  else if constexpr (requires { choices_of(step.get()); }) return choices_of(step.get());    // `concurrent`
  else if constexpr (requires { sizeof(step.step); }) return choices_of(step.step);          // of a model
  else return static_cast<no_choices*>(nullptr);
}
template <class Given> using choices_type = std::remove_pointer_t<decltype(choices_of(std::declval<Given const&>()))>;

/// Parts of the file have a head each, which holds the hash of the part before it: what is read is a whole beginning of
/// what was written. State i may be used if the choices of all steps before it are there.
/// \tparam Choices  with the choices as a vector `all`, or no_choices
template <class Choices>
class choice_file {
 public:
  static constexpr bool any = !std::is_same_v<Choices, no_choices>;

  choice_file(run_folder& folder, Choices* choices) noexcept : folder_{folder}, choices_{choices} {}

  /// Of how many steps the choices are in the file.
  [[nodiscard]] std::uint64_t kept() const noexcept { return now_.kept; }
  /// Takes over what an earlier process has written, at most of so many steps, unless the loop was given choices.
  void read([[maybe_unused]] std::uint64_t most = ~std::uint64_t{0}) {
    if constexpr (any) {
      if (!choices_->all.empty()) return;
      using choice = typename decltype(choices_->all)::value_type;
      constexpr bool readable = std::is_default_constructible_v<choice> && written_state<choice>;
      static_assert(readable,
                    "cairn: a run on disk keeps what the steps of cairn::adaptive choose, whose bytes must all be known; "
                    "give them a default constructor and members write_state(sink) const and read_state(source)");
      auto& all = choices_->all;
      descriptor const file = folder_.open(choices_name, O_RDONLY);
      while (file) {
        file_head const head = folder_.head_in(file, file_kind::choices, now_.parts, now_.at);
        auto const read_part = [&](auto& source) {
          while (std::uint64_t(all.size()) < head.step) {
            choice one{};
            read_state(one, source);
            all.push_back(std::move(one));
          }
          if (hash_from(now_.kept) != head.state_hash)
            refuse_loss("the choices of steps that are read back are not those that were written",
                        std::int64_t(now_.kept));
        };
        if (!head.sound() || head.sequence != now_.before || head.step > most) break;
        if (!folder_.read_values(file, head, now_.at, read_part)) break;
        goes_on(head, now_.at + sizeof head + head.stored);
      }
      all.erase(all.begin() + std::ptrdiff_t(now_.kept), all.end());
      choices_->given = now_.kept > 0;
    }
  }
  /// The same again, for fewer steps.
  void read_again([[maybe_unused]] std::uint64_t most) {
    if constexpr (any) {
      if (now_.kept != choices_->all.size()) return;
      choices_->all.clear();
      now_ = {};
      read(most);
    }
  }
  /// All is chosen anew.
  void forget() {
    if constexpr (any) choices_->all.clear(), choices_->given = false;
    now_ = {};
  }
  /// Whether state i may be used.
  [[nodiscard]] bool reach(std::uint64_t i) const noexcept { return !any || i <= now_.kept; }
  /// Writes what was chosen since the last call. Returns 0, or the number of the system's error.
  [[nodiscard]] int append() {
    if constexpr (any) {
      if (now_.kept == choices_->all.size()) return 0;
      descriptor const file = folder_.open(choices_name, O_RDWR | O_CREAT);
      if (!file) return errno;
      if (int const error = write_part(file); error != 0) return error;
      flushed_ = false;
    }
    return 0;
  }
  /// The same, and waits until the disk has them. Where that has failed, it is not repeated on the same file.
  [[nodiscard]] int flush() {
    int error = append();
    if constexpr (any) {
      if (error != 0 || flushed_) return error;
      if (suspect_) error = write_anew();
      else {
        descriptor const file = folder_.open(choices_name, O_RDWR);
        if (!file) return errno;
        suspect_ = ::fdatasync(file.get()) != 0;
        if (suspect_) error = errno;
      }
      if (error == 0) error = folder_.keep_names();
      flushed_ = error == 0;
    }
    return error;
  }

 private:
  /// Of all choices from that of step k on.
  [[nodiscard]] std::uint64_t hash_from([[maybe_unused]] std::size_t k) const {
    std::uint64_t sum = 0;
    if constexpr (any)
      for (; k < choices_->all.size(); ++k) sum = 31 * sum + hash_of(std::as_const(choices_->all)[k]);
    return sum;
  }
  void goes_on(file_head const& part, std::uint64_t end) noexcept {
    now_ = {std::size_t(part.step), end, part.raw_hash, now_.parts + 1};
  }
  /// Writes a part with all that is not in the file.
  [[nodiscard]] int write_part(descriptor const& file) {
    auto const& all = choices_->all;
    file_head head = folder_.fresh_head(file_kind::choices, now_.parts, std::int64_t(all.size()));
    head.sequence = now_.before;
    head.state_hash = hash_from(now_.kept);
    file_writer sink{file.get(), folder_.memory, head.step, false, now_.at};
    for (std::size_t k = now_.kept; k < all.size(); ++k) write_state(all[k], sink);
    if (int const error = sink.finish(head); error != 0) return error;
    head.raw_hash = folder_.memory.hash.value();
    goes_on(head, sink.written());
    return 0;
  }
  /// Writes all choices into a new file, which takes the place of the old one when the disk has it.
  [[nodiscard]] int write_anew() {
    folder_.remove(new_choices_name);
    descriptor const file = folder_.open(new_choices_name, O_RDWR | O_CREAT);
    if (!file) return errno;
    place const before = std::exchange(now_, {});
    int error = write_part(file);
    if (error == 0 && ::fdatasync(file.get()) != 0) error = errno;
    if (error == 0) error = folder_.rename(new_choices_name, choices_name);
    suspect_ = error != 0;
    if (suspect_) now_ = before;
    return error;
  }

  /// What the file has, and where it ends.
  struct place {
    std::size_t kept = 0;
    std::uint64_t at = 0, before = 0;
    std::uint32_t parts = 0;
  };
  run_folder& folder_;
  Choices* choices_;
  place now_;
  bool flushed_ = true, suspect_ = false;  // suspect_: the disk may not have all that the file shows
};

}  // namespace cairn::detail
