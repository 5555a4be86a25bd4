// The identity is put together once: a constant of the build, and what the dynamic linker loaded.
#include "hocket/Jit/CompilerIdentity.h"

#include "SourceHash.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/Chrono.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"

#include <elf.h>
#include <link.h>
#include <vector>

using namespace hocket;
using llvm::StringRef;

/// The GNU build ID of a loaded object, in hexadecimal; "" if it has none.
static std::string buildId(const dl_phdr_info &object) {
  for (unsigned i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = object.dlpi_phdr[i];
    if (segment.p_type != PT_NOTE)
      continue;
    const char *at = reinterpret_cast<const char *>(object.dlpi_addr + segment.p_vaddr);
    const char *end = at + segment.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      const auto *note = reinterpret_cast<const ElfW(Nhdr) *>(at);
      const char *name = at + sizeof(*note);
      const char *content = name + llvm::alignTo<4>(note->n_namesz);
      if (note->n_type == NT_GNU_BUILD_ID &&
          StringRef(name, note->n_namesz) == StringRef("GNU\0", 4))
        return llvm::toHex(StringRef(content, note->n_descsz), /*LowerCase=*/true);
      at = content + llvm::alignTo<4>(note->n_descsz);
    }
  }
  return {};
}

static std::string sizeAndTime(StringRef file) {
  llvm::sys::fs::file_status status;
  if (llvm::sys::fs::status(file, status))
    return "unknown";
  return std::to_string(status.getSize()) + "@" +
         std::to_string(llvm::sys::toTimeT(status.getLastModificationTime()));
}

/// Appends a line for each library that emits code.
static int addLibrary(dl_phdr_info *object, size_t, void *lines) {
  StringRef file = llvm::sys::path::filename(object->dlpi_name);
  if (!file.starts_with("libLLVM") && !file.starts_with("libMLIR"))
    return 0;
  std::string id = buildId(*object);
  static_cast<std::vector<std::string> *>(lines)->push_back(
      file.str() + " " + (id.empty() ? sizeAndTime(object->dlpi_name) : id));
  return 0;
}

static std::string makeIdentity() {
  std::vector<std::string> lines;
  dl_iterate_phdr(addLibrary, &lines);
  // In whatever order they were loaded.
  llvm::sort(lines);
  return "hocket " HOCKET_SOURCE_HASH ", llvm " LLVM_VERSION_STRING ", " + llvm::join(lines, ", ");
}

const std::string &jit::compilerIdentity() {
  static const std::string identity = makeIdentity();
  return identity;
}
