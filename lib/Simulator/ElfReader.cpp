// Reads an AMDGPU ELF file into a CodeImage, trusting nothing in it.
//
// LLVM's ELFFile checks that tables lie inside the file; what the tables say is checked here:
// target, segments that overlap or are absurdly large, descriptors outside of segments, entries
// outside of executable ones, relocations of unknown kinds or to missing symbols.
#include "CodeImage.h"
#include "Hex.h"

#include "hocket/Runtime/CodeObjectInfo.h"
#include "Target/Arch/KnownChips.h"

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/AMDHSAKernelDescriptor.h"

#include <algorithm>
#include <cstring>
#include <map>

using namespace hocket;
using namespace hocket::sim;
using llvm::StringRef;
namespace ELF = llvm::ELF;
using ElfFile = llvm::object::ELFFile<llvm::object::ELF64LE>;

/// An image beyond this is not a code object but a broken header.
static constexpr uint64_t maxImageBytes = uint64_t(1) << 31;

namespace {
struct SymbolValue {
  uint64_t value = 0, size = 0;
  bool defined = false;
  bool absolute = false;
};

/// The steps of reading, in order; the first error ends it.
class Reader {
public:
  Reader(const ElfFile &elf, std::string_view name) : elf(elf), image(new CodeImage) {
    image->name = name;
  }
  Status run();
  std::unique_ptr<CodeImage> take() { return std::move(image); }

private:
  Status readHeader();
  Status readSegments();
  Status readSymbols();
  Status readSymbolTable(const ElfFile::Elf_Shdr &section);
  Status readNotes();
  Status readKernels(std::span<const std::byte> note);
  Status readDescriptor(const std::string &symbol, runtime::KernelInfo &info);
  Status readRelocations();
  Status addRelocation(uint32_t type, uint64_t offset, uint64_t symbolIndex, int64_t addend,
                       const ElfFile::Elf_Shdr &section);

  Error bad(const std::string &what) const {
    return invalidInput("'" + image->name + "' is not a valid code object: " + what);
  }
  Error bad(llvm::Error error) const { return bad(llvm::toString(std::move(error))); }
  const Segment *segmentAt(uint64_t address, uint64_t bytes) const;

  const ElfFile &elf;
  std::unique_ptr<CodeImage> image;
  std::map<std::string, SymbolValue> symbols;
};
} // namespace


const Segment *Reader::segmentAt(uint64_t address, uint64_t bytes) const {
  for (const Segment &segment : image->segments)
    if (address >= segment.begin && bytes <= segment.memorySize &&
        address - segment.begin <= segment.memorySize - bytes)
      return &segment;
  return nullptr;
}

Status Reader::readHeader() {
  const ElfFile::Elf_Ehdr &header = elf.getHeader();
  if (header.e_machine != ELF::EM_AMDGPU)
    return bad("the ELF file is for machine " + std::to_string(header.e_machine) +
               ", wanted AMDGPU (" + std::to_string(ELF::EM_AMDGPU) + ")");
  if (header.e_ident[ELF::EI_OSABI] != ELF::ELFOSABI_AMDGPU_HSA)
    return bad("its OS ABI is " + std::to_string(header.e_ident[ELF::EI_OSABI]) +
               ", wanted AMDGPU_HSA (" + std::to_string(ELF::ELFOSABI_AMDGPU_HSA) + ")");
  unsigned abi = header.e_ident[ELF::EI_ABIVERSION];
  if (abi < ELF::ELFABIVERSION_AMDGPU_HSA_V4 || abi > ELF::ELFABIVERSION_AMDGPU_HSA_V6)
    return unsupported("'" + image->name + "' has code object ABI version byte " +
                       std::to_string(abi) + ", the simulator reads versions 4, 5 and 6 (bytes 2 " +
                       "to 4); compile with -mcode-object-version=5");
  if (header.e_type != ELF::ET_DYN)
    return bad("its ELF type is " + std::to_string(header.e_type) +
               ", wanted a shared object (3); link it with ld.lld -shared");
  const unsigned machine = header.e_flags & ELF::EF_AMDGPU_MACH;
  if (const ArchInfo *arch = findArchByElf(machine)) {
    image->architecture = arch->name;
    return Status::success();
  }
  return unsupported("'" + image->name + "' is for the processor with ELF flag " + hex(machine) +
                     ", the simulator executes " + listArchs());
}

