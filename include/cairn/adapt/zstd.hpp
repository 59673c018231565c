// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file zstd.hpp  Checkpoints on disk compressed by libzstd.
#include <cairn/language.hpp>  // first: an older language gets its message

#include <algorithm>
#include <cstddef>
#include <zstd.h>

#include <cairn/adapt/disk/detail/packing.hpp>
#include <cairn/adapt/disk/disk_options.hpp>

namespace cairn {
namespace detail {

// zstd.h shows these only behind a macro: contexts in memory of the caller's, and how much they need.
extern "C" {
std::size_t ZSTD_estimateCCtxSize(int level);
std::size_t ZSTD_estimateDCtxSize();
ZSTD_CCtx* ZSTD_initStaticCCtx(void* memory, std::size_t size);
ZSTD_DCtx* ZSTD_initStaticDCtx(void* memory, std::size_t size);
}

struct zstd_blocks {
  static constexpr int level = 1;  // a disk is faster than what higher ones save
  [[nodiscard]] static std::size_t memory() noexcept {
    return (std::max)(ZSTD_estimateCCtxSize(level), ZSTD_estimateDCtxSize());
  }
  [[nodiscard]] static std::size_t pack(void* memory, char* into, char const* from, std::size_t bytes) noexcept {
    auto* const context = ZSTD_initStaticCCtx(memory, ZSTD_estimateCCtxSize(level));
    if (context == nullptr || bytes < 2) return 0;
    std::size_t const size = ZSTD_compressCCtx(context, into, bytes - 1, from, bytes, level);
    return ZSTD_isError(size) != 0 ? 0 : size;
  }
  [[nodiscard]] static bool unpack(void* memory, char* into, std::size_t bytes, char const* from,
                                   std::size_t stored) noexcept {
    auto* const context = ZSTD_initStaticDCtx(memory, ZSTD_estimateDCtxSize());
    return context != nullptr && ZSTD_decompressDCtx(context, into, bytes, from, stored) == bytes;
  }
};
inline constexpr block_codec zstd_codec{zstd_blocks::memory, zstd_blocks::pack, zstd_blocks::unpack};
inline bool const zstd_is_here = (codec_1 = &zstd_codec, true);

}  // namespace detail

/// Compresses checkpoints without loss: `disk{"run.d", {.compress = cairn::zstd}}`. Blocks of 64 KiB, whose bytes are
/// ordered by their rank in numbers of 8 bytes where that is smaller, which serves those of 4, too; what does not
/// shrink stays as it is. A program that includes this header reads compressed files whatever it writes itself.
/// Memory: 0.7 MB, as `sweep_report::predicted_bytes` counts. Disk: the space that is taken stays that of whole states;
/// less is written and read.
inline constexpr compression zstd = &detail::zstd_codec;

}  // namespace cairn
