// Finds the end of an image from its headers, the right entry of a bundle, and symbols.
//
// The bundle is clang's (llvm.org, "Clang Offload Bundler"): a magic string, a count, and for each
// entry offset, size and target name; host code first, with nothing in it.
#include "Image.h"

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
static constexpr StringRef target = "gfx950";

template <typename T> static T readAt(const char *bytes, uint64_t offset) {
  T value;
  std::memcpy(&value, bytes + offset, sizeof(T));
  return value;
}

/// One past the last byte that the ELF file's headers speak of.
static uint64_t elfSize(const char *image) {
  using namespace llvm::ELF;
  const auto header = readAt<Elf64_Ehdr>(image, 0);
  uint64_t end = std::max({uint64_t(header.e_ehsize),
                           header.e_phoff + uint64_t(header.e_phnum) * header.e_phentsize,
                           header.e_shoff + uint64_t(header.e_shnum) * header.e_shentsize});
  for (unsigned i = 0; i != header.e_phnum; ++i) {
    const auto segment =
        readAt<Elf64_Phdr>(image, header.e_phoff + uint64_t(i) * header.e_phentsize);
    end = std::max<uint64_t>(end, segment.p_offset + segment.p_filesz);
  }
  for (unsigned i = 0; i != header.e_shnum; ++i) {
    const auto section =
        readAt<Elf64_Shdr>(image, header.e_shoff + uint64_t(i) * header.e_shentsize);
    if (section.sh_type != SHT_NOBITS)
      end = std::max<uint64_t>(end, section.sh_offset + section.sh_size);
  }
  return end;
}

/// Whether a 64-bit ELF file with sane header sizes begins at `image`.
static bool isElf(const char *image) {
  using namespace llvm::ELF;
  if (std::memcmp(image, ElfMagic, 4) != 0 || image[EI_CLASS] != ELFCLASS64)
    return false;
  const auto header = readAt<Elf64_Ehdr>(image, 0);
  constexpr uint64_t limit = uint64_t(1) << 40; // keeps the sums above from wrapping
  return (header.e_phnum == 0 || header.e_phentsize >= sizeof(Elf64_Phdr)) &&
         (header.e_shnum == 0 || header.e_shentsize >= sizeof(Elf64_Shdr)) &&
         header.e_phoff < limit && header.e_shoff < limit;
}

static CodeObjectBytes copy(const char *begin, uint64_t bytes) {
  auto *data = reinterpret_cast<const std::byte *>(begin);
  return CodeObjectBytes(data, data + bytes);
}

/// How well the entry for `triple` suits: 0 not at all, else the more the better.
static unsigned suitability(StringRef triple) {
  // "hipv4-amdgcn-amd-amdhsa--gfx950:sramecc+:xnack-"; older ones begin with "hip-".
  if (!triple.starts_with("hip") || !triple.contains("-amdgcn-amd-amdhsa-"))
    return 0;
  const auto [rest, processor] = triple.rsplit("--");
  const auto [name, features] = processor.split(':');
  if (name != target || features.contains("xnack+") || features.contains("sramecc-"))
    return 0;
  return features.empty() ? 2 : 1;
}

static FoundImage findInBundle(const char *image) {
  FoundImage found;
  found.fault = ImageFault::NoBinaryForGpu;
  const uint64_t entries = readAt<uint64_t>(image, bundleMagic.size());
  uint64_t at = bundleMagic.size() + 8;
  unsigned best = 0;
  std::string names;
  for (uint64_t i = 0; i != entries; ++i) {
    const auto offset = readAt<uint64_t>(image, at), size = readAt<uint64_t>(image, at + 8),
               length = readAt<uint64_t>(image, at + 16);
    const StringRef triple(image + at + 24, length);
    at += 24 + length;
    names += (names.empty() ? "'" : ", '") + triple.str() + "'";
    const unsigned score = suitability(triple);
    if (score <= best || size == 0)
      continue;
    best = score;
    found.codeObject = copy(image + offset, size);
  }
  if (!found.codeObject)
    found.message = "the bundle has no code object for '" + target.str() + "', it has " +
                    (names.empty() ? "nothing" : names) +
                    "; compile with --offload-arch=" + target.str();
  return found;
}

FoundImage hip::findCodeObject(const void *image) {
  const char *bytes = static_cast<const char *>(image);
  if (!bytes)
    return {std::nullopt, ImageFault::NotAnImage, "the image is null; pass a code object"};
  if (std::memcmp(bytes, compressedMagic.data(), compressedMagic.size()) == 0)
    return {std::nullopt, ImageFault::Compressed,
            "the bundle is compressed, which is not supported; compile with --no-offload-compress"};
  if (isElf(bytes))
    return {copy(bytes, elfSize(bytes)), ImageFault::NotAnImage, ""};
  if (std::memcmp(bytes, bundleMagic.data(), bundleMagic.size()) == 0)
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
