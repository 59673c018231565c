// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file disk.hpp  Checkpoints on disk. Needs a POSIX system and xxHash.
#include <cairn/language.hpp>  // first: an older language gets its message

#include <cairn/adapt/disk/disk.hpp>
