// From ELF bytes to KernelInfo records: header, notes, the AMDGPU metadata note, its MsgPack map.
//
// Layouts: ELF64 as in the System V gABI; note type NT_AMDGPU_METADATA (32), owner "AMDGPU", and
// the keys of the metadata map as in LLVM's AMDGPUUsage ("Code Object V3 Metadata" and later).
#include "hocket/Runtime/CodeObjectInfo.h"

#include "MsgPack.h"

#include "Target/Arch/KnownChips.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

using namespace hocket;
using namespace hocket::runtime;

namespace {
constexpr uint16_t machineAmdgpu = 224;
constexpr uint8_t osAbiAmdhsa = 64;
constexpr uint32_t segmentNote = 4;
constexpr uint32_t sectionNote = 7;
constexpr uint32_t sectionNoBits = 8;
constexpr uint32_t noteAmdgpuMetadata = 32;

struct ElfHeader {
  uint8_t ident[16];
  uint16_t type, machine;
  uint32_t version;
  uint64_t entry, programHeaders, sectionHeaders;
  uint32_t flags;
  uint16_t headerSize, programHeaderSize, programHeaderCount, sectionHeaderSize, sectionHeaderCount,
      sectionNames;
};
struct ProgramHeader {
  uint32_t type, flags;
  uint64_t offset, address, physical, fileSize, memorySize, alignment;
};
struct SectionHeader {
  uint32_t name, type;
  uint64_t flags, address, offset, size;
  uint32_t link, info;
  uint64_t alignment, entrySize;
};
struct NoteHeader {
  uint32_t nameSize, contentSize, type;
};
static_assert(sizeof(ElfHeader) == 64 && sizeof(ProgramHeader) == 56 &&
              sizeof(SectionHeader) == 64);

using Bytes = std::span<const std::byte>;

/// Reads kernels out of the metadata map; the first problem is kept in `error`.
class MetadataReader {
public:
  explicit MetadataReader(std::string file) : file(std::move(file)) {}
  std::vector<KernelMetadata> kernels(const MsgPackNode &root);
  std::string error;

private:
  void fail(const std::string &what) {
    if (error.empty())
      error = "code object '" + file + "': " + what;
  }
  std::string string(const MsgPackNode &map, const char *key, const std::string &where,
                     bool required);
  uint32_t number(const MsgPackNode &map, const char *key, const std::string &where, bool required);
  bool flag(const MsgPackNode &map, const char *key, const std::string &where);
  KernelMetadata kernel(const MsgPackNode &map);
  std::vector<KernelArgument> arguments(const MsgPackNode &list, const KernelInfo &info);
  std::string file;
};
} // namespace

template <typename T> static bool readAt(Bytes bytes, uint64_t offset, T &value) {
  if (offset > bytes.size() || sizeof(T) > bytes.size() - offset)
    return false;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return true;
}

static bool slice(Bytes bytes, uint64_t offset, uint64_t size, Bytes &out) {
  if (offset > bytes.size() || size > bytes.size() - offset)
    return false;
  out = bytes.subspan(offset, size);
  return true;
}

/// The content of the metadata note in one note segment or section; empty if it is not there.
static Bytes findMetadata(Bytes notes) {
  auto padded = [](uint64_t size) { return (size + 3) & ~uint64_t(3); };
  NoteHeader header;
  for (uint64_t offset = 0; readAt(notes, offset, header);) {
    Bytes name, content;
    offset += sizeof(header);
    if (!slice(notes, offset, header.nameSize, name))
      return {};
    offset += padded(header.nameSize);
    if (!slice(notes, offset, header.contentSize, content))
      return {};
    offset += padded(header.contentSize);
    if (header.type == noteAmdgpuMetadata && name.size() == 7 &&
        std::memcmp(name.data(), "AMDGPU", 7) == 0)
      return content;
  }
  return {};
}

/// Looks through segments (a linked file) and sections (an object file) for the metadata note.
static Result<Bytes> locateMetadata(Bytes bytes, const ElfHeader &elf, const std::string &file) {
  auto damaged = [&] {
    return invalidInput("code object '" + file +
                        "' is damaged or cut short: its header tables reach "
                        "past the end of the file (" +
                        std::to_string(bytes.size()) + " bytes)");
  };
  // Everything the tables speak of must be in the file, also behind the note: a cut file is refused
  // here and not by a device that has less to say about it.
  Bytes found;
  for (unsigned i = 0; i != elf.programHeaderCount; ++i) {
    ProgramHeader header;
    Bytes content;
    if (elf.programHeaders > bytes.size() ||
        !readAt(bytes, elf.programHeaders + uint64_t(i) * elf.programHeaderSize, header) ||
        !slice(bytes, header.offset, header.fileSize, content))
      return damaged();
    if (header.type == segmentNote && found.empty())
      found = findMetadata(content);
  }
  for (unsigned i = 0; i != elf.sectionHeaderCount; ++i) {
    SectionHeader header;
    Bytes content;
    if (elf.sectionHeaders > bytes.size() ||
        !readAt(bytes, elf.sectionHeaders + uint64_t(i) * elf.sectionHeaderSize, header))
      return damaged();
    if (header.type == sectionNoBits)
      continue;
    if (!slice(bytes, header.offset, header.size, content))
      return damaged();
    if (header.type == sectionNote && found.empty())
      found = findMetadata(content);
  }
  if (!found.empty())
    return found;
  return invalidInput("code object '" + file +
                      "' has no AMDGPU metadata note; kernels need "
                      "'.amdgpu_metadata', which compilers write for amdgcn-amd-amdhsa");
}

