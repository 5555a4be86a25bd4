// See KernelFile.h. Layout: headers, note, symbols and descriptor at address 0; text at 0x1000.
#include "KernelFile.h"

#include "Assembler.h"

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/BinaryFormat/MsgPackDocument.h"
#include "llvm/Support/AMDHSAKernelDescriptor.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace hocket::sim::test;
namespace ELF = llvm::ELF;

static const char *const source = "s_load_dwordx2 s[6:7], s[0:1], 0x0\n"
                                  "s_load_dword s8, s[0:1], 0x8\n"
                                  "s_load_dwordx2 s[10:11], s[0:1], 0x10\n"
                                  "s_waitcnt lgkmcnt(0)\n"
                                  "s_mul_i32 s12, s3, s10\n"
                                  "s_add_u32 s12, s12, s2\n"
                                  "s_lshl_b32 s12, s12, 9\n"
                                  "v_lshlrev_b32 v1, 2, v0\n"
                                  "v_add_u32 v1, s12, v1\n"
                                  "s_add_u32 s8, s8, s10\n"
                                  "v_mov_b32 v2, s8\n"
                                  "global_store_dword v1, v2, s[6:7]\n"
                                  "s_endpgm\n";

static constexpr uint64_t textAddress = 0x1000;

static std::string makeMetadata(const KernelFile &file) {
  llvm::msgpack::Document document;
  auto root = document.getRoot().getMap(/*Convert=*/true);
  auto kernel = document.getMapNode();
  kernel[".name"] = document.getNode("k");
  kernel[".symbol"] = document.getNode(file.symbol, /*Copy=*/true);
  kernel[".kernarg_segment_size"] = document.getNode(file.kernargSize);
  kernel[".group_segment_fixed_size"] = document.getNode(128u);
  kernel[".private_segment_fixed_size"] = document.getNode(0u);
  kernel[".max_flat_workgroup_size"] = document.getNode(256u);
  if (file.vgprs)
    kernel[".vgpr_count"] = document.getNode(file.vgprs);
  kernel[".wavefront_size"] = document.getNode(file.waveSize);
  auto arguments = document.getArrayNode();
  auto add = [&](const std::string &kind, unsigned offset, unsigned size) {
    auto argument = document.getMapNode();
    argument[".value_kind"] = document.getNode(kind, /*Copy=*/true);
    argument[".offset"] = document.getNode(offset);
    argument[".size"] = document.getNode(size);
    arguments.push_back(argument);
  };
  add("global_buffer", 0, file.pointerSize);
  add("by_value", file.numberAt, 4);
  add("hidden_block_count_x", 16, 4);
  add(file.hiddenKind, 20, 4);
  kernel[".args"] = arguments;
  auto kernels = document.getArrayNode();
  kernels.push_back(kernel);
  root["amdhsa.kernels"] = kernels;
  std::string blob;
  document.writeToBlob(blob);
  return blob;
}

static std::string makeNote(const KernelFile &file) {
  std::string blob = makeMetadata(file);
  uint32_t header[3] = {7, static_cast<uint32_t>(blob.size()), ELF::NT_AMDGPU_METADATA};
  std::string note(reinterpret_cast<const char *>(header), sizeof(header));
  note += std::string("AMDGPU\0\0", 8) + blob;
  note.resize((note.size() + 3) / 4 * 4);
  return note;
}

namespace {
/// A file that grows; `place` appends and returns where.
struct Builder {
  std::string bytes;
  uint64_t place(const std::string &part, size_t alignment = 8) {
    bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
    uint64_t at = bytes.size();
    bytes += part;
    return at;
  }
  template <class T> void put(uint64_t at, const T &value) {
    std::memcpy(bytes.data() + at, &value, sizeof(value));
  }
};
} // namespace

template <class T> static std::string raw(const T &value) {
  return {reinterpret_cast<const char *>(&value), sizeof(value)};
}

static std::string makeDescriptor(const KernelFile &file, uint64_t at) {
  llvm::amdhsa::kernel_descriptor_t descriptor = {};
  descriptor.group_segment_fixed_size = 128;
  descriptor.kernarg_size = file.kernargSize;
  descriptor.kernel_code_entry_byte_offset =
      static_cast<int64_t>(textAddress - at) + file.entryOffset;
  descriptor.compute_pgm_rsrc1 = 0xf0 << 12 | 1 << 21 | 1 << 23;
  descriptor.compute_pgm_rsrc3 = file.accumOffset / 4 - 1;
  descriptor.compute_pgm_rsrc2 = 2 << 1 | 7 << 7;
  descriptor.kernel_code_properties = file.properties;
  return raw(descriptor);
}

