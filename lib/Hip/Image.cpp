// Finds the end of an image from its headers, the right entry of a bundle, and symbols.
//
// The bundle is clang's (llvm.org, "Clang Offload Bundler"): a magic string, a count, and for each
// entry offset, size and target name; host code first, with nothing in it.
#include "Image.h"
#include "Properties.h"

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>
#include <cstring>

using namespace hocket;
using namespace hocket::hip;
using llvm::StringRef;

static constexpr StringRef bundleMagic = "__CLANG_OFFLOAD_BUNDLE__";
static constexpr StringRef compressedMagic = "CCOB";
/// More than any code object and any target's name; beyond, headers are not believed.
static constexpr uint64_t mostBytes = uint64_t(1) << 32, mostNameBytes = 4096;

namespace {
/// The bytes of an image, of which no more than `size` may be read.
struct Bytes {
  const char *begin;
  uint64_t size;

  bool has(uint64_t offset, uint64_t bytes) const {
    return offset <= size && bytes <= size - offset;
  }
  /// The value at `offset`, or zeros past the end.
  template <typename T> T at(uint64_t offset) const {
    T value = {};
    if (has(offset, sizeof(T)))
      std::memcpy(&value, begin + offset, sizeof(T));
    return value;
  }
  bool startsWith(StringRef magic) const {
    return has(0, magic.size()) && std::memcmp(begin, magic.data(), magic.size()) == 0;
  }
  /// Up to `bytes` bytes from `offset` on.
  CodeObjectBytes copy(uint64_t offset, uint64_t bytes) const {
    offset = std::min(offset, size);
    auto *data = reinterpret_cast<const std::byte *>(begin + offset);
    return CodeObjectBytes(data, data + std::min(bytes, size - offset));
  }
};
} // namespace

/// One past the last byte that the ELF file's headers speak of.
static uint64_t elfSize(const Bytes &image) {
  using namespace llvm::ELF;
  const auto header = image.at<Elf64_Ehdr>(0);
  uint64_t end = std::max({uint64_t(header.e_ehsize),
                           header.e_phoff + uint64_t(header.e_phnum) * header.e_phentsize,
                           header.e_shoff + uint64_t(header.e_shnum) * header.e_shentsize});
  for (unsigned i = 0; i != header.e_phnum; ++i) {
    const auto segment = image.at<Elf64_Phdr>(header.e_phoff + uint64_t(i) * header.e_phentsize);
    end = std::max<uint64_t>(end, segment.p_offset + segment.p_filesz);
  }
  for (unsigned i = 0; i != header.e_shnum; ++i) {
    const auto section = image.at<Elf64_Shdr>(header.e_shoff + uint64_t(i) * header.e_shentsize);
    if (section.sh_type != SHT_NOBITS)
      end = std::max<uint64_t>(end, section.sh_offset + section.sh_size);
  }
  return end;
}

/// Whether a 64-bit ELF file with sane header sizes begins here.
static bool isElf(const Bytes &image) {
  using namespace llvm::ELF;
  const auto header = image.at<Elf64_Ehdr>(0);
  constexpr uint64_t limit = uint64_t(1) << 40; // keeps sums from wrapping
  return image.startsWith(StringRef(ElfMagic, 4)) && header.e_ident[EI_CLASS] == ELFCLASS64 &&
         (header.e_phnum == 0 || header.e_phentsize >= sizeof(Elf64_Phdr)) &&
         (header.e_shnum == 0 || header.e_shentsize >= sizeof(Elf64_Shdr)) &&
         header.e_phoff < limit && header.e_shoff < limit;
}

/// How well the entry for `triple` suits: 0 not at all, else the more the better.
static unsigned suitability(StringRef triple) {
  // "hipv4-amdgcn-amd-amdhsa--gfx950:sramecc+:xnack-"; older ones begin with "hip-".
  if (!triple.starts_with("hip") || !triple.contains("-amdgcn-amd-amdhsa-"))
    return 0;
  const auto [rest, processor] = triple.rsplit("--");
  const auto [name, features] = processor.split(':');
  if (name != StringRef(simulatedChip().name) || features.contains("xnack+") ||
      features.contains("sramecc-"))
    return 0;
  return features.empty() ? 2 : 1;
}

