# What cairn's own programs are built with; none of it is exported.
add_library(cairn_sanitize INTERFACE)
if(CAIRN_SANITIZE)
  target_compile_options(cairn_sanitize INTERFACE
    -fsanitize=${CAIRN_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)  # instrumented code makes g++ doubt what it does not doubt otherwise
  target_link_options(cairn_sanitize INTERFACE -fsanitize=${CAIRN_SANITIZE})
endif()

add_library(cairn_program INTERFACE)
target_link_libraries(cairn_program INTERFACE cairn::cairn cairn_sanitize)
target_compile_definitions(cairn_program INTERFACE CAIRN_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
set(warnings -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow)
target_compile_options(cairn_program INTERFACE
  "$<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>:${warnings};$<$<BOOL:${CAIRN_WARNINGS_AS_ERRORS}>:-Werror>>"
  "$<$<COMPILE_LANGUAGE:CUDA>:$<$<BOOL:${CAIRN_WARNINGS_AS_ERRORS}>:-Werror=all-warnings>>")

# cairn_name_of(<result> <source>): the name of a program made from one source, its path below the current folder.
function(cairn_name_of result source)
  cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" OUTPUT_VARIABLE name)
  string(REGEX REPLACE "\\.cu$" "_cu" name "${name}")
  string(REGEX REPLACE "\\.cpp$" "" name "${name}")
  string(REPLACE "/" "_" name "${name}")
  set(${result} ${name} PARENT_SCOPE)
endfunction()

# cairn_add_program(<name> <source>): an executable with what its source's name says it needs: *_eigen.cpp,
# *_eigen_test.cpp, *_eigen_bench.cpp and adapt/eigen* need Eigen, *_json_test.cpp nlohmann-json, adapt/threads* threads, adapt/cuda/cuda_* and what runs on a real
# device the CUDA runtime, adapt/nvtx* NVTX, *.cu nvcc. Without it there is no such target.
# Further arguments are targets to link.
function(cairn_add_program name source)
  set(needs ${ARGN})
  if(source MATCHES "_eigen(_test|_bench)?\\.(cpp|cu)$|/adapt/eigen")
    list(APPEND needs cairn::eigen)
  endif()
  if(source MATCHES "_json_test\\.cpp$")
    list(APPEND needs cairn::nlohmann_json)
  endif()
  if(source MATCHES "/adapt/cuda/(cuda_|no_driver|lost_context|graph_test\\.cu)|/examples/cuda_[^/]*\\.cu$")
    list(APPEND needs cairn::cuda)
  endif()
  if(source MATCHES "/adapt/nvtx")
    list(APPEND needs cairn::nvtx)
  endif()
  if(source MATCHES "/adapt/thrust/cuda_")
    list(APPEND needs cairn::thrust cairn_thrust_CUDA)
  endif()
  if(source MATCHES "/adapt/(threads|cuda/pinned_slots)")
    list(APPEND needs cairn::threads)
  endif()
  if(source MATCHES "\\.cu$")
    list(APPEND needs cairn_nvcc)
  endif()
  foreach(need IN LISTS needs)
    if(NOT TARGET ${need})
      message(STATUS "cairn: no ${need}, ${name} is left out")
      return()
    endif()
  endforeach()
  add_executable(${name} "${source}")
  target_link_libraries(${name} PRIVATE cairn_program ${needs})
endfunction()
