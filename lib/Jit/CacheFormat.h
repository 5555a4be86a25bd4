// One cache entry as bytes. Internal to lib/Jit.
//
// Header: 8 bytes of magic with the format's version, 32 bytes of BLAKE3 over all that follows.
// Then the parts of the entry, each a 64-bit little-endian length and its bytes, in the order of
// CacheEntry.
#pragma once

#include "hocket/Jit/DiskCache.h"

namespace hocket::jit {

std::string encodeEntry(const CacheEntry &entry);
/// InvalidInput says what is wrong with the bytes.
Result<CacheEntry> decodeEntry(std::string_view bytes);

} // namespace hocket::jit
