// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file code_objects.hpp  The program and the shared libraries whose code a run calls: which build of each it is, and
/// where in it a function stands.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <string>
#include <utility>
#include <vector>
#include <cairn/adapt/disk/detail/descriptor.hpp>
#include <cairn/adapt/disk/detail/file_head.hpp>

namespace cairn::detail {

/// A place in code that is the same in each process of the same build; object 0 if it is not known.
struct code_place {
  std::uint64_t object = 0, offset = 0;
};

}  // namespace cairn::detail
#if __has_include(<link.h>) && defined(__ELF__)
#include <link.h>
namespace cairn::detail {

/// The program or a shared library, as it lies in memory.
struct code_object {
  std::string path, name;           ///< empty for the program; the name by which others need it
  std::vector<std::string> needed;  ///< names of those whose code it calls
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> parts;  ///< of memory: from, to
  std::uintptr_t base = 0;
  std::uint64_t build = 0;  ///< its build id, or a hash of it; 0 if it cannot be read
  bool reached = false;

  [[nodiscard]] bool holds(std::uintptr_t at) const noexcept {
    for (auto const& [from, to] : parts)
      if (at >= from && at < to) return true;
    return false;
  }
};

/// The linker's own hash of a build, as it stands in notes; 0 if there is none.
[[nodiscard]] inline std::uint64_t build_in_notes(char const* at, std::size_t size) noexcept {
  constexpr std::size_t head = 12;
  while (size >= head) {
    std::uint32_t of[3];  // bytes of the name, bytes of the content, kind
    std::memcpy(of, at, sizeof of);
    std::size_t const name = (std::size_t{of[0]} + 3) / 4 * 4, content = (std::size_t{of[1]} + 3) / 4 * 4;
    if (name > size - head || content > size - head - name) return 0;
    if (of[2] == 3 && of[0] == 4 && std::memcmp(at + head, "GNU", 4) == 0) return XXH64(at + head + name, of[1], 0) | 1;
    at += head + name + content, size -= head + name + content;
  }
  return 0;
}
/// A hash of what cannot be written in memory, and of the file, which also has what may: of an object without a build id.
[[nodiscard]] inline std::uint64_t hash_of_object(dl_phdr_info const& of) {
  running_hash hash;
  hash.begin(0);
  for (int k = 0; k < of.dlpi_phnum; ++k)
    if (auto const& part = of.dlpi_phdr[k]; part.p_type == PT_LOAD && (part.p_flags & (PF_R | PF_W)) == PF_R)
      hash.add(reinterpret_cast<void const*>(of.dlpi_addr + part.p_vaddr), part.p_memsz);
  char const* const path = of.dlpi_name != nullptr && of.dlpi_name[0] != '\0' ? of.dlpi_name : "/proc/self/exe";
  descriptor const file{::open(path, O_RDONLY | O_CLOEXEC)};
  if (!file) return 0;
  std::array<char, 16'384> part;
  for (std::uint64_t at = 0;;) {
    ssize_t const got = ::pread(file.get(), part.data(), part.size(), off_t(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got < 0 ? 0 : hash.value() | 1;
    hash.add(part.data(), std::size_t(got));
    at += std::uint64_t(got);
  }
}
/// The same, read once in a process.
[[nodiscard]] inline std::uint64_t known_hash_of_object(dl_phdr_info const& of) {
  static std::mutex alone;
  static std::vector<std::pair<dl_phdr_info, std::uint64_t>> known;
  std::lock_guard const held{alone};
  for (auto const& [one, hash] : known)
    if (one.dlpi_addr == of.dlpi_addr && one.dlpi_phdr == of.dlpi_phdr && one.dlpi_subs == of.dlpi_subs) return hash;
  known.emplace_back(of, hash_of_object(of));
  return known.back().second;
}
[[nodiscard]] inline code_object read_object(dl_phdr_info const& of) {
  code_object object;
  object.path = of.dlpi_name != nullptr ? of.dlpi_name : "";
  object.name = object.path.substr(object.path.rfind('/') + 1);
  object.base = of.dlpi_addr;
  for (int k = 0; k < of.dlpi_phnum; ++k) {
    auto const& part = of.dlpi_phdr[k];
    std::uintptr_t const from = of.dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD) object.parts.emplace_back(from, from + part.p_memsz);
    if (part.p_type == PT_NOTE && object.build == 0)
      object.build = build_in_notes(reinterpret_cast<char const*>(from), part.p_memsz);
    if (part.p_type != PT_DYNAMIC) continue;
    auto const* const begin = reinterpret_cast<ElfW(Dyn) const*>(from);
    std::uintptr_t texts = 0;
    for (auto const* at = begin; at->d_tag != DT_NULL; ++at)
      if (at->d_tag == DT_STRTAB) texts = at->d_un.d_ptr;
    if (texts == 0) continue;
    if (texts < of.dlpi_addr) texts += of.dlpi_addr;  // some systems leave it as it stands in the file
    auto const text = [texts](auto const* at) { return reinterpret_cast<char const*>(texts + at->d_un.d_val); };
    for (auto const* at = begin; at->d_tag != DT_NULL; ++at) {
      if (at->d_tag == DT_NEEDED) object.needed.emplace_back(text(at));
      if (at->d_tag == DT_SONAME) object.name = text(at);
    }
  }
  return object;
}

/// The objects that this process has loaded, the program first.
class loaded_code {
 public:
  loaded_code() {
    auto const each = [](dl_phdr_info* one, std::size_t, void* into) {
      auto& to = *static_cast<loaded_code*>(into);
      try {
        to.all_.push_back(read_object(*one));
        if (to.all_.back().build == 0 && to.all_.back().path != "linux-vdso.so.1")
          to.all_.back().build = known_hash_of_object(*one);
      } catch (...) {  // the system's function must not be left by one
        to.read_ = false;
        return 1;
      }
      return 0;
    };
    (void)::dl_iterate_phdr(each, this);
    if (!all_.empty()) all_.front().reached = true;
  }
  /// Where an address of code or of constants stands. The build of its object counts from now on.
  [[nodiscard]] code_place place_of(void const* address) noexcept {
    auto const at = reinterpret_cast<std::uintptr_t>(address);
    for (auto& one : all_)
      if (one.holds(at)) return one.reached = true, code_place{one.build, at - one.base};
    return read_ = false, code_place{};  // made while the program runs
  }
  /// A hash of the builds of all objects that count, and of those that they need; 0 if one of them is not known.
  [[nodiscard]] std::uint64_t build() {
    for (bool more = true; std::exchange(more, false);)
      for (auto const& one : all_)
        for (auto const& name : one.needed)
          for (auto& other : all_)
            if (one.reached && !other.reached && other.name == name) other.reached = more = true;
    std::uint64_t sum = 0;
    for (auto const& one : all_) {
      if (one.reached && one.build == 0) return 0;
      if (one.reached) sum += XXH64(&one.build, sizeof one.build, 0);  // in whatever order they were loaded
    }
    return read_ && !all_.empty() ? sum | 1 : 0;
  }

 private:
  std::vector<code_object> all_;
  bool read_ = true;
};
}  // namespace cairn::detail
#else
namespace cairn::detail {
/// The system does not say what code there is.
struct loaded_code {
  [[nodiscard]] code_place place_of(void const*) const noexcept { return {}; }
  [[nodiscard]] std::uint64_t build() const noexcept { return 0; }
};
}  // namespace cairn::detail
#endif
