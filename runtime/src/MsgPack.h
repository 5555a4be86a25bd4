// A reader for MsgPack documents, as AMDGPU metadata is written in. Internal to the runtime.
//
// Small on purpose: the runtime links no LLVM. Maps keep their order, strings are copied, nesting
// is bounded, and no count is believed before the bytes for it are there.
#pragma once

#include "hocket/Support/Result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::runtime {

/// One node of a document. Floats and extension values are read over and become `Other`.
struct MsgPackNode {
  enum class Kind { Nil, Boolean, Integer, String, Array, Map, Other };
  Kind kind = Kind::Nil;
  bool boolean = false;
  std::optional<uint64_t> unsignedValue; ///< set for integers that are not negative
  std::string string;
  std::vector<MsgPackNode> array; ///< of a map: its values
  std::vector<MsgPackNode> keys;  ///< of a map: its keys, in the same order

  /// The value of the map's string key `key`, or null.
  const MsgPackNode *find(std::string_view key) const;
};

/// Parses the one document in `bytes`; bytes after it are ignored (notes are padded).
Result<MsgPackNode> parseMsgPack(std::span<const std::byte> bytes);

} // namespace hocket::runtime
