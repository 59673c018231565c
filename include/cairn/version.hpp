// SPDX-License-Identifier: Apache-2.0
#pragma once

#define CAIRN_VERSION_MAJOR 0
#define CAIRN_VERSION_MINOR 1
#define CAIRN_VERSION_PATCH 0
#define CAIRN_VERSION_STRING "0.1.0"

/// \def CAIRN_HAS_INT128
/// 1 where the compiler has integers of 128 bits, as g++ and clang++ have for processors of 64 bits, else 0: `wide` is
/// then a class of two words. -DCAIRN_HAS_INT128=0 asks for the class anywhere; all files of a program say the same.
#ifndef CAIRN_HAS_INT128
#ifdef __SIZEOF_INT128__
#define CAIRN_HAS_INT128 1
#else
#define CAIRN_HAS_INT128 0
#endif
#endif
