// Reads kernels out of a code object with LLVM's ELF and MsgPack readers.
//
// The input may be any file, so every size and reference is checked before it is used.
#include "hocket/Target/AMDGPU/CodeObjectFile.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/BinaryFormat/MsgPackDocument.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/AMDHSAKernelDescriptor.h"
#include "llvm/Support/Error.h"

#include <cstring>
#include <optional>

namespace hocket::amdgpu {

using ElfFile = llvm::object::ELFFile<llvm::object::ELF64LE>;
using llvm::amdhsa::kernel_descriptor_t;

namespace {

/// A symbol's address and the bytes it covers.
struct SymbolBytes {
  uint64_t address = 0;
  llvm::ArrayRef<uint8_t> bytes;
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
  Result<KernelCode> readKernel(llvm::msgpack::MapDocNode &kernel) const;
  Status readDescriptor(const std::string &symbol, KernelCode &result) const;

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
      symbols[*symbolName] = {symbol.st_value, contents->slice(offset, symbol.st_size)};
    }
  }
  return Status::success();
}

static uint64_t getInteger(llvm::msgpack::MapDocNode &map, llvm::StringRef key) {
  auto entry = map.find(key);
  if (entry == map.end())
    return 0;
  if (entry->second.getKind() == llvm::msgpack::Type::UInt)
    return entry->second.getUInt();
  if (entry->second.getKind() == llvm::msgpack::Type::Int && entry->second.getInt() >= 0)
    return entry->second.getInt();
  return 0;
}

static llvm::StringRef getString(llvm::msgpack::MapDocNode &map, llvm::StringRef key) {
  auto entry = map.find(key);
  const bool found = entry != map.end() && entry->second.getKind() == llvm::msgpack::Type::String;
  return found ? entry->second.getString() : "";
}

Status Reader::readDescriptor(const std::string &symbol, KernelCode &result) const {
  auto descriptor = symbols.find(symbol);
  if (descriptor == symbols.end())
    return malformed("kernel '" + result.name + "' has no descriptor '" + symbol + "'");
  if (descriptor->second.bytes.size() != sizeof(kernel_descriptor_t))
    return malformed("descriptor '" + symbol + "' has " +
                     llvm::Twine(descriptor->second.bytes.size()) + " bytes, 64 are needed");
  kernel_descriptor_t raw;
  std::memcpy(&raw, descriptor->second.bytes.data(), sizeof(raw));
  result.ldsBytes = raw.group_segment_fixed_size;
  result.scratchBytes = raw.private_segment_fixed_size;
  result.kernargBytes = raw.kernarg_size;
  result.address = descriptor->second.address + uint64_t(raw.kernel_code_entry_byte_offset);
  return Status::success();
}

Result<KernelCode> Reader::readKernel(llvm::msgpack::MapDocNode &kernel) const {
  KernelCode result;
  result.name = getString(kernel, ".name").str();
  const std::string symbol = getString(kernel, ".symbol").str();
  if (result.name.empty() || symbol.empty())
    return malformed("a kernel in its metadata has no '.name' or no '.symbol'");
  if (Status read = readDescriptor(symbol, result); !read)
    return read.error();
  auto function = symbols.find(result.name);
  if (function == symbols.end() || function->second.address != result.address)
    return malformed("the descriptor of kernel '" + result.name +
                     "' does not point at a function of that name");
  result.code = function->second.bytes;
  result.vgprs = getInteger(kernel, ".vgpr_count");
  result.agprs = getInteger(kernel, ".agpr_count");
  result.sgprs = getInteger(kernel, ".sgpr_count");
  result.vgprSpills = getInteger(kernel, ".vgpr_spill_count");
  result.sgprSpills = getInteger(kernel, ".sgpr_spill_count");
  result.maxWorkgroupSize = getInteger(kernel, ".max_flat_workgroup_size");
  auto dynamic = kernel.find(".uses_dynamic_stack");
  result.dynamicStack = dynamic != kernel.end() &&
                        dynamic->second.getKind() == llvm::msgpack::Type::Boolean &&
                        dynamic->second.getBool();
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

  llvm::msgpack::Document document;
  if (!document.readFromBlob(*metadata, /*Multi=*/false) || !document.getRoot().isMap())
    return malformed("its metadata is no MsgPack map");
  llvm::msgpack::MapDocNode &root = document.getRoot().getMap();
  auto list = root.find("amdhsa.kernels");
  if (list == root.end() || !list->second.isArray())
    return malformed("its metadata has no 'amdhsa.kernels'");
  std::vector<KernelCode> kernels;
  for (llvm::msgpack::DocNode &node : list->second.getArray()) {
    if (!node.isMap())
      return malformed("an entry of 'amdhsa.kernels' is no map");
    Result<KernelCode> kernel = readKernel(node.getMap());
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
