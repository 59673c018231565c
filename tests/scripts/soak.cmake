# SPDX-License-Identifier: Apache-2.0
# What is checked before a release: every header alone, misuses by other compilers, what the scripts themselves find,
# measurements on stand-ins.

if(compiler_of_gcc)
  foreach(name IN LISTS alone_headers)
    cairn_check("header.${name}" "${compiler_of_gcc}" -std=c++20 -fsyntax-only ${warnings} ${flags_of_${name}} "${alone_of_${name}}")
  endforeach()
endif()
if(compiler_of_clang)
  cairn_check_script(older_language.clang older_language.py "${compiler_of_clang}" "${include}" ${entrances})
endif()
# Every kind of function that users hand over, with every kind of mistake: 6 minutes of user CPU.
if(compiler_of_gcc)
  cairn_check_script(user_functions.all user_functions.py gcc "${CAIRN_GXX}" -- "-I${include}")
  if(TEST user_functions.all)
    set_tests_properties(user_functions.all PROPERTIES TIMEOUT 1500)
  endif()
endif()
cairn_check_misuses(gcc plain)  # with all bodies; ./run test has asked g++ without
cairn_check_misuses(clang "plain;eigen")
cairn_check_misuses(nvcc "plain;eigen" --refused)  # only as they are, because it takes 3 s for each that is compiled alone

# What a check must find, it finds where it is planted.
cairn_check_script(headers.behind_c.finds_planted_names c_macros.py "${compiler_of_gcc}" --self)
cairn_check_script(layering.finds_planted_faults layering.py --self)
cairn_check_script(compile_fail.tells_misuses_apart misuses.py --self gcc "${compiler_of_gcc}")
cairn_check_script(docs.every_public_name.finds_planted_faults public_names.py "${CAIRN_DOXYGEN}" "${PROJECT_SOURCE_DIR}" --self)
cairn_check_script(docs.pages.finds_planted_faults pages.py --self)
cairn_check_script(versions.finds_planted_faults versions.py --self)
cairn_check_script(spdx.finds_planted_faults spdx.py --self)
cairn_check_script(run.skipped skipped.py --self)
cairn_check_script(run.portability ../portability/portability.py --self)
cairn_check_script(versus.report.finds_planted_faults versus.py "${PROJECT_SOURCE_DIR}" --self)
cairn_check_script(docs.site.finds_planted_faults site.py "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_BINARY_DIR}/site" --self)
if(Python3_EXECUTABLE)
  set_tests_properties(docs.site PROPERTIES FIXTURES_SETUP site)
  set_tests_properties(docs.site.finds_planted_faults PROPERTIES FIXTURES_REQUIRED site)
endif()

# What replay checks and traces cost.
if(compiler_of_gcc AND TARGET cairn::eigen)
  get_target_property(eigen Eigen3::Eigen INTERFACE_INCLUDE_DIRECTORIES)
  list(GET eigen 0 eigen)
  cairn_check_script(replay_check.cost ../../benchmarks/instructions.py --compiler "${CAIRN_GXX}" --eigen "${eigen}" --most-replay 5)
else()
  cairn_left_out(replay_check.cost layout "no g++ or no Eigen (Debian: g++, libeigen3-dev)")
endif()
if(compiler_of_gcc)
  cairn_check_script(trace.no_trace_cost no_cost.py "${CAIRN_GXX}" "${PROJECT_SOURCE_DIR}" trace)
endif()

# Faults in the hand-off between two threads, by ThreadSanitizer: 6 minutes of user CPU.
cairn_check_script(adapt_threads.finds_planted_faults ahead_mutants.py "${CAIRN_GXX}" "${PROJECT_SOURCE_DIR}")
if(TEST adapt_threads.finds_planted_faults)
  set_tests_properties(adapt_threads.finds_planted_faults PROPERTIES TIMEOUT 1500)
endif()

# What the Perfetto UI makes of a trace.
cairn_add_program(cairn_sample_trace "${PROJECT_SOURCE_DIR}/tests/trace/sample_trace.cpp")
cairn_check_script(trace.perfetto perfetto.py $<TARGET_FILE:cairn_sample_trace>)

# The measurements of `./run gpu`: dry, and, where there is nvcc, what of them fits a test, which is skipped without a device.
cairn_add_program(cairn_gpu_dry_plan "${PROJECT_SOURCE_DIR}/benchmarks/gpu/dry_plan.cpp")
target_include_directories(cairn_gpu_dry_plan PRIVATE "${PROJECT_SOURCE_DIR}/examples")
cairn_check_script(gpu.dry_run gpu_dry_run.py $<TARGET_FILE:cairn_gpu_dry_plan> "${PROJECT_SOURCE_DIR}")
cairn_add_program(cairn_gpu_plan "${PROJECT_SOURCE_DIR}/benchmarks/gpu/gpu_plan.cu")
if(TARGET cairn_gpu_plan)
  target_include_directories(cairn_gpu_plan PRIVATE "${PROJECT_SOURCE_DIR}/examples")
  cairn_check(gpu.check $<TARGET_FILE:cairn_gpu_plan> check)
else()
  cairn_left_out(gpu.check layout "${no_nvcc}")
endif()

# `./run versus` with what is there, on a loop so small that it takes a second, and what it writes for people. Python's
# tools take longer to start than that.
cairn_find_petsc()
foreach(source IN ITEMS peers/fisher ad/adolc peers/petsc)
  if(CAIRN_SANITIZE)  # they count malloc, which sanitizers have their own of
    break()
  endif()
  string(REPLACE "/" "_" name "${source}_peer_test")
  cairn_add_program(${name} "${PROJECT_SOURCE_DIR}/benchmarks/${source}_peer.cpp")
  if(TARGET ${name})
    target_compile_definitions(${name} PRIVATE "CAIRN_BENCHMARK_FLAGS=\"flags of the tests\"")
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/versus")
  else()
    cmake_path(GET source FILENAME short)
    cairn_left_out(versus.${short} layout "${${name}_lacks}")
  endif()
endforeach()
if(NOT CAIRN_SANITIZE)
  cairn_check_script(versus.smoke versus.py "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_BINARY_DIR}/versus")
endif()
cairn_check_script(versus.report versus.py "${PROJECT_SOURCE_DIR}")

