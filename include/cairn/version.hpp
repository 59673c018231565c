// SPDX-License-Identifier: Apache-2.0
#pragma once

#define CAIRN_VERSION_MAJOR 0
#define CAIRN_VERSION_MINOR 1
#define CAIRN_VERSION_PATCH 0
#define CAIRN_VERSION_STRING "0.1.0"

/// \def CAIRN_HAS_INT128
/// 1 if the compiler has 128-bit integers, as g++ and clang++ have on 64-bit processors; otherwise 0, and `wide` is a
/// class of two words. -DCAIRN_HAS_INT128=0 selects the class on any processor; all files of a program must agree.
#ifndef CAIRN_HAS_INT128
#ifdef __SIZEOF_INT128__
#define CAIRN_HAS_INT128 1
#else
#define CAIRN_HAS_INT128 0
#endif
#endif