static ELF::Elf64_Phdr segment(uint32_t type, uint32_t flags, uint64_t address, uint64_t size) {
  ELF::Elf64_Phdr header = {};
  header.p_type = type;
  header.p_flags = flags;
  header.p_offset = header.p_vaddr = header.p_paddr = address;
  header.p_filesz = header.p_memsz = size;
  header.p_align = type == ELF::PT_NOTE ? 4 : 0x1000;
  return header;
}

static ELF::Elf64_Shdr section(uint32_t type, uint64_t at, uint64_t size) {
  ELF::Elf64_Shdr header = {};
  header.sh_type = type;
  header.sh_flags = ELF::SHF_ALLOC;
  header.sh_addr = header.sh_offset = at;
  header.sh_size = size;
  header.sh_addralign = 8;
  return header;
}

std::string hocket::sim::test::makeKernelFile(const KernelFile &file) {
  Assembled text = assemble(file.source.empty() ? source : file.source);
  EXPECT_FALSE(text.bytes.empty()) << text.error;
  Builder builder;
  builder.place(std::string(sizeof(ELF::Elf64_Ehdr), '\0'));
  uint64_t segments = builder.place(std::string(3 * sizeof(ELF::Elf64_Phdr), '\0'));
  std::string note = makeNote(file);
  uint64_t noteAt = builder.place(note);
  std::string strings("\0k.kd\0", 6);
  uint64_t stringsAt = builder.place(strings);
  uint64_t descriptorAt = builder.place(std::string(64, '\0'), 64);
  builder.bytes.replace(descriptorAt, 64, makeDescriptor(file, descriptorAt));

  ELF::Elf64_Sym symbol = {};
  symbol.st_name = 1;
  symbol.setBindingAndType(ELF::STB_GLOBAL, ELF::STT_OBJECT);
  symbol.st_shndx = 1;
  symbol.st_value = descriptorAt;
  symbol.st_size = 64;
  uint64_t symbolsAt = builder.place(raw(ELF::Elf64_Sym{}) + raw(symbol));
  uint64_t dataEnd = builder.bytes.size();
  builder.bytes.resize(textAddress);
  builder.place(text.bytes);

  ELF::Elf64_Shdr symbols = section(ELF::SHT_DYNSYM, symbolsAt, 2 * sizeof(symbol));
  symbols.sh_link = 2;
  symbols.sh_info = 1;
  symbols.sh_entsize = sizeof(symbol);
  uint64_t sections = builder.place(raw(ELF::Elf64_Shdr{}) + raw(symbols) +
                                    raw(section(ELF::SHT_STRTAB, stringsAt, strings.size())));

  ELF::Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, "\177ELF\2\1\1", 7);
  header.e_ident[ELF::EI_OSABI] = ELF::ELFOSABI_AMDGPU_HSA;
  header.e_ident[ELF::EI_ABIVERSION] = ELF::ELFABIVERSION_AMDGPU_HSA_V5;
  header.e_type = ELF::ET_DYN;
  header.e_machine = ELF::EM_AMDGPU;
  header.e_version = 1;
  header.e_phoff = segments;
  header.e_shoff = sections;
  header.e_flags = 0x54f;
  header.e_ehsize = sizeof(header);
  header.e_phentsize = sizeof(ELF::Elf64_Phdr);
  header.e_phnum = 3;
  header.e_shentsize = sizeof(ELF::Elf64_Shdr);
  header.e_shnum = 3;
  builder.put(0, header);
  builder.put(segments, segment(ELF::PT_LOAD, ELF::PF_R, 0, dataEnd));
  builder.put(segments + sizeof(ELF::Elf64_Phdr),
              segment(ELF::PT_LOAD, ELF::PF_R | ELF::PF_X, textAddress, text.bytes.size()));
  builder.put(segments + 2 * sizeof(ELF::Elf64_Phdr),
              segment(ELF::PT_NOTE, ELF::PF_R, noteAt, note.size()));
  return builder.bytes;
}
