# SPDX-License-Identifier: Apache-2.0
# cairn_system_includes(<result> <folder>...): the flags that name folders of third parties' headers to a compiler which
# a check calls itself. A folder that the compiler searches anyway is left out: named again, it would come before the
# headers of the standard library that wrap its own, and <cstdlib> would not find its stdlib.h. (CMake does the same for
# what its targets name.)
function(cairn_system_includes result)
  set(searched "")
  foreach(folder IN LISTS CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
    file(REAL_PATH "${folder}" folder)
    list(APPEND searched "${folder}")
  endforeach()
  set(flags "")
  foreach(folder IN LISTS ARGN)
    file(REAL_PATH "${folder}" real)
    if(NOT real IN_LIST searched)
      list(APPEND flags -isystem "${folder}")
    endif()
  endforeach()
  set(${result} "${flags}" PARENT_SCOPE)
endfunction()
