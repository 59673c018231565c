// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file zlib.hpp  Compresses traces by zlib: Perfetto opens `.gz` as it is.
#include <cairn/language.hpp>  // first: an older language gets its message

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <zlib.h>
#include <cairn/core/error.hpp>

namespace cairn {
namespace detail {

struct closes_file {
  void operator()(std::FILE* file) const noexcept { (void)std::fclose(file); }
  void operator()(gzFile_s* file) const noexcept { (void)gzclose(file); }
};
inline constexpr unsigned gzip_block = 65'536;

[[noreturn]] inline void refuse_packing(char const* who, char const* problem, int number, std::string const& file) {
  std::string const said = number != 0 ? std::string{": "} + std::strerror(number) : "";  // 0: of the content
  throw file_error{who, (problem + said).c_str(), {{"error", number}}, file.c_str()};
}
/// Converts file `from` to file `into`, and removes `from`. read(memory, size) returns the number of bytes, 0 at the
/// end and a negative number for an error; write(memory, size) and close() return whether they succeeded. After a
/// failure, `from` is left, and `into` is removed.
template <class Read, class Write, class Close>
void copy_packed(char const* who, std::string const& from, std::string const& into, Read read, Write write,
                 Close close) {
  std::array<char, gzip_block> block;
  int got = 0;
  bool written = true;
  while (written && (got = read(block.data(), gzip_block)) > 0) written = write(block.data(), unsigned(got));
  int const number = errno;
  written = close() && written;
  if (got >= 0 && written) {
    std::filesystem::remove(from);
    return;
  }
  std::error_code none;
  std::filesystem::remove(into, none);
  if (got < 0) refuse_packing(who, "a file is damaged, or cannot be read", number, from);
  refuse_packing(who, "a file cannot be written to its end", number, into);
}

}  // namespace detail

/// Compresses a trace that is finalized: FILE becomes FILE.gz.   \returns the name of the new file
/// Cost: some 100 MB/s; FILE.gz has about a tenth of the bytes.   \throws file_error   if a file cannot be read or
/// written; FILE stays
[[nodiscard]] inline std::string gzip_trace(std::string const& file) {
  std::string const packed = file + ".gz";
  std::unique_ptr<std::FILE, detail::closes_file> const from{std::fopen(file.c_str(), "rb")};
  if (!from)
    detail::refuse_packing("cairn::gzip_trace", "a file cannot be opened for reading", errno, file);
  gzFile const into = gzopen(packed.c_str(), "wb6");
  if (into == nullptr)
    detail::refuse_packing("cairn::gzip_trace", "a file cannot be opened for writing", errno, packed);
  detail::copy_packed(
      "cairn::gzip_trace", file, packed,
      [&](char* memory, unsigned size) {
        auto const got = std::fread(memory, 1, size, from.get());
        return got == 0 && std::ferror(from.get()) != 0 ? -1 : int(got);
      },
      [&](char const* memory, unsigned size) { return gzwrite(into, memory, size) == int(size); },
      [&] { return gzclose(into) == Z_OK; });
  return packed;
}

/// Undoes `gzip_trace`: NAME.gz becomes NAME.   \returns NAME   \throws file_error   as `gzip_trace`; for a file that
///   was cut or changed   \throws invalid_call   for a name without .gz
[[nodiscard]] inline std::string gunzip_trace(std::string const& packed) {
  if (packed.size() < 4 || packed.substr(packed.size() - 3) != ".gz")
    throw invalid_call{"cairn::gunzip_trace", "the name of a packed file does not end in .gz", {}, packed.c_str()};
  std::string const file = packed.substr(0, packed.size() - 3);
  gzFile const from = gzopen(packed.c_str(), "rb");
  if (from == nullptr)
    detail::refuse_packing("cairn::gunzip_trace", "a file cannot be opened for reading", errno, packed);
  std::unique_ptr<gzFile_s, detail::closes_file> const closing{from};
  std::FILE* const into = std::fopen(file.c_str(), "wb");
  if (into == nullptr)
    detail::refuse_packing("cairn::gunzip_trace", "a file cannot be opened for writing", errno, file);
  detail::copy_packed(
      "cairn::gunzip_trace", packed, file,
      [&](char* memory, unsigned size) {
        int const got = gzread(from, memory, size);
        int fault = Z_OK;
        (void)gzerror(from, &fault);
        return got < 0 || (fault != Z_OK && fault != Z_STREAM_END) || (got == 0 && gzdirect(from) == 1) ? -1 : got;
      },
      [&](char const* memory, unsigned size) { return std::fwrite(memory, 1, size, into) == size; },
      [&] { return std::fclose(into) == 0; });
  return file;
}

}  // namespace cairn
