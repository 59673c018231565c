// SPDX-License-Identifier: Apache-2.0
#if __has_include(<catch2/catch_session.hpp>)  // Catch2 3
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

int main(int argc, char* argv[]) {
  Catch::Session session;
  session.configData().filenamesAsTags = true;  // CTest asks for the cases of a file by [#file]
  return session.run(argc, argv);
}
