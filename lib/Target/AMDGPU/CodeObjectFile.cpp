// Reads kernels out of a code object with LLVM's ELF reader and the runtime's reader of metadata.
//
// The input may be any file, so every size and reference is checked before it is used.
#include "Target/AMDGPU/CodeObjectFile.h"

#include "hocket/Runtime/CodeObjectInfo.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/AMDHSAKernelDescriptor.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/Error.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

namespace hocket::amdgpu {

using ElfFile = llvm::object::ELFFile<llvm::object::ELF64LE>;
using llvm::amdhsa::kernel_descriptor_t;

namespace {

/// A symbol's address and size, and the bytes from it to the end of its section.
struct SymbolBytes {
  uint64_t address = 0, size = 0;
  llvm::ArrayRef<uint8_t> rest;
};

/// Turns LLVM's errors into ours, naming the file.
class Reader {
public:
  explicit Reader(llvm::StringRef name) : name(name) {}

  Result<std::vector<KernelCode>> read(llvm::StringRef codeObject);

private:
  Error malformed(const llvm::Twine &what) const {
    return invalidInput(("'" + name + "' is no valid AMDGPU code object: " + what).str());
  }
  Error malformed(llvm::Error error) const { return malformed(llvm::toString(std::move(error))); }

  Result<std::string> findMetadata(const ElfFile &elf) const;
  Status collectSymbols(const ElfFile &elf);
  Result<KernelCode> readKernel(const runtime::KernelMetadata &kernel) const;
  Status readDescriptor(const std::string &symbol, KernelCode &result) const;
  llvm::ArrayRef<uint8_t> codeOf(const SymbolBytes &function) const;

