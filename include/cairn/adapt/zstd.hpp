// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file zstd.hpp  Checkpoints on disk compressed by libzstd.
#include <cairn/language.hpp>  // first: an older language gets its message

#include <cairn/adapt/disk/disk_options.hpp>
#include <cairn/adapt/zstd/detail/zstd_blocks.hpp>

namespace cairn {

/// Compresses checkpoints without loss: `disk{"run.d", {.compress = cairn::zstd}}`. Blocks of 64 KiB, whose bytes are
/// ordered by their rank in numbers of 8 bytes where that is smaller, which serves those of 4, too; what does not
/// shrink stays as it is. A program that includes this header reads compressed files whatever it writes itself.
/// Memory: 0.7 MB, as `sweep_report::predicted_bytes` counts. Disk: the space that is taken stays that of whole states;
/// less is written and read.
inline constexpr compression zstd = &detail::zstd_codec;

}  // namespace cairn
