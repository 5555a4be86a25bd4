// Finds the end of an image from its headers, the right entry of a bundle, and symbols.
//
// The bundle is clang's (llvm.org, "Clang Offload Bundler"): a magic string, a count, and for each
// entry offset, size and target name; host code first, with nothing in it. A compressed one has "CCOB", a version, a method
// (0 zlib, 1 zstd), from version 2 on its own size, the size of the bundle, and 8 bytes of a hash, which is not looked at.
#include "Image.h"
#include "Properties.h"

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

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

static FoundImage damaged(std::string what) {
  return {std::nullopt, ImageFault::NotAnImage, "the compressed bundle " + std::move(what)};
}

/// The sizes and the method that a compressed bundle's header says.
struct CompressedHeader {
  uint16_t version = 0, method = 0;
  uint64_t bytes = 0; ///< of header
  uint64_t total = 0; ///< with the header; 0: it does not say
  uint64_t content = 0;
};

static CompressedHeader readHeader(const Bytes &image) {
  CompressedHeader header = {image.at<uint16_t>(4), image.at<uint16_t>(6)};
  switch (header.version) {
  case 1:
    return {1, header.method, 20, 0, image.at<uint32_t>(8)};
  case 2:
    return {2, header.method, 24, image.at<uint32_t>(8), image.at<uint32_t>(12)};
  case 3:
    return {3, header.method, 32, image.at<uint64_t>(8), image.at<uint64_t>(16)};
  }
  return header;
}

static FoundImage findInCompressed(const Bytes &image) {
  const CompressedHeader header = readHeader(image);
  if (header.bytes == 0 || header.method > 1)
    return damaged("is of version " + std::to_string(header.version) + " and method " + std::to_string(header.method) +
                   "; known are versions 1 to 3, zlib (0) and zstd (1)");
  const uint64_t total = header.total ? header.total : image.size;
  if (total == unknownSize)
    return damaged("is of version 1, which does not say its length, and is in memory; compile with a clang that writes "
                   "version 2, or with --no-offload-compress");
  if (total < header.bytes || total > mostBytes || !image.has(0, total))
    return damaged("has " + std::to_string(image.size) + " bytes, its header says " + std::to_string(total));
  if (header.content > mostBytes)
    return damaged("says that it holds " + std::to_string(header.content) + " bytes; it is damaged");
  const auto format = static_cast<llvm::compression::Format>(header.method);
  if (const char *reason = llvm::compression::getReasonIfUnsupported(format))
    return {std::nullopt, ImageFault::Compressed, std::string("the bundle is compressed: ") + reason};
  // Neither LLVM nor the host stops at a size that a header makes up.
  std::unique_ptr<uint8_t[]> content(new (std::nothrow) uint8_t[header.content]);
  if (!content)
    return damaged("holds " + std::to_string(header.content) + " bytes, which the host has no memory for");
  const llvm::ArrayRef<uint8_t> packed(reinterpret_cast<const uint8_t *>(image.begin) + header.bytes, total - header.bytes);
  size_t written = header.content;
  llvm::Error error = header.method == 0 ? llvm::compression::zlib::decompress(packed, content.get(), written)
                                         : llvm::compression::zstd::decompress(packed, content.get(), written);
  if (error)
    return damaged("cannot be decompressed: " + llvm::toString(std::move(error)));
  if (written != header.content)
    return damaged("holds " + std::to_string(written) + " bytes, its header says " + std::to_string(header.content));
  const Bytes bundle = {reinterpret_cast<const char *>(content.get()), written};
  return bundle.startsWith(bundleMagic) ? findInBundle(bundle) : damaged("holds something that is no bundle");
}

FoundImage hip::findCodeObject(const void *image, uint64_t size) {
  const Bytes bytes = {static_cast<const char *>(image), size};
  if (!image)
    return {std::nullopt, ImageFault::NotAnImage, "the image is null; pass a code object"};
  if (bytes.startsWith(compressedMagic))
    return findInCompressed(bytes);
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
