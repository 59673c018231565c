// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file team.hpp  The ranks of a communicator, and the one way in which they meet.
/// Ranks meet in rounds: one small reduction over a communicator of cairn's own, so that no message of the user's can
/// be mistaken for one of these. All rounds have the same shape. A rank that cannot go on joins the next round, for
/// whatever reason the others meet, and says so; all others learn of it there. So ranks that reach a round never wait
/// for one that has left the sweep, and the order of rounds is the same on all ranks.
#include <mpi.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <limits>
#include <memory>
#include <thread>
#include <utility>
#include <cairn/adapt/mpi/collective_error.hpp>
#include <cairn/core/detail/text.hpp>
#include <cairn/core/error.hpp>

namespace cairn::detail {

/// What ranks bring to a round, or find there.
class ballot {
 public:
  static constexpr std::size_t most_values = 6;  ///< most values of one round

  /// An empty ballot, of a rank that leaves the values to others.
  constexpr ballot() noexcept { words_.fill(most); }
  /// Puts value k, which is compared with value k of the other ranks.
  constexpr void put(std::size_t k, std::uint64_t value) noexcept {
    words_[2 * k] = std::int64_t(value);
    words_[2 * k + 1] = ~std::int64_t(value);
  }
  /// The least value k of all ranks that put one. Values must be below 2^63, unless only one rank puts one.
  [[nodiscard]] constexpr std::uint64_t least(std::size_t k) const noexcept { return std::uint64_t(words_[2 * k]); }
  /// Whether all ranks that put value k have put the same.
  [[nodiscard]] constexpr bool same(std::size_t k) const noexcept { return words_[2 * k] == ~words_[2 * k + 1]; }

  static constexpr std::size_t failed = most_values, key = most_values + 1;  ///< values of the round itself
  static constexpr std::size_t size = 2 * (most_values + 2);                 ///< words
  [[nodiscard]] std::int64_t* data() noexcept { return words_.data(); }

 private:
  // Signed, because MPICH 4.0 compares unsigned words as if they had a sign.
  static constexpr std::int64_t most = (std::numeric_limits<std::int64_t>::max)();
  std::array<std::int64_t, size> words_{};
};

/// What the rank that cannot go on reports to the others.
struct obituary {
  std::array<char, 320> text{};
  collective_cause cause = collective_cause::exception;
};

/// A 64-bit hash of a name (Fowler, Noll, Vo).
[[nodiscard]] constexpr std::uint64_t hash_of_name(char const* name, std::uint64_t hash = 0xcbf29ce484222325) noexcept {
  for (; *name != '\0'; ++name) hash = (hash ^ std::uint64_t(static_cast<unsigned char>(*name))) * 0x100000001b3;
  return hash;
}

/// Why ranks meet.
enum class occasion : char {
  begin = 'b', between = 'a', length = 'l', choice = 'c', disk = 'd', other = 'o', end = 'e'
};
/// When that is, for messages.
[[nodiscard]] constexpr char const* words_of(occasion why) noexcept {
  switch (why) {
    case occasion::begin: return "before the first step";
    case occasion::between: return "between two actions";
    case occasion::length: return "to learn whether the loop goes on";
    case occasion::choice: return "for a choice";
    case occasion::disk: return "to agree on what is on disk";
    case occasion::end: return "after the last step";
    case occasion::other: break;
  }
  return "to compare what they have";
}

/// The ranks of one communicator. An attribute of the communicator holds the team, so that it is duplicated once.
class team {
 public:
  /// The team of a communicator. The first call duplicates the communicator, so all ranks must make that call.
  [[nodiscard]] static std::shared_ptr<team> of(MPI_Comm comm) {
    int begun = 0, over = 0;
    MPI_Initialized(&begun);
    MPI_Finalized(&over);
    if (begun == 0 || over != 0 || comm == MPI_COMM_NULL)
      throw invalid_call{"cairn::collective",
                         "MPI is not running, or the communicator is MPI_COMM_NULL",
                         {},
                         "call MPI_Init before, and make one only on ranks that belong to the communicator"};
    using holder = std::shared_ptr<team>;
    static int const key = [] {
      int made = MPI_KEYVAL_INVALID;
      MPI_Comm_create_keyval(
          MPI_COMM_NULL_COPY_FN,
          [](MPI_Comm, int, void* held, void*) {
            auto* const last = static_cast<holder*>(held);
            if ((*last)->own_ != MPI_COMM_NULL) MPI_Comm_free(&(*last)->own_);
            delete last;
            return int{MPI_SUCCESS};
          },
          &made, nullptr);
      return made;
    }();
    void* held = nullptr;
    int found = 0;
    MPI_Comm_get_attr(comm, key, &held, &found);
    if (found != 0) return *static_cast<holder*>(held);
    auto made = std::make_unique<holder>(new team{comm});
    holder const result = *made;
    MPI_Comm_set_attr(comm, key, made.release());
    return result;
  }
  team(team const&) = delete;
  team& operator=(team const&) = delete;

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }
  [[nodiscard]] MPI_Comm comm() const noexcept { return comm_; }
  [[nodiscard]] MPI_Comm own() const noexcept { return own_; }

