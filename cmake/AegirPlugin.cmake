# aegir_plugin(vortex vortex.cpp): the shared library libvortex.so, for `aegir run … --plugin libvortex.so`.
#
# Needs Aegir's headers, fmt's and nlohmann-json's; links nothing of Aegir, whose functions are those of the program that
# loads it. The options are those of Aegir's own rooms (cmake/AegirRoom.cmake): a plugin's kernels keep the rule that bits
# do not depend on threads. For a checked build of Aegir: -DAEGIR_CHECKED=ON.
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_path(AEGIR_HEADERS pipeline/plugin.h REQUIRED NO_DEFAULT_PATH
  PATHS ${CMAKE_CURRENT_LIST_DIR}/../src ${CMAKE_CURRENT_LIST_DIR}/../../../include/aegir
        ${CMAKE_CURRENT_LIST_DIR}/../../../../include/aegir)

function(aegir_plugin name)
  add_library(${name} MODULE ${ARGN})
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_include_directories(${name} PRIVATE ${AEGIR_HEADERS})
  target_compile_options(${name} PRIVATE -march=x86-64-v3 -mtune=generic -ffp-contract=off -fno-math-errno
    -fno-trapping-math)
  if(AEGIR_CHECKED)
    target_compile_definitions(${name} PRIVATE AEGIR_CHECKED=1)
  endif()
  target_link_libraries(${name} PRIVATE fmt::fmt nlohmann_json::nlohmann_json)
  set_target_properties(${name} PROPERTIES PREFIX lib)
endfunction()
