// SPDX-License-Identifier: Apache-2.0
// The one source file of cairn::compiled.
#include <cairn/impl/src.hpp>
