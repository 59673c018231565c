#pragma once
/// \file linkage.hpp  How functions are declared whose bodies stand in an impl/*.ipp.

/// \def CAIRN_DECL
/// Stands in front of each of them, where it is declared and at its body: `inline` where headers include the bodies,
/// nothing with CAIRN_SEPARATE_COMPILATION, where one file of the program compiles them by <cairn/impl/src.hpp>.
#ifdef CAIRN_SEPARATE_COMPILATION
#define CAIRN_DECL
#else
#define CAIRN_DECL inline
#endif
