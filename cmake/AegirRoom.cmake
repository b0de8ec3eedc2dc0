# One target per room. `aegir_room(base USES ... LIBRARIES ...)` makes the static library aegir_base from every
# .cpp below the calling folder and the test program aegir_base_test from every *_test.cpp. USES lists the rooms
# this room may include (DESIGN's arrows); tools/check_layers.py fails on any other include.

add_library(aegir_flags INTERFACE)
target_compile_features(aegir_flags INTERFACE cxx_std_20)
target_include_directories(aegir_flags INTERFACE
  $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/src> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/aegir>)
# Contraction is off so that a particle gets the same bits in a vector loop, in its remainder and in a test.
target_compile_options(aegir_flags INTERFACE -march=x86-64-v3 -mtune=generic -ffp-contract=off -fno-math-errno -fno-trapping-math
  $<BUILD_INTERFACE:-Wall> $<BUILD_INTERFACE:-Wextra> $<BUILD_INTERFACE:-Wshadow>)
# GCC 12 warns of its own std::string and std::optional when it inlines them (PR 105329, 105651, 105562).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(aegir_flags INTERFACE $<BUILD_INTERFACE:-Wno-restrict> $<BUILD_INTERFACE:-Wno-maybe-uninitialized>
    $<BUILD_INTERFACE:-Wno-stringop-overflow>)
endif()
if(AEGIR_CHECKED)
  target_compile_definitions(aegir_flags INTERFACE AEGIR_CHECKED=1)
endif()
if(AEGIR_SANITIZE)
  target_compile_options(aegir_flags INTERFACE -fsanitize=${AEGIR_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  target_link_options(aegir_flags INTERFACE -fsanitize=${AEGIR_SANITIZE})
endif()
install(TARGETS aegir_flags EXPORT aegir)

function(aegir_room name)
  cmake_parse_arguments(ROOM "STRICT" "" "USES;LIBRARIES;PRIVATE_LIBRARIES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "_(test|fuzz)\\.cpp$")
  add_library(aegir_${name} STATIC ${sources})
  target_link_libraries(aegir_${name} PUBLIC aegir_flags fmt::fmt ${ROOM_LIBRARIES} PRIVATE ${ROOM_PRIVATE_LIBRARIES})
  foreach(use ${ROOM_USES})
    target_link_libraries(aegir_${name} PUBLIC aegir_${use})
  endforeach()
  if(ROOM_STRICT)
    target_compile_options(aegir_${name} PRIVATE -Wconversion -Wno-sign-conversion)
  endif()
  set_target_properties(aegir_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  install(TARGETS aegir_${name} EXPORT aegir ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  if(AEGIR_TESTS AND tests)
    add_executable(aegir_${name}_test ${tests})
    target_link_libraries(aegir_${name}_test PRIVATE aegir_${name} GTest::gtest_main)
    add_test(NAME ${name} COMMAND aegir_${name}_test)
    set_tests_properties(${name} PROPERTIES TIMEOUT 600 LABELS unit)
  endif()
endfunction()
