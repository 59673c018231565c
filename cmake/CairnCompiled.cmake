# SPDX-License-Identifier: Apache-2.0
# cairn::compiled: the planners, checks and texts, compiled once, and the word to all that links it that headers only declare
# them. Always built in the project that asks for it, installed or not, so that it has that project's compiler, standard
# library and flags; nothing is built where nobody links it. Reads CAIRN_IMPL, the folder of src.hpp.
if(NOT TARGET cairn_compiled)
  # The bodies that src.hpp lists, in files that compile side by side, each in a few seconds.
  file(STRINGS "${CAIRN_IMPL}/src.hpp" bodies REGEX "^#include ")
  set(sources "")
  foreach(part IN ITEMS loop chain graph text)
    set(of_loop "cairn/(schedule|plan/loop|run)/")
    set(of_chain "cairn/plan/chain/")
    set(of_graph "cairn/plan/(graph|block)/")
    set(mine ${bodies})
    if(part STREQUAL "text")
      list(FILTER mine EXCLUDE REGEX "${of_loop}|${of_chain}|${of_graph}")
    else()
      list(FILTER mine INCLUDE REGEX "${of_${part}}")
    endif()
    list(JOIN mine "\n" mine)
    set(source "${CMAKE_CURRENT_BINARY_DIR}/cairn_compiled_${part}.cpp")
    file(CONFIGURE OUTPUT "${source}" CONTENT "@mine@\n" @ONLY)
    list(APPEND sources "${source}")
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${CAIRN_IMPL}/src.hpp")
  add_library(cairn_compiled STATIC EXCLUDE_FROM_ALL ${sources})
  add_library(cairn::compiled ALIAS cairn_compiled)
  target_compile_definitions(cairn_compiled PUBLIC CAIRN_SEPARATE_COMPILATION)
  target_link_libraries(cairn_compiled PUBLIC cairn::cairn)
endif()