  std::string name;
  llvm::StringMap<SymbolBytes> symbols;
};

} // namespace

Result<std::string> Reader::findMetadata(const ElfFile &elf) const {
  auto segments = elf.program_headers();
  if (!segments)
    return malformed(segments.takeError());
  for (const auto &segment : *segments) {
    if (segment.p_type != llvm::ELF::PT_NOTE)
      continue;
    llvm::Error error = llvm::Error::success();
    std::optional<std::string> found;
    for (const auto &note : elf.notes(segment, error)) {
      if (note.getName() == "AMDGPU" && note.getType() == llvm::ELF::NT_AMDGPU_METADATA)
        found = note.getDescAsStringRef(segment.p_align).str();
    }
    if (error)
      return malformed(std::move(error));
    if (found)
      return *found;
  }
  return malformed("it has no AMDGPU metadata note");
}

Status Reader::collectSymbols(const ElfFile &elf) {
  auto sections = elf.sections();
  if (!sections)
    return malformed(sections.takeError());
  for (const auto &section : *sections) {
    if (section.sh_type != llvm::ELF::SHT_DYNSYM)
      continue;
    auto table = elf.symbols(&section);
    auto strings = elf.getStringTableForSymtab(section);
    if (!table || !strings) {
      llvm::consumeError(strings.takeError());
      return table ? malformed("its symbol names cannot be read") : malformed(table.takeError());
    }
    for (const auto &symbol : *table) {
      auto symbolName = symbol.getName(*strings);
      if (!symbolName)
        return malformed(symbolName.takeError());
      auto home = elf.getSection(symbol.st_shndx);
      if (symbol.st_shndx == llvm::ELF::SHN_UNDEF || !home) {
        llvm::consumeError(home.takeError());
        continue;
      }
      if ((*home)->sh_type == llvm::ELF::SHT_NOBITS)
        continue;
      auto contents = elf.getSectionContents(**home);
      if (!contents)
        return malformed(contents.takeError());
      const uint64_t offset = symbol.st_value - (*home)->sh_addr;
      if (offset > contents->size() || symbol.st_size > contents->size() - offset)
        return malformed("symbol '" + *symbolName + "' lies outside its section");
      symbols[*symbolName] = {symbol.st_value, symbol.st_size, contents->drop_front(offset)};
    }
  }
  return Status::success();
}

Status Reader::readDescriptor(const std::string &symbol, KernelCode &result) const {
  auto descriptor = symbols.find(symbol);
  if (descriptor == symbols.end())
    return malformed("kernel '" + result.name + "' has no descriptor '" + symbol + "'");
  const SymbolBytes &found = descriptor->second;
  // Assembly need not give symbols a size.
  const uint64_t size = found.size ? found.size : std::min<uint64_t>(found.rest.size(), 64);
  kernel_descriptor_t raw;
  if (size != sizeof(raw))
    return malformed("descriptor '" + symbol + "' has " + llvm::Twine(size) +
                     " bytes, 64 are needed");
  std::memcpy(&raw, found.rest.data(), sizeof(raw));
  result.ldsBytes = raw.group_segment_fixed_size;
  result.scratchBytes = raw.private_segment_fixed_size;
  result.kernargBytes = raw.kernarg_size;
  result.address = descriptor->second.address + uint64_t(raw.kernel_code_entry_byte_offset);
  return Status::success();
}

/// A function's bytes. One without a size, as assembly may leave it, ends where the next symbol
/// begins or its section ends, and before the padding there.
llvm::ArrayRef<uint8_t> Reader::codeOf(const SymbolBytes &function) const {
  if (function.size)
    return function.rest.take_front(function.size);
  uint64_t size = function.rest.size();
  for (const auto &symbol : symbols)
    if (symbol.second.address > function.address)
      size = std::min(size, symbol.second.address - function.address);
  llvm::ArrayRef<uint8_t> code = function.rest.take_front(size / 4 * 4);
  // s_nop 0, s_code_end and zeros are what assemblers and people pad with.
  auto isPadding = [](uint32_t word) {
    return word == 0 || word == 0xbf800000 || word == 0xbf9f0000;
  };
  while (!code.empty() && isPadding(llvm::support::endian::read32le(code.end() - 4)))
    code = code.drop_back(4);
  return code;
}

Result<KernelCode> Reader::readKernel(const runtime::KernelMetadata &kernel) const {
  KernelCode result;
  result.name = kernel.info.name;
  if (Status read = readDescriptor(kernel.descriptor, result); !read)
    return read.error();
  auto function = symbols.find(result.name);
  if (function == symbols.end() || function->second.address != result.address)
    return malformed("the descriptor of kernel '" + result.name +
                     "' does not point at a function of that name");
  result.code = codeOf(function->second);
  result.vgprs = kernel.info.vgprs;
  result.agprs = kernel.info.agprs;
  result.sgprs = kernel.info.sgprs;
  result.vgprSpills = kernel.info.vgprSpills;
  result.sgprSpills = kernel.info.sgprSpills;
  result.maxWorkgroupSize = kernel.info.maxWorkgroupSize;
  result.dynamicStack = kernel.dynamicStack;
  return result;
}

Result<std::vector<KernelCode>> Reader::read(llvm::StringRef codeObject) {
  if (!codeObject.starts_with(llvm::StringRef(llvm::ELF::ElfMagic, 4)))
    return malformed("it is no ELF file");
  auto elf = ElfFile::create(codeObject);
  if (!elf)
    return malformed(elf.takeError());
  if (elf->getHeader().e_machine != llvm::ELF::EM_AMDGPU ||
      elf->getHeader().e_ident[llvm::ELF::EI_CLASS] != llvm::ELF::ELFCLASS64)
    return malformed("it is an ELF file for another machine");
  Result<std::string> metadata = findMetadata(*elf);
  if (!metadata)
    return metadata.error();
  if (Status collected = collectSymbols(*elf); !collected)
    return collected.error();

  Result<std::vector<runtime::KernelMetadata>> read =
      runtime::readKernelMetadata(std::as_bytes(std::span(*metadata)), name);
  if (!read)
    return read.error();
  std::vector<KernelCode> kernels;
  for (const runtime::KernelMetadata &one : *read) {
    Result<KernelCode> kernel = readKernel(one);
    if (!kernel)
      return kernel.error();
    kernels.push_back(*std::move(kernel));
  }
  return kernels;
}

Result<std::vector<KernelCode>> readKernels(llvm::StringRef codeObject, llvm::StringRef name) {
  return Reader(name).read(codeObject);
}

std::string processorOf(llvm::StringRef codeObject) {
  auto file = llvm::object::ObjectFile::createELFObjectFile(
      llvm::MemoryBufferRef(codeObject, "code object"));
  if (!file) {
    llvm::consumeError(file.takeError());
    return "";
  }
  return (*file)->tryGetCPUName().value_or("").str();
}

llvm::StringRef sectionContents(llvm::StringRef codeObject, llvm::StringRef section) {
  auto elf = ElfFile::create(codeObject);
  if (!elf) {
    llvm::consumeError(elf.takeError());
    return {};
  }
  auto sections = elf->sections();
  if (!sections) {
    llvm::consumeError(sections.takeError());
    return {};
  }
  for (const auto &candidate : *sections) {
    auto name = elf->getSectionName(candidate);
    if (!name) {
      llvm::consumeError(name.takeError());
      continue;
    }
    if (*name != section)
      continue;
    auto contents = elf->getSectionContents(candidate);
    if (contents)
      return llvm::toStringRef(*contents);
    llvm::consumeError(contents.takeError());
  }
  return {};
}

} // namespace hocket::amdgpu