Status Reader::readSegments() {
  auto headers = elf.program_headers();
  if (!headers)
    return bad(headers.takeError());
  for (const ElfFile::Elf_Phdr &header : *headers) {
    if (header.p_type != ELF::PT_LOAD || header.p_memsz == 0)
      continue;
    auto contents = elf.getSegmentContents(header);
    if (!contents)
      return bad(contents.takeError());
    if (header.p_filesz > header.p_memsz)
      return bad("a segment has more bytes in the file than in memory");
    if (header.p_vaddr > maxImageBytes || header.p_memsz > maxImageBytes - header.p_vaddr)
      return bad("a segment spans [" + hex(header.p_vaddr) + ", +" + hex(header.p_memsz) +
                 "), beyond the first 2 GiB");
    Segment segment;
    segment.begin = header.p_vaddr;
    segment.memorySize = header.p_memsz;
    segment.executable = header.p_flags & ELF::PF_X;
    segment.bytes.assign(reinterpret_cast<const char *>(contents->data()), contents->size());
    image->segments.push_back(std::move(segment));
  }
  if (image->segments.empty())
    return bad("it has no loadable segment");
  std::sort(image->segments.begin(), image->segments.end(),
            [](const Segment &a, const Segment &b) { return a.begin < b.begin; });
  for (size_t i = 1; i < image->segments.size(); ++i)
    if (image->segments[i].begin < image->segments[i - 1].begin + image->segments[i - 1].memorySize)
      return bad("two segments overlap at " + hex(image->segments[i].begin));
  image->imageBegin = image->segments.front().begin;
  image->imageEnd = image->segments.back().begin + image->segments.back().memorySize;

  const Segment *text = nullptr;
  for (const Segment &segment : image->segments) {
    if (!segment.executable)
      continue;
    if (text)
      return unsupported("'" + image->name + "' has more than one executable segment");
    text = &segment;
  }
  if (!text)
    return bad("it has no executable segment");
  if (text->begin % 4 != 0)
    return bad("its executable segment starts at " + hex(text->begin) + ", not a multiple of 4");
  Result<std::unique_ptr<Text>> decoded =
      Text::create(text->bytes, text->begin, image->architecture);
  if (!decoded)
    return decoded.error();
  image->text = std::move(*decoded);
  return Status::success();
}

Status Reader::readSymbolTable(const ElfFile::Elf_Shdr &section) {
  auto table = elf.symbols(&section);
  if (!table)
    return bad(table.takeError());
  auto strings = elf.getStringTableForSymtab(section);
  if (!strings)
    return bad(strings.takeError());
  for (const ElfFile::Elf_Sym &symbol : *table) {
    auto name = symbol.getName(*strings);
    if (!name)
      return bad(name.takeError());
    if (symbol.st_shndx == ELF::SHN_UNDEF)
      continue;
    if (symbol.getType() == ELF::STT_FUNC)
      image->functions.push_back({symbol.st_value, symbol.st_size, name->str()});
    symbols.try_emplace(name->str(), SymbolValue{symbol.st_value, symbol.st_size, true,
                                                 symbol.st_shndx == ELF::SHN_ABS});
  }
  return Status::success();
}

Status Reader::readSymbols() {
  auto sections = elf.sections();
  if (!sections)
    return bad(sections.takeError());
  bool any = false;
  for (const ElfFile::Elf_Shdr &section : *sections) {
    if (section.sh_type != ELF::SHT_DYNSYM && section.sh_type != ELF::SHT_SYMTAB)
      continue;
    any |= section.sh_type == ELF::SHT_DYNSYM;
    if (Status status = readSymbolTable(section); !status)
      return status;
  }
  if (!any)
    return bad("it has no dynamic symbol table");
  auto &functions = image->functions;
  std::sort(functions.begin(), functions.end(), [](const auto &a, const auto &b) {
    return std::tie(a.begin, a.name) < std::tie(b.begin, b.name);
  });
  functions.erase(std::unique(functions.begin(), functions.end(),
                              [](const auto &a, const auto &b) { return a.begin == b.begin; }),
                  functions.end());
  return Status::success();
}

Status Reader::readNotes() {
  auto headers = elf.program_headers();
  if (!headers)
    return bad(headers.takeError());
  for (const ElfFile::Elf_Phdr &header : *headers) {
    if (header.p_type != ELF::PT_NOTE)
      continue;
    llvm::Error error = llvm::Error::success();
    for (const ElfFile::Elf_Note &note : elf.notes(header, error)) {
      if (note.getName() != "AMDGPU" || note.getType() != ELF::NT_AMDGPU_METADATA)
        continue;
      // An alignment of 0 or 1 means 4 to `notes` too.
      llvm::ArrayRef<uint8_t> blob = note.getDesc(std::max<uint64_t>(header.p_align, 4));
      llvm::consumeError(std::move(error));
      return readKernels(std::as_bytes(std::span(blob.data(), blob.size())));
    }
    if (error)
      return bad(std::move(error));
  }
  return bad("it has no AMDGPU metadata note");
}

