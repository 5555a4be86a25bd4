// The mutations. Headers and tables are hit often, since random bytes of a file mostly miss them.
#include "Mutate.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELF.h"

#include <algorithm>
#include <cstring>

using namespace hocket::fuzz;
using ElfFile = llvm::object::ELFFile<llvm::object::ELF64LE>;
using Bytes = std::vector<std::byte>;

uint64_t Random::next() {
  uint64_t z = (state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// Offset in the file of virtual address `address`, or the file's size.
static size_t fileOffset(const ElfFile &elf, uint64_t address, size_t size) {
  auto headers = elf.program_headers();
  if (!headers) {
    llvm::consumeError(headers.takeError());
    return size;
  }
  for (const auto &header : *headers)
    if (header.p_type == llvm::ELF::PT_LOAD && address >= header.p_vaddr &&
        address - header.p_vaddr < header.p_filesz)
      return static_cast<size_t>(header.p_offset + (address - header.p_vaddr));
  return size;
}

static void addDescriptors(const ElfFile &elf, const ElfFile::Elf_Shdr &section, size_t size,
                           Regions &regions) {
  auto symbols = elf.symbols(&section);
  auto names = elf.getStringTableForSymtab(section);
  if (!symbols || !names) {
    llvm::consumeError(symbols.takeError());
    llvm::consumeError(names.takeError());
    return;
  }
  for (const auto &symbol : *symbols) {
    auto name = symbol.getName(*names);
    size_t at = fileOffset(elf, symbol.st_value, size);
    if (!name)
      llvm::consumeError(name.takeError());
    else if (name->ends_with(".kd") && at + 64 <= size)
      regions.descriptors.push_back({at, 64});
  }
}

Regions hocket::fuzz::findRegions(const Bytes &bytes) {
  Regions regions;
  llvm::StringRef text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  auto elf = ElfFile::create(text);
  if (!elf) {
    llvm::consumeError(elf.takeError());
    return regions;
  }
  auto sections = elf->sections();
  if (!sections) {
    llvm::consumeError(sections.takeError());
    return regions;
  }
  for (const auto &section : *sections) {
    Regions::Range range{static_cast<size_t>(section.sh_offset),
                         static_cast<size_t>(section.sh_size)};
    if (range.begin > bytes.size() || range.size > bytes.size() - range.begin)
      continue;
    if (section.sh_flags & llvm::ELF::SHF_EXECINSTR)
      regions.code.push_back(range);
    if (section.sh_type == llvm::ELF::SHT_NOTE)
      regions.notes.push_back(range);
    if (section.sh_type == llvm::ELF::SHT_DYNSYM)
      addDescriptors(*elf, section, bytes.size(), regions);
  }
  return regions;
}

static void put(Bytes &bytes, size_t at, const void *from, size_t size) {
  if (at < bytes.size())
    std::memcpy(bytes.data() + at, from, std::min(size, bytes.size() - at));
}

/// A number that programs trip over.
static uint64_t absurd(Random &random) {
  static const uint64_t values[] = {0,
                                    1,
                                    0x7f,
                                    0xff,
                                    0xffff,
                                    0x7fffffff,
                                    0x80000000,
                                    0xffffffff,
                                    uint64_t(1) << 63,
                                    ~uint64_t(0),
                                    ~uint64_t(0) - 63,
                                    0x1000};
  return random.below(4) ? values[random.below(std::size(values))] : random.next();
}

static void changeWithin(Bytes &bytes, const std::vector<Regions::Range> &ranges, size_t unit,
                         Random &random) {
  if (ranges.empty() || bytes.empty())
    return;
  const Regions::Range &range = ranges[random.below(ranges.size())];
  size_t at = range.begin + random.below(range.size / unit) * unit;
  uint64_t value = absurd(random);
  put(bytes, at, &value, unit << random.below(2));
}

/// An instruction: random bits behind the prefix of some encoding.
static void changeCode(Bytes &bytes, const Regions &regions, Random &random) {
  static const uint32_t prefixes[][2] = {
      {0x80000000, 30}, {0xb0000000, 28}, {0xbe800000, 23}, {0xbf000000, 23}, {0xbf800000, 23},
      {0xc0000000, 26}, {0x00000000, 31}, {0x7e000000, 25}, {0x7c000000, 25}, {0xd0000000, 26},
      {0xd3800000, 23}, {0xd8000000, 26}, {0xdc000000, 26}, {0xe0000000, 26}, {0xe8000000, 26}};
  if (regions.code.empty())
    return;
  const Regions::Range &range = regions.code[random.below(regions.code.size())];
  // Near the start of the code, where it is reached.
  size_t reach = random.below(2) ? std::min<size_t>(range.size, 256) : range.size;
  size_t at = range.begin + random.below(reach / 4) * 4;
  const auto &prefix = prefixes[random.below(std::size(prefixes))];
  uint32_t low = static_cast<uint32_t>(random.next());
  uint32_t words[2] = {prefix[0] | (low & ((1u << prefix[1]) - 1)),
                       static_cast<uint32_t>(random.next())};
  put(bytes, at, words, random.below(2) ? 4 : 8);
}

static const char *change(Bytes &bytes, const Regions &regions, Random &random) {
  size_t size = bytes.size();
  switch (random.below(10)) {
  case 0:
    for (size_t i = 0, count = 1 + random.below(8); i < count && size; ++i)
      bytes[random.below(size)] ^= std::byte(1 << random.below(8));
    return "bits";
  case 1: {
    uint64_t value = absurd(random);
    put(bytes, random.below(size), &value, size_t(1) << random.below(4));
    return "a number";
  }
  case 2:
    bytes.resize(random.below(4) ? random.below(size) : random.below(std::min<size_t>(size, 600)));
    return "a cut";
  case 3: {
    uint64_t value = absurd(random);
    put(bytes, random.below(64), &value, size_t(1) << random.below(4));
    return "the header";
  }
  case 4: { // e_flags: the target
    uint32_t value =
        static_cast<uint32_t>(random.below(3) ? random.below(0x60) | 0x500 : random.next());
    put(bytes, 48, &value, 4);
    return "the target";
  }
  case 5:
    changeWithin(bytes, regions.descriptors, 4, random);
    return "a descriptor";
  case 6:
    changeWithin(bytes, regions.notes, 1, random);
    return "the metadata";
  case 7: { // program headers follow the header
    uint64_t value = absurd(random);
    put(bytes, 64 + random.below(56 * 8) / 8 * 8, &value, 8);
    return "a segment";
  }
  default:
    changeCode(bytes, regions, random);
    return "the code";
  }
}

Bytes hocket::fuzz::mutate(const Bytes &bytes, const Regions &regions, Random &random,
                           std::string &what) {
  Bytes changed = bytes;
  what.clear();
  for (size_t i = 0, count = 1 + random.below(4); i < count; ++i)
    what += (what.empty() ? "" : ", ") + std::string(change(changed, regions, random));
  return changed;
}
