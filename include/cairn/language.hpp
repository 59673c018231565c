#pragma once
/// \file language.hpp  Refuses older languages than C++20, in a sentence, before anything else of cairn is read. The
/// umbrellas include it first.
#if (defined(_MSVC_LANG) ? _MSVC_LANG : __cplusplus) <= 201703L
#error \
    "cairn: C++20 is needed; compile with -std=c++20 (MSVC: /std:c++20), in CMake target_compile_features(app PRIVATE cxx_std_20)"
#endif
