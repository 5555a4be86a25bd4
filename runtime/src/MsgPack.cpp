// The MsgPack format (github.com/msgpack/msgpack, spec.md): one tag byte says kind and, for short
// values, size; longer ones are followed by a big-endian count.
#include "MsgPack.h"

using namespace hocket;
using namespace hocket::runtime;

namespace {
/// Metadata nests four deep; anything far beyond is an attack on the stack.
constexpr unsigned maxDepth = 32;

class Parser {
public:
  explicit Parser(std::span<const std::byte> bytes) : bytes(bytes) {}
  bool parse(MsgPackNode &node, unsigned depth);

private:
  bool take(size_t count, std::span<const std::byte> &out);
  bool number(size_t size, uint64_t &value);
  bool integer(MsgPackNode &node, size_t size, bool isSigned);
  bool string(MsgPackNode &node, uint64_t size);
  bool skip(MsgPackNode &node, uint64_t size);
  bool array(MsgPackNode &node, uint64_t count, unsigned depth);
  bool map(MsgPackNode &node, uint64_t count, unsigned depth);
  bool tagged(MsgPackNode &node, uint8_t tag, unsigned depth);
  bool sized(MsgPackNode &node, uint8_t tag, unsigned depth);

  std::span<const std::byte> bytes;
};
} // namespace

bool Parser::take(size_t count, std::span<const std::byte> &out) {
  if (count > bytes.size())
    return false;
  out = bytes.first(count);
  bytes = bytes.subspan(count);
  return true;
}

bool Parser::number(size_t size, uint64_t &value) {
  std::span<const std::byte> raw;
  if (!take(size, raw))
    return false;
  value = 0;
  for (std::byte byte : raw)
    value = value << 8 | static_cast<uint8_t>(byte);
  return true;
}

bool Parser::integer(MsgPackNode &node, size_t size, bool isSigned) {
  uint64_t value;
  if (!number(size, value))
    return false;
  node.kind = MsgPackNode::Kind::Integer;
  bool negative = isSigned && (value >> (8 * size - 1) & 1) != 0;
  if (!negative)
    node.unsignedValue = value;
  return true;
}

bool Parser::string(MsgPackNode &node, uint64_t size) {
  std::span<const std::byte> raw;
  if (!take(size, raw))
    return false;
  node.kind = MsgPackNode::Kind::String;
  node.string.assign(reinterpret_cast<const char *>(raw.data()), raw.size());
  return true;
}

bool Parser::skip(MsgPackNode &node, uint64_t size) {
  std::span<const std::byte> raw;
  node.kind = MsgPackNode::Kind::Other;
  return take(size, raw);
}

bool Parser::array(MsgPackNode &node, uint64_t count, unsigned depth) {
  node.kind = MsgPackNode::Kind::Array;
  for (uint64_t i = 0; i != count; ++i)
    if (!parse(node.array.emplace_back(), depth + 1))
      return false;
  return true;
}

bool Parser::map(MsgPackNode &node, uint64_t count, unsigned depth) {
  node.kind = MsgPackNode::Kind::Map;
  for (uint64_t i = 0; i != count; ++i)
    if (!parse(node.keys.emplace_back(), depth + 1) || !parse(node.array.emplace_back(), depth + 1))
      return false;
  return true;
}

/// Tags 0xc4 to 0xdf except integers: a count follows, then the content.
bool Parser::sized(MsgPackNode &node, uint8_t tag, unsigned depth) {
  uint64_t size = 0;
  switch (tag) {
  case 0xc4:
  case 0xc5:
  case 0xc6: // bin
    return number(size_t(1) << (tag - 0xc4), size) && skip(node, size);
  case 0xc7:
  case 0xc8:
  case 0xc9: // ext: size, type byte, content
    return number(size_t(1) << (tag - 0xc7), size) && skip(node, size + 1);
  case 0xd4:
  case 0xd5:
  case 0xd6:
  case 0xd7:
  case 0xd8: // fixext
    return skip(node, 1 + (uint64_t(1) << (tag - 0xd4)));
  case 0xd9:
  case 0xda:
  case 0xdb:
    return number(size_t(1) << (tag - 0xd9), size) && string(node, size);
  case 0xdc:
  case 0xdd:
    return number(size_t(2) << (tag - 0xdc), size) && array(node, size, depth);
  case 0xde:
  case 0xdf:
    return number(size_t(2) << (tag - 0xde), size) && map(node, size, depth);
  }
  return false;
}

bool Parser::tagged(MsgPackNode &node, uint8_t tag, unsigned depth) {
  switch (tag) {
  case 0xc0:
    return true;
  case 0xc2:
  case 0xc3:
    node.kind = MsgPackNode::Kind::Boolean;
    node.boolean = tag == 0xc3;
    return true;
  case 0xca:
  case 0xcb:
    return skip(node, tag == 0xca ? 4 : 8);
  case 0xcc:
  case 0xcd:
  case 0xce:
  case 0xcf:
    return integer(node, size_t(1) << (tag - 0xcc), false);
  case 0xd0:
  case 0xd1:
  case 0xd2:
  case 0xd3:
    return integer(node, size_t(1) << (tag - 0xd0), true);
  default:
    return sized(node, tag, depth);
  }
}

bool Parser::parse(MsgPackNode &node, unsigned depth) {
  uint64_t tag;
  if (depth > maxDepth || !number(1, tag))
    return false;
  if (tag < 0x80 || tag >= 0xe0) { // fixint
    node.kind = MsgPackNode::Kind::Integer;
    if (tag < 0x80)
      node.unsignedValue = tag;
    return true;
  }
  if (tag < 0x90)
    return map(node, tag & 15, depth);
  if (tag < 0xa0)
    return array(node, tag & 15, depth);
  if (tag < 0xc0)
    return string(node, tag & 31);
  return tagged(node, static_cast<uint8_t>(tag), depth);
}

const MsgPackNode *MsgPackNode::find(std::string_view key) const {
  for (size_t i = 0; i != keys.size(); ++i)
    if (keys[i].kind == Kind::String && keys[i].string == key)
      return &array[i];
  return nullptr;
}

Result<MsgPackNode> runtime::parseMsgPack(std::span<const std::byte> bytes) {
  MsgPackNode root;
  if (!Parser(bytes).parse(root, 0))
    return invalidInput("MsgPack document is cut short or malformed");
  return root;
}