static Result<ElfHeader> readHeader(Bytes bytes, const std::string &file) {
  ElfHeader elf;
  if (bytes.size() < 4 || std::memcmp(bytes.data(), "\177ELF", 4) != 0)
    return invalidInput("'" + file +
                        "' is not a code object: it does not start as an ELF file does; "
                        "offload bundles must be unbundled first");
  if (!readAt(bytes, 0, elf))
    return invalidInput("code object '" + file + "' is damaged or cut short: " +
                        std::to_string(bytes.size()) + " bytes are less than an ELF header");
  if (elf.ident[4] != 2 || elf.ident[5] != 1 || elf.machine != machineAmdgpu)
    return invalidInput("'" + file + "' is an ELF file for another machine (e_machine " +
                        std::to_string(elf.machine) +
                        "), an AMDGPU code object is 64-bit "
                        "little-endian with e_machine 224");
  if (elf.ident[7] != osAbiAmdhsa)
    return invalidInput("code object '" + file + "' is not for the HSA ABI (OS ABI " +
                        std::to_string(elf.ident[7]) +
                        ", wanted 64); compile it for "
                        "amdgcn-amd-amdhsa");
  return elf;
}

std::string MetadataReader::string(const MsgPackNode &map, const char *key,
                                   const std::string &where, bool required) {
  const MsgPackNode *node = map.find(key);
  if (node && node->kind == MsgPackNode::Kind::String)
    return node->string;
  if (node)
    fail(std::string("metadata key '") + key + "' of " + where + " is not a string");
  else if (required)
    fail(std::string("metadata key '") + key + "' of " + where + " is missing");
  return {};
}

uint32_t MetadataReader::number(const MsgPackNode &map, const char *key, const std::string &where,
                                bool required) {
  const MsgPackNode *node = map.find(key);
  if (node && node->unsignedValue && *node->unsignedValue <= UINT32_MAX)
    return static_cast<uint32_t>(*node->unsignedValue);
  if (node)
    fail(std::string("metadata key '") + key + "' of " + where +
         " is not an unsigned 32-bit number");
  else if (required)
    fail(std::string("metadata key '") + key + "' of " + where + " is missing");
  return 0;
}

/// Gives device addresses that are called 4 bytes their 8, where there is room for them.
static void widenPointers(std::vector<KernelArgument> &arguments, uint32_t kernargSize) {
  for (KernelArgument &argument : arguments) {
    if (argument.kind != "global_buffer" || argument.size != 4)
      continue;
    const uint64_t end = uint64_t(argument.offset) + 8;
    const bool free = std::none_of(
        arguments.begin(), arguments.end(), [&](const KernelArgument &other) {
          return &other != &argument && other.offset < end && argument.offset < other.end();
        });
    if (free && end <= kernargSize)
      argument.size = 8;
  }
}

std::vector<KernelArgument> MetadataReader::arguments(const MsgPackNode &list,
                                                      const KernelInfo &info) {
  std::vector<KernelArgument> result;
  for (const MsgPackNode &entry : list.array) {
    KernelArgument argument;
    std::string where =
        "argument " + std::to_string(result.size()) + " of kernel '" + info.name + "'";
    argument.name = string(entry, ".name", where, false);
    argument.kind = string(entry, ".value_kind", where, true);
    argument.offset = number(entry, ".offset", where, true);
    argument.size = number(entry, ".size", where, true);
    if (argument.end() > info.kernargSize)
      fail(where + " ends at byte " + std::to_string(argument.end()) +
           ", the kernarg segment has " + std::to_string(info.kernargSize));
    result.push_back(std::move(argument));
  }
  widenPointers(result, info.kernargSize);
  return result;
}

bool MetadataReader::flag(const MsgPackNode &map, const char *key, const std::string &where) {
  const MsgPackNode *node = map.find(key);
  if (node && node->kind != MsgPackNode::Kind::Boolean)
    fail(std::string("metadata key '") + key + "' of " + where + " is not true or false");
  return node && node->boolean;
}