  /// \throws invalid_call   if MPI is over, or the communicator is gone: no rank can be met
  void check_running(char const* operation) const {
    int over = 0;
    MPI_Finalized(&over);
    if (over != 0 || own_ == MPI_COMM_NULL)
      throw invalid_call{operation,
                         "MPI_Finalize has been called, or the communicator was freed",
                         {{"rank", rank_}, {"ranks", size_}},
                         "make the call on all ranks before that"};
  }
  /// Meets the other ranks; returns one ballot, the least of those of all ranks.
  /// \param patience  seconds after which a rank that still waits says so on stderr, once
  /// \throws collective_error   on all ranks, if one of them cannot go on, or has come for another reason
  ballot meet(char const* operation, occasion why, ballot mine, double patience) {
    std::uint64_t const key = hash_of_name(operation) * 131 + std::uint64_t(why);
    mine.put(ballot::failed, std::uint64_t(size_));
    mine.put(ballot::key, key);
    ballot all = mine;
    wait(begin_round(mine, all), patience, [&] {
      std::fprintf(stderr,
                   "%s: rank %d of %d has waited %g s for the others %s, and goes on waiting: a rank has not made this "
                   "call, or is busy\n",
                   operation, rank_, size_, patience, words_of(why));
      std::fflush(stderr);
    });
    if (all.least(ballot::failed) < std::uint64_t(size_))
      learn(operation, int(all.least(ballot::failed)), {}, nullptr);
    if (!all.same(ballot::key))
      differs(operation, key, "a rank makes a different call from rank 0", collective_cause::other_call,
              "all ranks of a communicator make the same calls in the same order");
    return all;
  }
  /// Joins the next round and says that this rank cannot go on.
  /// \param patience  seconds to wait for the others. If they have not come by then, they are taken to hang in the
  ///   user's own communication, where no message of cairn's can reach them, and MPI ends all ranks
  [[noreturn]] void leave(char const* operation, collective_cause cause, std::exception_ptr thrown, double patience) {
    obituary own;
    own.cause = cause;
    put_in_words(thrown, own);
    ballot mine, all;
    mine.put(ballot::failed, std::uint64_t(rank_));
    MPI_Request pending = begin_round(mine, all);
    double const since = MPI_Wtime();
    for (int done = 0;;) {
      MPI_Test(&pending, &done, MPI_STATUS_IGNORE);
      if (done != 0) break;
      if (MPI_Wtime() - since > patience) end_all(operation, own, patience);
      std::this_thread::sleep_for(std::chrono::microseconds{200});
    }
    learn(operation, int(all.least(ballot::failed)), own, std::move(thrown));
  }
  /// One rank's bytes, on all ranks.
  void give(void* bytes, std::size_t count, int from) {
    MPI_Request pending = MPI_REQUEST_NULL;
    MPI_Ibcast(bytes, int(count), MPI_BYTE, from, own_, &pending);
    wait(pending);
  }
  /// The bytes of all ranks, `count` of each, on all ranks.
  void gather(void const* bytes, void* into, std::size_t count) {
    MPI_Request pending = MPI_REQUEST_NULL;
    MPI_Iallgather(bytes, int(count), MPI_BYTE, into, int(count), MPI_BYTE, own_, &pending);
    wait(pending);
  }
  /// Each value becomes the least of those of all ranks.
  void least_of_each(std::int64_t* values, std::size_t count) {
    MPI_Request pending = MPI_REQUEST_NULL;
    MPI_Iallreduce(MPI_IN_PLACE, values, int(count), MPI_INT64_T, MPI_MIN, own_, &pending);
    wait(pending);
  }
  /// Throws on all ranks, when all know that values differ: names the first rank whose value is not that of rank 0.
  [[noreturn]] void differs(char const* operation, std::uint64_t value, char const* problem, collective_cause cause,
                            char const* advice) {
    std::uint64_t of_first = value;
    give(&of_first, sizeof of_first, 0);
    int const mine = of_first == value ? size_ : rank_;
    int first = mine;
    MPI_Request pending = MPI_REQUEST_NULL;
    MPI_Iallreduce(&mine, &first, 1, MPI_INT, MPI_MIN, own_, &pending);
    wait(pending);
    throw collective_error{operation, problem, first, cause, advice, nullptr, this};
  }

