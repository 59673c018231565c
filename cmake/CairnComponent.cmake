# SPDX-License-Identifier: Apache-2.0
# cairn_component(<name> <third party's target> [OF_USER] [ABSENT]): cairn::<name>, which is cairn with one third party,
# where that target exists and ABSENT does not say that it is empty. It owns adapt/<name>.hpp and adapt/<name>/ and is a
# find_package component of its own. OF_USER: who links the installed component brings the third party, as the choice of
# its parts is theirs. With CAIRN_INSTALL_ALL the component is installed without that target, too: whoever asks for it
# has to have the third party.
function(cairn_component name third_party)
  set(found OFF)
  if(TARGET ${third_party} AND NOT "ABSENT" IN_LIST ARGN)
    set(found ON)
  elseif(NOT (CAIRN_INSTALL AND CAIRN_INSTALL_ALL))
    return()
  endif()
  set(own ${adapter_headers})
  list(FILTER own INCLUDE REGEX "/include/cairn/adapt/${name}(\\.hpp|/.*)$")
  add_library(cairn_${name} INTERFACE)
  set_target_properties(cairn_${name} PROPERTIES
    EXPORT_NAME ${name} VERIFY_INTERFACE_HEADER_SETS ${PROJECT_IS_TOP_LEVEL})
  if(found)
    add_library(cairn::${name} ALIAS cairn_${name})
  endif()
  if("OF_USER" IN_LIST ARGN OR NOT found)
    set_target_properties(cairn_${name} PROPERTIES VERIFY_INTERFACE_HEADER_SETS OFF)
  endif()
  if("OF_USER" IN_LIST ARGN)
    set(third_party $<BUILD_INTERFACE:${third_party}>)
  endif()
  target_link_libraries(cairn_${name} INTERFACE cairn ${third_party})
  target_sources(cairn_${name} INTERFACE FILE_SET HEADERS BASE_DIRS include FILES ${own})
  if(CAIRN_INSTALL)
    install(TARGETS cairn_${name} EXPORT cairn-${name} FILE_SET HEADERS COMPONENT cairn_dev)
    install(EXPORT cairn-${name} NAMESPACE cairn:: DESTINATION ${CAIRN_CONFIG_DIR} COMPONENT cairn_dev)
  endif()
endfunction()