KernelMetadata MetadataReader::kernel(const MsgPackNode &map) {
  KernelMetadata metadata;
  KernelInfo &info = metadata.info;
  info.name = string(map, ".name", "a kernel", true);
  std::string where = "kernel '" + info.name + "'";
  info.kernargSize = number(map, ".kernarg_segment_size", where, true);
  info.staticLds = number(map, ".group_segment_fixed_size", where, true);
  info.privateSegment = number(map, ".private_segment_fixed_size", where, true);
  info.vgprs = number(map, ".vgpr_count", where, false);
  info.agprs = number(map, ".agpr_count", where, false);
  info.sgprs = number(map, ".sgpr_count", where, false);
  info.vgprSpills = number(map, ".vgpr_spill_count", where, false);
  info.sgprSpills = number(map, ".sgpr_spill_count", where, false);
  info.maxWorkgroupSize = number(map, ".max_flat_workgroup_size", where, false);
  if (const MsgPackNode *list = map.find(".args"))
    info.arguments = arguments(*list, info);
  metadata.descriptor = string(map, ".symbol", where, true);
  metadata.waveSize = number(map, ".wavefront_size", where, false);
  metadata.dynamicStack = flag(map, ".uses_dynamic_stack", where);
  return metadata;
}

std::vector<KernelMetadata> MetadataReader::kernels(const MsgPackNode &root) {
  std::vector<KernelMetadata> result;
  const MsgPackNode *list = root.find("amdhsa.kernels");
  if (!list || list->kind != MsgPackNode::Kind::Array) {
    fail("metadata has no list 'amdhsa.kernels'");
    return result;
  }
  for (const MsgPackNode &entry : list->array)
    result.push_back(kernel(entry));
  return result;
}

/// The processor of "amdgcn-amd-amdhsa--gfx950:xnack-": behind the last dash of what precedes the
/// features, which contain dashes of their own.
static std::string processor(std::string_view target) {
  target = target.substr(0, target.find(':'));
  size_t dash = target.rfind('-');
  return std::string(dash == std::string_view::npos ? target : target.substr(dash + 1));
}

/// The processor that the ELF header names; "" if it is none of those known here. Hand-written code
/// objects may have nothing else.
static std::string processor(const ElfHeader &elf) {
  const ArchInfo *arch = findArchByElf(elf.flags & 0xff);
  return arch ? std::string(arch->name) : "";
}

static Result<std::vector<KernelMetadata>> readKernels(const MsgPackNode &root,
                                                       const std::string &file) {
  MetadataReader reader(file);
  std::vector<KernelMetadata> kernels = reader.kernels(root);
  if (!reader.error.empty())
    return invalidInput(reader.error);
  return kernels;
}

static Result<MsgPackNode> parseNote(Bytes note, const std::string &file) {
  Result<MsgPackNode> root = parseMsgPack(note);
  if (!root.ok())
    return invalidInput("code object '" + file + "': metadata: " + root.error().message);
  return root;
}

Result<std::vector<KernelMetadata>> runtime::readKernelMetadata(Bytes note, std::string_view name) {
  const std::string file(name);
  Result<MsgPackNode> root = parseNote(note, file);
  if (!root.ok())
    return root.error();
  return readKernels(*root, file);
}

Result<CodeObjectInfo> runtime::readCodeObjectInfo(Bytes bytes, std::string_view name) {
  CodeObjectInfo info;
  info.name = name;
  Result<ElfHeader> elf = readHeader(bytes, info.name);
  if (!elf.ok())
    return elf.error();
  Result<Bytes> content = locateMetadata(bytes, *elf, info.name);
  if (!content.ok())
    return content.error();
  Result<MsgPackNode> root = parseNote(*content, info.name);
  if (!root.ok())
    return root.error();
  Result<std::vector<KernelMetadata>> kernels = readKernels(*root, info.name);
  if (!kernels.ok())
    return kernels.error();
  for (KernelMetadata &kernel : *kernels)
    info.kernels.push_back(std::move(kernel.info));
  // EI_ABIVERSION counts code object versions from 2.
  info.version = elf->ident[8] + 2u;
  if (const MsgPackNode *target = root->find("amdhsa.target"))
    info.target = target->string;
  info.architecture = info.target.empty() ? processor(*elf) : processor(info.target);
  return info;
}

std::vector<std::string> CodeObjectInfo::kernelNames() const {
  std::vector<std::string> names;
  for (const KernelInfo &kernel : kernels)
    names.push_back(kernel.name);
  return names;
}

Result<const KernelInfo *> CodeObjectInfo::find(std::string_view kernel) const {
  std::string list;
  for (const KernelInfo &info : kernels) {
    if (info.name == kernel)
      return &info;
    list += (list.empty() ? "'" : ", '") + info.name + "'";
  }
  return notFound("code object '" + name + "' has no kernel '" + std::string(kernel) +
                  "'; it has " + (list.empty() ? "none" : list));
}

std::string runtime::formatAddress(DeviceAddress address) {
  char text[19];
  std::snprintf(text, sizeof(text), "0x%016llx", static_cast<unsigned long long>(address));
  return text;
}
