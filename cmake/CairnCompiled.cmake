# SPDX-License-Identifier: Apache-2.0
# cairn::compiled: the planners and texts, compiled once, and the word to all that links it that headers only declare
# them. Always built in the project that asks for it, installed or not, so that it has that project's compiler, standard
# library and flags; nothing is built where nobody links it. Reads CAIRN_COMPILED_SOURCE.
if(NOT TARGET cairn_compiled)
  add_library(cairn_compiled STATIC EXCLUDE_FROM_ALL "${CAIRN_COMPILED_SOURCE}")
  add_library(cairn::compiled ALIAS cairn_compiled)
  target_compile_definitions(cairn_compiled PUBLIC CAIRN_SEPARATE_COMPILATION)
  target_link_libraries(cairn_compiled PUBLIC cairn::cairn)
endif()