/// What the simulator asks of metadata beyond being readable.
static std::string refuse(const runtime::KernelMetadata &kernel,
                          std::span<const runtime::KernelInfo> before) {
  const runtime::KernelInfo &info = kernel.info;
  const std::string who = "kernel '" + info.name + "'";
  if (kernel.waveSize != 64)
    return who + " has wavefront size " + std::to_string(kernel.waveSize) + ", wanted 64";
  if (info.maxWorkgroupSize == 0)
    return who + " has no '.max_flat_workgroup_size'";
  // 64 KiB is far above what any runtime passes; it bounds what a bad file makes us allocate.
  if (info.kernargSize > 65536)
    return who + " has " + std::to_string(info.kernargSize) +
           " bytes of arguments, at most 65536 are possible";
  uint64_t end = 0;
  for (const runtime::KernelArgument &argument : info.arguments) {
    if (argument.offset < end)
      return "the argument of " + who + " at offset " + std::to_string(argument.offset) +
             " overlaps the one before it";
    end = argument.end();
  }
  for (const runtime::KernelInfo &other : before)
    if (other.name == info.name)
      return "two kernels are called '" + info.name + "'";
  return "";
}

Status Reader::readKernels(std::span<const std::byte> note) {
  auto kernels = runtime::readKernelMetadata(note, image->name);
  if (!kernels)
    return kernels.error();
  for (runtime::KernelMetadata &kernel : *kernels) {
    if (std::string what = refuse(kernel, image->kernels); !what.empty())
      return invalidInput("'" + image->name + "': bad metadata: " + what +
                          "; is this a complete code object?");
    if (Status status = readDescriptor(kernel.descriptor, kernel.info); !status)
      return status;
    image->kernels.push_back(std::move(kernel.info));
  }
  return Status::success();
}

Status Reader::readDescriptor(const std::string &symbol, runtime::KernelInfo &info) {
  auto it = symbols.find(symbol);
  if (it == symbols.end())
    return bad("kernel '" + info.name + "' names the descriptor symbol '" + symbol +
               "', which does not exist");
  uint64_t address = it->second.value;
  llvm::amdhsa::kernel_descriptor_t raw;
  const Segment *segment = segmentAt(address, sizeof(raw));
  if (!segment || address - segment->begin + sizeof(raw) > segment->bytes.size())
    return bad("the descriptor of kernel '" + info.name + "' at " + hex(address) +
               " lies outside of the image");
  std::memcpy(&raw, segment->bytes.data() + (address - segment->begin), sizeof(raw));

  KernelImage kernel;
  kernel.entry = address + static_cast<uint64_t>(raw.kernel_code_entry_byte_offset);
  if (!image->text->contains(kernel.entry) || kernel.entry % 4 != 0)
    return bad("the entry of kernel '" + info.name + "' at " + hex(kernel.entry) +
               " is not in its executable segment");
  kernel.descriptor = {raw.group_segment_fixed_size,
                       raw.private_segment_fixed_size,
                       raw.kernarg_size,
                       raw.compute_pgm_rsrc1,
                       raw.compute_pgm_rsrc2,
                       raw.compute_pgm_rsrc3,
                       raw.kernel_code_properties,
                       raw.kernarg_preload};
  if (raw.kernel_code_properties & llvm::amdhsa::KERNEL_CODE_PROPERTY_ENABLE_WAVEFRONT_SIZE32)
    return bad("the descriptor of kernel '" + info.name + "' asks for wave32, which " +
               image->architecture + " does not have");
  // The descriptor is what the hardware sees; the metadata must not promise less.
  info.staticLds = std::max(info.staticLds, kernel.descriptor.groupSegment);
  info.privateSegment = std::max(info.privateSegment, kernel.descriptor.privateSegment);
  // Metadata of hand-written kernels may count accumulation registers without naming them.
  unsigned architectural = ((kernel.descriptor.rsrc3 & 63) + 1) * 4;
  if (info.agprs == 0 && info.vgprs > architectural)
    info.agprs = info.vgprs - architectural;
  image->kernelImages.push_back(kernel);
  return Status::success();
}

