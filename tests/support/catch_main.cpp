// SPDX-License-Identifier: Apache-2.0
// main() where there is only the one header of Catch2 2.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
