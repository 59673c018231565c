// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file linkage.hpp  How functions with a body in an impl/*.ipp are declared.

/// \def CAIRN_DECL
/// Precedes each such function at its declaration and at its body. It is `inline` by default, where headers include the
/// bodies. With CAIRN_SEPARATE_COMPILATION it is empty, and one file of the program compiles the bodies by including
/// <cairn/impl/src.hpp>.
#ifdef CAIRN_SEPARATE_COMPILATION
#define CAIRN_DECL
#else
#define CAIRN_DECL inline
#endif