Status Reader::addRelocation(uint32_t type, uint64_t offset, uint64_t symbolIndex, int64_t addend,
                             const ElfFile::Elf_Shdr &section) {
  Relocation relocation;
  relocation.where = offset;
  relocation.value = static_cast<uint64_t>(addend);
  if (type != ELF::R_AMDGPU_RELATIVE64 && type != ELF::R_AMDGPU_NONE) {
    auto table = elf.getSection(section.sh_link);
    if (!table)
      return bad(table.takeError());
    auto symbol = elf.getSymbol(*table, symbolIndex);
    if (!symbol)
      return bad(symbol.takeError());
    auto strings = elf.getStringTableForSymtab(**table);
    if (!strings)
      return bad(strings.takeError());
    auto name = (*symbol)->getName(*strings);
    if (!name)
      return bad(name.takeError());
    if ((*symbol)->st_shndx == ELF::SHN_UNDEF)
      return bad("it refers to the symbol '" + name->str() +
                 "', which it does not define; link the object that does");
    relocation.value += (*symbol)->st_value;
    relocation.relative = (*symbol)->st_shndx != ELF::SHN_ABS;
  }
  switch (type) {
  case ELF::R_AMDGPU_NONE:
    return Status::success();
  case ELF::R_AMDGPU_RELATIVE64:
  case ELF::R_AMDGPU_ABS64:
    break;
  case ELF::R_AMDGPU_ABS32:
  case ELF::R_AMDGPU_ABS32_LO:
    relocation.bytes = 4;
    break;
  case ELF::R_AMDGPU_ABS32_HI:
    relocation.bytes = 4;
    relocation.shift = 32;
    break;
  case ELF::R_AMDGPU_REL64:
    relocation.programCounter = true;
    break;
  case ELF::R_AMDGPU_REL32:
  case ELF::R_AMDGPU_REL32_LO:
    relocation.programCounter = true;
    relocation.bytes = 4;
    break;
  case ELF::R_AMDGPU_REL32_HI:
    relocation.programCounter = true;
    relocation.bytes = 4;
    relocation.shift = 32;
    break;
  default:
    return unsupported("'" + image->name + "' has a dynamic relocation of type " +
                       std::to_string(type) + ", which the simulator does not apply");
  }
  if (!segmentAt(offset, relocation.bytes))
    return bad("a relocation at " + hex(offset) + " lies outside of the image");
  image->relocations.push_back(relocation);
  return Status::success();
}

Status Reader::readRelocations() {
  auto sections = elf.sections();
  if (!sections)
    return bad(sections.takeError());
  for (const ElfFile::Elf_Shdr &section : *sections) {
    bool dynamic = section.sh_flags & ELF::SHF_ALLOC;
    if (!dynamic || (section.sh_type != ELF::SHT_RELA && section.sh_type != ELF::SHT_REL))
      continue;
    if (section.sh_type == ELF::SHT_REL)
      return unsupported("'" + image->name + "' has relocations without addends");
    auto entries = elf.relas(section);
    if (!entries)
      return bad(entries.takeError());
    for (const ElfFile::Elf_Rela &entry : *entries)
      if (Status status = addRelocation(entry.getType(false), entry.r_offset,
                                        entry.getSymbol(false), entry.r_addend, section);
          !status)
        return status;
  }
  return Status::success();
}

Status Reader::run() {
  if (Status status = readHeader(); !status)
    return status;
  if (Status status = readSegments(); !status)
    return status;
  if (Status status = readSymbols(); !status)
    return status;
  if (Status status = readNotes(); !status)
    return status;
  return readRelocations();
}

const FunctionSymbol *CodeImage::functionAt(uint64_t address) const {
  auto it = std::upper_bound(functions.begin(), functions.end(), address,
                             [](uint64_t a, const FunctionSymbol &f) { return a < f.begin; });
  if (it == functions.begin())
    return nullptr;
  --it;
  return it->size == 0 || address - it->begin < it->size ? &*it : nullptr;
}

Result<std::unique_ptr<CodeImage>> sim::readCodeImage(std::string_view bytes,
                                                      std::string_view name) {
  auto bad = [&](const std::string &what) {
    return invalidInput("'" + std::string(name) + "' is not a valid code object: " + what);
  };
  if (bytes.size() < sizeof(ElfFile::Elf_Ehdr))
    return bad("it has " + std::to_string(bytes.size()) + " bytes, fewer than an ELF header");
  if (!StringRef(bytes.data(), 4).starts_with("\177ELF"))
    return bad("it does not start with the ELF magic");
  if (bytes[ELF::EI_CLASS] != ELF::ELFCLASS64 || bytes[ELF::EI_DATA] != ELF::ELFDATA2LSB)
    return bad("it is not a 64-bit little-endian ELF file");
  auto elf = ElfFile::create(StringRef(bytes.data(), bytes.size()));
  if (!elf)
    return bad(llvm::toString(elf.takeError()));
  Reader reader(*elf, name);
  if (Status status = reader.run(); !status)
    return status.error();
  std::unique_ptr<CodeImage> image = reader.take();
  if (StringRef(bytes.data(), bytes.size()).contains(".debug_line"))
    image->debugFile = bytes;
  return image;
}
