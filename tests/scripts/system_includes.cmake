# SPDX-License-Identifier: Apache-2.0
# cmake -D COMPILER=<g++ or clang++> -P system_includes.cmake: a folder that the compiler searches anyway is not named
# to it again, and what stays named does no harm to the standard library's headers.
cmake_minimum_required(VERSION 3.25)
include("${CMAKE_CURRENT_LIST_DIR}/../../cmake/CairnSystemIncludes.cmake")

function(expect expected)
  cairn_system_includes(flags ${ARGN})
  if(NOT flags STREQUAL expected)
    message(FATAL_ERROR "the flags of '${ARGN}' are '${flags}', not '${expected}'")
  endif()
endfunction()
set(CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES /usr/include/c++/12 /usr/include)
set(here "${CMAKE_CURRENT_LIST_DIR}")
expect("")
expect("" /usr/include)
expect("" /usr/include/ /usr/include/../include)
expect("-isystem;${here}" "${here}")
expect("-isystem;${here};-isystem;/usr/include/eigen3" "${here}" /usr/include /usr/include/eigen3)

cairn_system_includes(flags /usr/include)
file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/system_includes.cpp" "#include <cstdlib>\n#include <cmath>\n")
execute_process(COMMAND "${COMPILER}" -std=c++20 -fsyntax-only ${flags} "${CMAKE_CURRENT_BINARY_DIR}/system_includes.cpp" COMMAND_ERROR_IS_FATAL ANY)
