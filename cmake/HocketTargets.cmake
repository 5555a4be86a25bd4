# How Hocket's targets are declared: flags, include paths and precompiled headers in one place.
#
#   hocket_add_library(NAME SOURCES... LINK LIBS...)       no MLIR: support, layouts, runtime, simulator
#   hocket_add_mlir_library(NAME SOURCES... LINK LIBS... DEPENDS TARGETS...)
#   hocket_add_tool(NAME [MLIR] [SANITIZED] SOURCES... LINK LIBS...)
#   hocket_add_unittest(NAME [MLIR] SOURCES... LINK LIBS...)  a GoogleTest program that lit discovers
#
# `hocket-sanitized-tests` is what scripts/test.sh builds with the asan preset: unit tests without MLIR, and
# tools marked SANITIZED for lit tests that are marked "UNDER-SANITIZERS".
add_custom_target(hocket-sanitized-tests)

add_library(HocketCompileOptions INTERFACE)
# Headers that are installed lie in include/hocket and runtime/include, others beside their sources.
target_include_directories(HocketCompileOptions INTERFACE
  ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/runtime/include
  ${PROJECT_SOURCE_DIR}/lib ${PROJECT_BINARY_DIR}/lib)
target_compile_options(HocketCompileOptions INTERFACE
  -fno-exceptions -Wall -Wextra -Wno-unused-parameter -ffp-contract=off)
if(HOCKET_SANITIZERS)
  target_compile_options(HocketCompileOptions INTERFACE
    -fsanitize=${HOCKET_SANITIZERS} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(HocketCompileOptions INTERFACE -fsanitize=${HOCKET_SANITIZERS})
endif()

# LLVM without MLIR. System headers: their warnings are not ours.
add_library(HocketLLVM INTERFACE)
target_include_directories(HocketLLVM SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
target_compile_definitions(HocketLLVM INTERFACE ${LLVM_DEFINITIONS_LIST})
target_link_libraries(HocketLLVM INTERFACE LLVM)

# MLIR on top of LLVM; `dialects/` is an include root for both sources and generated files.
add_library(HocketMLIR INTERFACE)
target_include_directories(HocketMLIR SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS})
target_include_directories(HocketMLIR INTERFACE
  ${PROJECT_SOURCE_DIR}/dialects ${PROJECT_BINARY_DIR}/dialects ${PROJECT_BINARY_DIR}/include)
target_link_libraries(HocketMLIR INTERFACE MLIR HocketLLVM)

# One precompiled header serves every MLIR source: 14 s a source without, 2 s with.
# Written once: a newer file would have everything compiled again after each run of cmake.
if(NOT EXISTS ${PROJECT_BINARY_DIR}/HocketMLIRPCH.cpp)
  file(WRITE ${PROJECT_BINARY_DIR}/HocketMLIRPCH.cpp "// Carries the precompiled header; see HocketTargets.cmake.\n")
endif()
add_library(HocketMLIRPCH OBJECT ${PROJECT_BINARY_DIR}/HocketMLIRPCH.cpp)
target_link_libraries(HocketMLIRPCH PRIVATE HocketCompileOptions HocketMLIR)
target_precompile_headers(HocketMLIRPCH PRIVATE ${PROJECT_SOURCE_DIR}/cmake/MLIRPrecompiled.h)

# Libraries and tools are compiled several sources at a time where HOCKET_UNITY_BUILD asks for it: what they all include
# is most of what a source costs. So names at file scope are unique in a library, and a source that includes a table of
# options (OptionTable.h), which defines the same names as the next, is compiled alone.
function(hocket_unite name)
  set_target_properties(${name} PROPERTIES UNITY_BUILD ${HOCKET_UNITY_BUILD})
  foreach(source ${ARGN})
    if(IS_ABSOLUTE ${source} OR NOT source MATCHES "\\.cpp$")
      continue()
    endif()
    file(STRINGS ${source} tables REGEX "^#include \"OptionTable.h\"")
    if(tables)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
endfunction()

function(hocket_add_library name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  hocket_unite(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC HocketCompileOptions ${ARG_LINK})
endfunction()

function(hocket_add_mlir_library name)
  cmake_parse_arguments(ARG "" "" "LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  hocket_unite(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC HocketCompileOptions HocketMLIR ${ARG_LINK})
  target_precompile_headers(${name} REUSE_FROM HocketMLIRPCH)
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# A program may use a precompiled header only if it is compiled like the libraries: -fPIC, not -fPIE. One with C sources
# goes without: CMake would want a header for C as well.
function(hocket_use_pch name carrier)
  get_target_property(sources ${name} SOURCES)
  if(sources MATCHES "\\.c(;|$)")
    return()
  endif()
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE -fPIC)
  target_precompile_headers(${name} REUSE_FROM ${carrier})
endfunction()

# Tests are compiled once and run for seconds: optimising them takes longer than it saves. What they test is optimised.
set(hocket_test_options $<$<CONFIG:Release>:-O0>)

# GoogleTest and the standard library, for all tests without MLIR. Called once, where tests are built.
function(hocket_add_test_pch)
  file(WRITE ${PROJECT_BINARY_DIR}/HocketTestPCH.cpp "// Carries the precompiled header; see HocketTargets.cmake.\n")
  add_library(HocketTestPCH OBJECT ${PROJECT_BINARY_DIR}/HocketTestPCH.cpp)
  target_link_libraries(HocketTestPCH PRIVATE HocketCompileOptions GTest::gmock GTest::gtest)
  target_compile_options(HocketTestPCH PRIVATE ${hocket_test_options})
  target_precompile_headers(HocketTestPCH PRIVATE
    ${PROJECT_SOURCE_DIR}/cmake/TestPrecompiled.h)
endfunction()

function(hocket_add_tool name)
  cmake_parse_arguments(ARG "MLIR;SANITIZED" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  hocket_unite(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE HocketCompileOptions ${ARG_LINK})
  if(ARG_MLIR)
    target_link_libraries(${name} PRIVATE HocketMLIR)
    hocket_use_pch(${name} HocketMLIRPCH)
  endif()
  if(ARG_SANITIZED)
    add_dependencies(hocket-sanitized-tests ${name})
  endif()
endfunction()

function(hocket_add_unittest name)
  cmake_parse_arguments(ARG "MLIR" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE HocketCompileOptions ${ARG_LINK} GTest::gmock GTest::gtest_main)
  if(ARG_MLIR)
    target_link_libraries(${name} PRIVATE HocketMLIR)
    hocket_use_pch(${name} HocketMLIRPCH)
  else()
    target_compile_options(${name} PRIVATE ${hocket_test_options})
    hocket_use_pch(${name} HocketTestPCH)
    add_dependencies(hocket-sanitized-tests ${name})
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test/unit)
  add_dependencies(hocket-tests ${name})
endfunction()

# Tools are installed with the library (lib/Hocket/CMakeLists.txt); LLVM's libraries are found where they were.
function(hocket_install_tool name)
  set_target_properties(${name} PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS ${name} RUNTIME DESTINATION bin COMPONENT hocket)
endfunction()
