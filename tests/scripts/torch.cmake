# SPDX-License-Identifier: Apache-2.0
# torch.h takes g++ ten seconds in each file: this is the one that the build has compiled, where there is one.
if(TARGET cairn::torch AND CAIRN_GXX)
  set(use_of_torch ${flags} ${torch_flags})
  set(compiler_of_torch "${CAIRN_GXX}")
  if(TARGET cairn_torch_headers)
    set(compiler_of_torch "${CMAKE_CXX_COMPILER}")
    string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
    separate_arguments(flags_of_build UNIX_COMMAND "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}}")
    if(CAIRN_COMPILED)
      list(APPEND flags_of_build -DCAIRN_SEPARATE_COMPILATION)
    endif()
    list(PREPEND use_of_torch -std=gnu++20 -Winvalid-pch ${flags_of_build} "-DCAIRN_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\"" -include "${PROJECT_BINARY_DIR}/CMakeFiles/cairn_torch_headers.dir/cmake_pch.hxx")
  endif()
endif()

# The headers of LibTorch's adapter together, in both orders. Not with clang 14, which stops in torch.h itself.
if(TARGET cairn::torch AND CAIRN_GXX)
  set(forward "")
  set(backward "")
  foreach(header IN LISTS adapter_headers)
    if(header MATCHES "/adapt/torch[./]")
      cmake_path(RELATIVE_PATH header BASE_DIRECTORY "${include}")
      string(APPEND forward "#include <${header}>\n")
      string(PREPEND backward "#include <${header}>\n")
    endif()
  endforeach()
  foreach(order IN ITEMS forward backward)
    set(all "${CMAKE_CURRENT_BINARY_DIR}/alone/adapt_torch_${order}.cpp")
    file(CONFIGURE OUTPUT "${all}" CONTENT "${${order}}" @ONLY)
    set(check headers.cairn/adapt/torch.${order})
    if(order STREQUAL "forward" AND NOT CAIRN_TORCH_WHEEL)  # the soak's
      continue()
    elseif(order STREQUAL "backward")  # forward reads torch.h's text, so that it finds an #include that is missing
      cairn_check(${check} "${compiler_of_torch}" -std=c++20 -fsyntax-only ${warnings} ${use_of_torch} "${all}")
    else()
      cairn_check(${check} "${CAIRN_GXX}" -std=c++20 -fsyntax-only ${warnings} ${flags} ${torch_flags} "${all}")
    endif()
  endforeach()
  set(together ${adapter_headers})
  list(FILTER together INCLUDE REGEX "/adapt/torch[./]")
  cairn_check_script(headers.behind_c.torch c_macros.py "${compiler_of_torch}" ${together} -- ${use_of_torch})
endif()

# Misuse of LibTorch's adapter is refused, too.
if(TARGET cairn::torch AND CAIRN_GXX)
  cairn_find_misuses(misuses compile_fail/torch)
  cairn_check_script(compile_fail.torch misuses.py gcc "${compiler_of_torch}" ${misuses} -- ${use_of_torch})
  set_tests_properties(compile_fail.torch PROPERTIES TIMEOUT 3000)
endif()

if(TARGET cairn::torch)
  set(torch_links "")
  if(CAIRN_COMPILED)
    set(torch_links -Wl,--whole-archive $<TARGET_FILE:cairn_compiled> -Wl,--no-whole-archive)  # before what needs it
  endif()
  list(APPEND torch_links -Wl,--no-as-needed "${CAIRN_TORCH_CPU}" "${CAIRN_TORCH_C10}")  # they come before what needs them
  foreach(folder IN LISTS CAIRN_TORCH_FOLDERS)
    list(APPEND torch_links "-Wl,-rpath,${folder}" "-Wl,-rpath-link,${folder}")
  endforeach()
  set(use ${flags} ${torch_flags})
  if(TARGET cairn_torch_headers)
    set(use ${use_of_torch})
  endif()
  cairn_check_script(snippets.torch.run snippets.py
    "${CMAKE_CXX_COMPILER}" "${PROJECT_SOURCE_DIR}/docs/torch.md" --together ${use} ${torch_links})
  cairn_check_script(snippets.cookbook.torch snippets.py
    "${CMAKE_CXX_COMPILER}" "${PROJECT_SOURCE_DIR}/docs/cookbook.md" --only Torch ${use} ${torch_links})
  cairn_check_script(snippets.observing.torch snippets.py
    "${CMAKE_CXX_COMPILER}" "${PROJECT_SOURCE_DIR}/docs/observing.md" --only Torch ${use} ${torch_links})
  set_tests_properties(snippets.torch.run snippets.cookbook.torch snippets.observing.torch PROPERTIES TIMEOUT 600)
endif()

# What measures models in LibTorch, on inputs so small that bits and counted bytes are all it is asked for: the soak's.
if(TARGET cairn::torch AND CAIRN_TORCH_WHEEL)
  cairn_add_program(cairn_mem_vs_time "${PROJECT_SOURCE_DIR}/benchmarks/torch/mem_vs_time.cpp" cairn::torch)
  cairn_precompiled_torch(cairn_mem_vs_time)
  add_dependencies(cairn_torch_programs cairn_mem_vs_time)
  # ResNet-50 takes two minutes: ./run torch --mem-vs-time
  cairn_check_script(torch.mem_vs_time_gpt ../../benchmarks/torch/mem_vs_time.py --program $<TARGET_FILE:cairn_mem_vs_time>
    --model gpt --batch 1 --size 16 --modes naive,checkpoint,blocks,tiny --trials 0)
endif()