 private:
  explicit team(MPI_Comm comm) : comm_{comm} {
    MPI_Comm_dup(comm, &own_);
    MPI_Comm_set_errhandler(own_, MPI_ERRORS_ARE_FATAL);  // a lost rank ends all, even if comm ignores errors
    MPI_Comm_rank(own_, &rank_);
    MPI_Comm_size(own_, &size_);
  }
  /// Starts the reduction of a round; always a nonblocking one, because MPI does not match it with a blocking one.
  [[nodiscard]] MPI_Request begin_round(ballot& mine, ballot& all) const {
    MPI_Request pending = MPI_REQUEST_NULL;
    MPI_Iallreduce(mine.data(), all.data(), int{ballot::size}, MPI_INT64_T, MPI_MIN, own_, &pending);
    return pending;
  }
  /// Waits: busily for some tests, then for a moment with its core left to others that can use it, then with pauses. If
  /// there are more ranks than cores, as in test runs, a rank that waits busily takes time from the one it waits for; a
  /// pause takes longer than most ranks are late.
  /// \param is_late  called once, if it takes longer than `patience` seconds
  template <class Late>
  static void wait(MPI_Request pending, double patience, Late is_late) {
    constexpr int busy_tests = 200;
    constexpr double moment = 0.001;  // seconds
    double since = 0;
    bool said = false;
    for (int done = 0, tests = 0;; ++tests) {
      MPI_Test(&pending, &done, MPI_STATUS_IGNORE);
      if (done != 0) return;
      if (tests < busy_tests) continue;
      double const now = MPI_Wtime();
      if (tests == busy_tests) since = now;
      if (!said && now - since > patience) is_late(), said = true;
      if (now - since < moment) std::this_thread::yield();
      else std::this_thread::sleep_for(std::chrono::microseconds{20});
    }
  }
  static void wait(MPI_Request pending) {
    wait(pending, std::numeric_limits<double>::infinity(), [] {});
  }
  static void put_in_words(std::exception_ptr const& thrown, obituary& into) noexcept {
    auto const say = [&](char const* words) { std::strncpy(into.text.data(), words, into.text.size() - 1); };
    if (!thrown) return;
    try {
      std::rethrow_exception(thrown);
    } catch (std::exception const& known) {
      say(known.what());
    } catch (...) {
      say("an exception that is not a std::exception");
    }
  }
  /// Called when all ranks know that rank `first` cannot go on: that rank sends the reason, and all throw the same
  /// error.
  [[noreturn]] void learn(char const* operation, int first, obituary said, std::exception_ptr thrown) {
    give(&said, sizeof said, first);
    bool const stopped = said.cause == collective_cause::stop_request;
    throw collective_error{
        operation,
        stopped ? "a rank asked to stop, and the sweep has ended on all ranks"
                : "a rank threw an exception, and the sweep has ended on all ranks",
        first, said.cause, said.text.data(), std::move(thrown), this};
  }
  [[noreturn]] void end_all(char const* operation, obituary const& own, double patience) {
    std::fprintf(stderr,
                 "%s: rank %d of %d failed, and within %g s not all others heard of it: they wait for a message from "
                 "it, or are busy. All ranks end now. Rank %d says: %s\n",
                 operation, rank_, size_, patience, rank_, own.text.data());
    std::fflush(stderr);
    MPI_Abort(own_, 1);
    std::terminate();
  }

  MPI_Comm comm_, own_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
};

}  // namespace cairn::detail
