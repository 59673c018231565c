// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file probe_folder.hpp  What the files of a folder cost, and how many there is room for.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <fcntl.h>
#include <optional>
#include <string>
#include <sys/statvfs.h>
#include <unistd.h>
#include <cairn/adapt/disk/detail/descriptor.hpp>
#include <cairn/adapt/disk/detail/plan_on_disk.hpp>
#include <cairn/adapt/disk/detail/run_folder.hpp>
#include <cairn/adapt/disk/disk_options.hpp>
#include <cairn/core/bytes.hpp>
#include <cairn/core/bytes_of.hpp>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/core/detail/user_values.hpp>
#include <cairn/core/state_bytes.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/rules/workload.hpp>

namespace cairn::detail {

/// Writes a state and reads it, in a run of its own whose folder is removed.
template <class Value>
[[nodiscard]] tier_cost probe_folder(std::string const& path, Value const& x, std::optional<byte_size> on_disk,
                                     compression compress) {
  static_assert(written_state<Value>,
                "cairn: checkpoints on disk need states whose bytes can all be written and read back; give the state "
                "members write_state(sink) const and read_state(source), or declare an array type by cairn::flat; "
                "Eigen's types need <cairn/adapt/eigen.hpp>");
  using clock = std::chrono::steady_clock;
  constexpr int tries = 5;
  constexpr run_id id{{0x70726f6265000000u, 0}};  // one for all probes: what a killed one has left is used again
  std::uint64_t const file = bytes_of_file(written_bytes(x));
  double write[tries], read[tries];
  std::uint64_t room = 0;
  outer_folders const outer{open_folder(AT_FDCWD, path)};
  {
    run_folder folder{outer, path, id, 1};
    if (compress != nullptr) folder.compress(*compress);
    struct statvfs disk {};
    if (::fstatvfs(outer.runs.get(), &disk) != 0) refuse_file("the free space of a disk cannot be read", errno, path);
    room = std::uint64_t(disk.f_bavail) * disk.f_frsize / 10 * 9;
    struct ends {
      run_folder& folder;
      ~ends() { folder.remove(); }
    } const last{folder};
    folder.reserve(1, file - sizeof(file_head), [](slot_index) { return true; });
    Value again = copy_of(x);
    auto const seconds_of = [](auto const& done) {
      auto const before = clock::now();
      done();
      return std::chrono::duration<double>(clock::now() - before).count();
    };
    for (int k = 0; k < tries; ++k) {
      write[k] = seconds_of([&] {
        std::uint64_t written = 0;
        int const error = folder.write_slot(0, 0, hash_of(x), 0, [&](auto& sink) { write_state(x, sink); }, written);
        if (error != 0) refuse_file("a state cannot be written", error, folder.path());
      });
      read[k] = seconds_of([&] {
        if (!folder.read_checkpoint(0, 0, again, [](auto&) {}))
          refuse_file("a state cannot be read back as it was written", EIO, folder.path());
      });
    }
  }
  auto const median = [](double(&of)[tries]) {
    std::sort(of, of + tries);
    return of[tries / 2];
  };
  if (on_disk) room = on_disk->count();
  std::uint64_t state = file;
  if constexpr (sized_state<Value>) state = bytes_of(x);  // by which planners count states
  return {median(write), median(read), wide(room / file) * state};
}

}  // namespace cairn::detail
