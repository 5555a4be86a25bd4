// Entries to bytes and back. Bytes are taken as hostile: disks fail, files are cut short.
#include "CacheFormat.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/Endian.h"

#include <array>

using namespace hocket;
using namespace hocket::jit;

static constexpr llvm::StringLiteral kMagic = "hocketK1";
static constexpr size_t kHashBytes = 32;
static constexpr size_t kHeaderBytes = kMagic.size() + kHashBytes;

static std::string hashOf(std::string_view bytes) {
  llvm::BLAKE3 hasher;
  hasher.update(llvm::StringRef(bytes));
  std::array<uint8_t, kHashBytes> hash = hasher.final<kHashBytes>();
  return std::string(hash.begin(), hash.end());
}

std::string jit::contentHash(std::string_view text) {
  return llvm::toHex(hashOf(text), /*LowerCase=*/true);
}

std::string jit::encodeEntry(const CacheEntry &entry) {
  std::string body;
  for (const std::string *part :
       {&entry.key, &entry.description, &entry.manifest, &entry.report, &entry.codeObject}) {
    char length[8];
    llvm::support::endian::write64le(length, part->size());
    body.append(length, sizeof(length));
    body += *part;
  }
  return kMagic.str() + hashOf(body) + body;
}

Result<CacheEntry> jit::decodeEntry(std::string_view bytes) {
  llvm::StringRef text(bytes);
  if (text.size() < kHeaderBytes || !text.starts_with(kMagic))
    return invalidInput("it does not start as an entry does");
  llvm::StringRef body = text.drop_front(kHeaderBytes);
  if (text.substr(kMagic.size(), kHashBytes) != hashOf(body))
    return invalidInput("its checksum does not match its content");
  CacheEntry entry;
  for (std::string *part :
       {&entry.key, &entry.description, &entry.manifest, &entry.report, &entry.codeObject}) {
    if (body.size() < 8)
      return invalidInput("it ends early");
    uint64_t length = llvm::support::endian::read64le(body.data());
    body = body.drop_front(8);
    if (length > body.size())
      return invalidInput("it ends early");
    *part = body.take_front(length).str();
    body = body.drop_front(length);
  }
  if (!body.empty())
    return invalidInput("there is more behind its end");
  return entry;
}