static FoundImage findInBundle(const Bytes &image) {
  constexpr uint64_t entryHeader = 3 * sizeof(uint64_t);
  const std::string chip(simulatedChip().name);
  FoundImage found;
  found.fault = ImageFault::NoBinaryForGpu;
  uint64_t at = bundleMagic.size();
  if (!image.has(at, sizeof(uint64_t)))
    return {std::nullopt, ImageFault::NotAnImage, "the bundle ends within its header"};
  const auto entries = image.at<uint64_t>(at);
  at += sizeof(uint64_t);
  unsigned best = 0;
  std::string names;
  for (uint64_t i = 0; i != entries; ++i) {
    const auto offset = image.at<uint64_t>(at), size = image.at<uint64_t>(at + 8),
               length = image.at<uint64_t>(at + 16);
    if (!image.has(at, entryHeader) || length > mostNameBytes || size > mostBytes ||
        !image.has(at + entryHeader, length) || !image.has(offset, size))
      return {std::nullopt, ImageFault::NotAnImage,
              "entry " + std::to_string(i) + " of the bundle passes its end; it is damaged"};
    const StringRef triple(image.begin + at + entryHeader, length);
    at += entryHeader + length;
    names += (names.empty() ? "'" : ", '") + triple.str() + "'";
    const unsigned score = suitability(triple);
    if (score <= best || size == 0)
      continue;
    best = score;
    found.codeObject = image.copy(offset, size);
  }
  if (!found.codeObject)
    found.message = "the bundle has no code object for '" + chip + "', it has " +
                    (names.empty() ? "nothing" : names) +
                    "; compile with --offload-arch=" + chip;
  return found;
}

FoundImage hip::findCodeObject(const void *image, uint64_t size) {
  const Bytes bytes = {static_cast<const char *>(image), size};
  if (!image)
    return {std::nullopt, ImageFault::NotAnImage, "the image is null; pass a code object"};
  if (bytes.startsWith(compressedMagic))
    return {std::nullopt, ImageFault::Compressed,
            "the bundle is compressed, which is not supported; compile with --no-offload-compress"};
  if (isElf(bytes)) {
    const uint64_t end = elfSize(bytes);
    if (end <= mostBytes)
      return {bytes.copy(0, end), ImageFault::NotAnImage, ""};
    return {std::nullopt, ImageFault::NotAnImage,
            "the code object's headers say that it has " + std::to_string(end) +
                " bytes; it is damaged"};
  }
  if (bytes.startsWith(bundleMagic))
    return findInBundle(bytes);
  return {std::nullopt, ImageFault::NotAnImage,
          "the image is neither a code object nor a bundle of them; it starts as neither does"};
}

std::optional<Variable> hip::findVariable(std::span<const std::byte> codeObject,
                                          std::string_view name) {
  const StringRef bytes(reinterpret_cast<const char *>(codeObject.data()), codeObject.size());
  auto file = llvm::object::ELF64LEObjectFile::create(llvm::MemoryBufferRef(bytes, "code object"));
  if (!file) {
    llvm::consumeError(file.takeError());
    return std::nullopt;
  }
  for (const llvm::object::ELFSymbolRef symbol : file->getDynamicSymbolIterators()) {
    auto symbolName = symbol.getName();
    auto value = symbol.getValue();
    if (!symbolName || !value) {
      llvm::consumeError(symbolName.takeError());
      llvm::consumeError(value.takeError());
      continue;
    }
    if (*symbolName == StringRef(name) && symbol.getELFType() == llvm::ELF::STT_OBJECT &&
        symbol.getSize() != 0)
      return Variable{*value, symbol.getSize()};
  }
  return std::nullopt;
}
