# Links a module with LLVM, MLIR and lld inside, for machines that have none of them:
#
#   hocket_link_llvm_statically(TARGET LIKE)   what the target LIKE links, LLVM as archives instead of its shared library
#
# Nothing but the module's own exports is visible outside, so another LLVM in the process is not disturbed.

# The static libraries of this project that `target` links.
function(hocket_static_libraries target result)
  set(open ${target})
  set(seen "")
  set(libraries "")
  while(open)
    list(POP_FRONT open next)
    get_target_property(type ${next} TYPE)
    get_target_property(imported ${next} IMPORTED)
    if(next IN_LIST seen OR imported)
      continue()
    endif()
    list(APPEND seen ${next})
    if(type STREQUAL "STATIC_LIBRARY")
      list(APPEND libraries ${next})
    endif()
    foreach(property LINK_LIBRARIES INTERFACE_LINK_LIBRARIES)
      get_target_property(linked ${next} ${property})
      foreach(library ${linked})
        if(TARGET ${library})
          list(APPEND open ${library})
        endif()
      endforeach()
    endforeach()
  endwhile()
  set(${result} ${libraries} PARENT_SCOPE)
endfunction()

# lld initialises every target of LLVM and every plug-in of its passes. Linking code objects needs AMDGPU alone: the
# others are functions that do nothing, so that no archive brings them in.
function(hocket_write_absent_parts file)
  set(text "// Made by StaticLLVM.cmake: the parts of LLVM that a statically linked module leaves out.\n")
  string(APPEND text "#include \"llvm/Passes/PassBuilder.h\"\n#include \"llvm/Plugins/PassPlugin.h\"\n#include \"llvm/Support/SMTAPI.h\"\n\nextern \"C\" {\n")
  foreach(chip ${LLVM_TARGETS_TO_BUILD} ${LLVM_EXPERIMENTAL_TARGETS_TO_BUILD})
    if(NOT chip STREQUAL "AMDGPU")
      foreach(part Target TargetInfo TargetMC AsmParser AsmPrinter)
        string(APPEND text "void LLVMInitialize${chip}${part}() {}\n")
      endforeach()
    endif()
  endforeach()
  # Proofs about mutants of kernels are no part of the module, and Z3 has no archive.
  string(APPEND text "}\n\nllvm::SMTSolverRef llvm::CreateZ3Solver() { return nullptr; }\n")
  string(APPEND text "\n#define HANDLE_EXTENSION(name) llvm::PassPluginLibraryInfo get##name##PluginInfo() { return "
    "{LLVM_PLUGIN_API_VERSION, #name, \"\", [](llvm::PassBuilder &) {}}; }\n#include \"llvm/Support/Extension.def\"\n")
  file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
endfunction()

# The names of LLVM's archives change with its version, so all are offered; the linker takes what is needed.
function(hocket_link_llvm_statically target like)
  hocket_static_libraries(${like} libraries)
  set(archives "")
  foreach(library ${libraries})
    list(APPEND archives $<TARGET_FILE:${library}>)
  endforeach()
  file(GLOB llvm ${LLVM_LIBRARY_DIR}/libMLIR*.a ${LLVM_LIBRARY_DIR}/libLLVM*.a)
  hocket_write_absent_parts(${CMAKE_CURRENT_BINARY_DIR}/${target}-absent.cpp)
  target_sources(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/${target}-absent.cpp)
  target_include_directories(${target} SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
  add_dependencies(${target} ${libraries})
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${archives})
  target_link_libraries(${target} PRIVATE -Wl,--start-group ${archives} $<TARGET_FILE:lldELF> $<TARGET_FILE:lldCommon>
    ${llvm} -Wl,--end-group -l:libz.a -l:libzstd.a)
  target_link_options(${target} PRIVATE -fuse-ld=lld -Wl,-s -Wl,--gc-sections -Wl,--no-undefined-version
    -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/Module.map)
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/Module.map)
endfunction()
