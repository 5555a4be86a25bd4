# Writes a header with the hash of everything that decides what Hocket's compiler emits:
#   cmake -DROOT=DIR -DOUTPUT=FILE -DSETTINGS=TEXT -P HashSources.cmake
#
# The header is touched only if the hash changed. Names are relative, so that where the tree lies makes no
# difference.
file(GLOB_RECURSE sources LIST_DIRECTORIES false RELATIVE ${ROOT}
  ${ROOT}/dialects/* ${ROOT}/include/* ${ROOT}/lib/* ${ROOT}/kernels/*)
list(SORT sources)
set(hashes "${SETTINGS}\n")
foreach(source ${sources})
  file(SHA256 ${ROOT}/${source} hash)
  string(APPEND hashes "${hash} ${source}\n")
endforeach()
string(SHA256 hash "${hashes}")
set(text "// Made by cmake/HashSources.cmake.\n#define HOCKET_SOURCE_HASH \"${hash}\"\n")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} before)
endif()
if(NOT "${text}" STREQUAL "${before}")
  file(WRITE ${OUTPUT} "${text}")
endif()
