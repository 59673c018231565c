# SPDX-License-Identifier: Apache-2.0
# cairn::c, the functions of cairn/c/cairn_loop.h for programs in C, and cairn::fortran, its module, where the project has
# enabled Fortran. Built in the project that asks for them, which has enabled C++, and with files on disk where it has asked
# for the component disk before. Reads CAIRN_IMPL, the folder beside that of the sources.
if(NOT TARGET cairn_c)
  add_library(cairn_c STATIC EXCLUDE_FROM_ALL "${CAIRN_IMPL}/../c/cairn_loop.cpp")
  add_library(cairn::c ALIAS cairn_c)
  target_include_directories(cairn_c PUBLIC "${CAIRN_IMPL}/../..")
  target_link_libraries(cairn_c PRIVATE cairn::cairn)
  if(TARGET cairn::disk)
    target_link_libraries(cairn_c PRIVATE cairn::disk)
    target_compile_definitions(cairn_c PRIVATE CAIRN_LOOP_DISK)
  endif()
endif()
get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)  # a compiler may be known from an earlier look, and not enabled
if("Fortran" IN_LIST languages AND NOT TARGET cairn_fortran)
  add_library(cairn_fortran STATIC EXCLUDE_FROM_ALL "${CAIRN_IMPL}/../c/cairn_loop.f90")
  add_library(cairn::fortran ALIAS cairn_fortran)
  set_target_properties(cairn_fortran PROPERTIES Fortran_MODULE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/cairn_fortran")
  target_include_directories(cairn_fortran PUBLIC "${CMAKE_CURRENT_BINARY_DIR}/cairn_fortran")
  target_link_libraries(cairn_fortran PUBLIC cairn_c)
endif()
