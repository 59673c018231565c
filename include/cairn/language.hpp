// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file language.hpp  Refuses languages older than C++20 with one sentence, before any other header of cairn is read.
/// The umbrella headers include this file first; every other header gets it through the headers that it includes.
#if (defined(_MSVC_LANG) ? _MSVC_LANG : __cplusplus) <= 201703L
#error \
    "cairn: C++20 is needed; compile with -std=c++20 (MSVC: /std:c++20), in CMake target_compile_features(app PRIVATE cxx_std_20)"
// Compilers go on after #error. They stop at the include below, which names no file, before thousands of errors.
#include <C++20 is needed>
#endif
