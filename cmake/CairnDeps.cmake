# Third parties: what is installed comes first, and what is missing is said.

# Eigen3::Eigen. GLOBAL, because cairn::eigen is linked outside of this directory too.
macro(cairn_find_eigen)
  if(CAIRN_WITH_EIGEN AND NOT TARGET Eigen3::Eigen)
    find_package(Eigen3 CONFIG QUIET GLOBAL)
    if(CAIRN_WITH_EIGEN STREQUAL "ON" AND NOT TARGET Eigen3::Eigen)
      message(FATAL_ERROR "cairn: CAIRN_WITH_EIGEN=ON, but Eigen 3 was not found (Debian: libeigen3-dev)")
    endif()
  endif()
endmacro()

# nlohmann_json::nlohmann_json. GLOBAL, because cairn::nlohmann_json is linked outside of this directory too.
macro(cairn_find_json)
  if(CAIRN_WITH_JSON AND NOT TARGET nlohmann_json::nlohmann_json)
    find_package(nlohmann_json 3.9 CONFIG QUIET GLOBAL)
    if(CAIRN_WITH_JSON STREQUAL "ON" AND NOT TARGET nlohmann_json::nlohmann_json)
      message(FATAL_ERROR "cairn: CAIRN_WITH_JSON=ON, but nlohmann-json was not found (Debian: nlohmann-json3-dev)")
    endif()
  endif()
endmacro()

# Threads::Threads, of CMake itself; looking for it writes to the cache, so that a project around this one does that itself where it wants
# cairn::threads. GLOBAL, because cairn::threads is linked outside of this directory too.
macro(cairn_find_threads)
  if(PROJECT_IS_TOP_LEVEL AND NOT TARGET Threads::Threads)
    find_package(Threads QUIET GLOBAL)
  endif()
endmacro()

# CAIRN_NVCC (empty without one) and, for *.cu in CMake targets, the target cairn_nvcc.
macro(cairn_find_cuda)
  set(CAIRN_NVCC "")
  if(CAIRN_WITH_CUDA STREQUAL "ON" OR (CAIRN_WITH_CUDA AND CAIRN_BUILD_TESTS))
    find_package(CUDAToolkit 12 QUIET GLOBAL)  # the first to speak C++20
    include(CheckLanguage)
    if(CUDAToolkit_NVCC_EXECUTABLE)
      set(CMAKE_CUDA_COMPILER "${CUDAToolkit_NVCC_EXECUTABLE}" CACHE FILEPATH "CUDA compiler")
      check_language(CUDA)
    endif()
    if(CUDAToolkit_NVCC_EXECUTABLE AND CMAKE_CUDA_COMPILER)
      set(CAIRN_NVCC "${CUDAToolkit_NVCC_EXECUTABLE}")
      message(STATUS "cairn: nvcc ${CUDAToolkit_VERSION} (${CAIRN_NVCC})")
      if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
        set(CMAKE_CUDA_ARCHITECTURES 80)
      endif()
      enable_language(CUDA)
      add_library(cairn_nvcc INTERFACE)
      target_compile_options(cairn_nvcc INTERFACE
        $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr;--extended-lambda>)
      # CMake 3.25 does not know that nvcc speaks C++20: CUDA_STANDARD 20 would stop it.
      if(DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
        target_compile_features(cairn_nvcc INTERFACE cuda_std_20)
      else()
        target_compile_options(cairn_nvcc INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20>)
      endif()
      target_link_libraries(cairn_nvcc INTERFACE CUDA::cudart)
    elseif(CAIRN_WITH_CUDA STREQUAL "ON")
      message(FATAL_ERROR "cairn: CAIRN_WITH_CUDA=ON, but there is no working nvcc 12 or later")
    else()
      message(STATUS "cairn: no nvcc 12 or later, tests of CUDA code are skipped")
    endif()
  endif()
endmacro()

# cairn_catch, a target that brings Catch2 (2.13 or later, 3.x too) and a main(), and catch_discover_tests().
macro(cairn_find_catch)
  find_package(Catch2 CONFIG QUIET)
  if(Catch2_FOUND AND Catch2_VERSION VERSION_LESS 2.13)
    message(STATUS "cairn: Catch2 ${Catch2_VERSION} is too old, 2.13 or later is needed")
    set(Catch2_FOUND FALSE)
  endif()
  if(Catch2_FOUND)
    message(STATUS "cairn: Catch2 ${Catch2_VERSION} (${Catch2_DIR})")
    list(APPEND CMAKE_MODULE_PATH "${Catch2_DIR}")
  elseif(CAIRN_FETCH)
    message(STATUS "cairn: Catch2 is not installed and is downloaded (CAIRN_FETCH=ON)")
    include(FetchContent)
    FetchContent_Declare(catch2 SYSTEM
      URL https://github.com/catchorg/Catch2/archive/refs/tags/v3.7.1.tar.gz
      URL_HASH SHA256=c991b247a1a0d7bb9c39aa35faf0fe9e19764213f28ffba3109388e62ee0269c
      DOWNLOAD_EXTRACT_TIMESTAMP TRUE)
    FetchContent_MakeAvailable(catch2)
    list(APPEND CMAKE_MODULE_PATH "${catch2_SOURCE_DIR}/extras")
  endif()
  if(TARGET Catch2::Catch2WithMain)
    add_library(cairn_catch INTERFACE)
    target_link_libraries(cairn_catch INTERFACE Catch2::Catch2WithMain)
  elseif(TARGET Catch2::Catch2)
    # Catch2 2 compiles its main() with the tests: once here, at -O0, because -O2 takes it 19 s.
    add_library(cairn_catch OBJECT support/catch_main.cpp)
    target_link_libraries(cairn_catch PUBLIC Catch2::Catch2 PRIVATE cairn_sanitize)
    target_compile_features(cairn_catch PUBLIC cxx_std_20)
    target_compile_options(cairn_catch PRIVATE $<$<CXX_COMPILER_ID:GNU,Clang,AppleClang>:-O0;-g0>)
    set(CAIRN_CATCH_ARGS -w NoTests)  # or a name that matches no test would pass
  endif()
  if(TARGET cairn_catch)
    include(Catch)
  endif()
endmacro()
