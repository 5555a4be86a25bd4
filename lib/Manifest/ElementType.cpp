// One table of element types.
#include "hocket/Manifest/ElementType.h"

#include <algorithm>
#include <array>

using namespace hocket;
using namespace hocket::manifest;

namespace {
struct Entry {
  ElementType type;
  std::string_view name;
  uint32_t bytes;
  bool isFloat;
};
} // namespace

static constexpr std::array<Entry, 14> table = {{
    {ElementType::BF16, "bf16", 2, true},
    {ElementType::F16, "f16", 2, true},
    {ElementType::F32, "f32", 4, true},
    {ElementType::F64, "f64", 8, true},
    {ElementType::F8E4M3, "f8e4m3", 1, true},
    {ElementType::F8E5M2, "f8e5m2", 1, true},
    {ElementType::I8, "i8", 1, false},
    {ElementType::U8, "u8", 1, false},
    {ElementType::I16, "i16", 2, false},
    {ElementType::U16, "u16", 2, false},
    {ElementType::I32, "i32", 4, false},
    {ElementType::U32, "u32", 4, false},
    {ElementType::I64, "i64", 8, false},
    {ElementType::U64, "u64", 8, false},
}};

static const Entry &entryOf(ElementType type) { return table[static_cast<size_t>(type)]; }

std::span<const ElementType> manifest::elementTypes() {
  static constexpr auto types = [] {
    std::array<ElementType, table.size()> list{};
    for (size_t i = 0; i != list.size(); ++i)
      list[i] = table[i].type;
    return list;
  }();
  return types;
}

std::string_view manifest::toString(ElementType type) { return entryOf(type).name; }
uint32_t manifest::sizeInBytes(ElementType type) { return entryOf(type).bytes; }
bool manifest::isFloat(ElementType type) { return entryOf(type).isFloat; }

std::optional<ElementType> manifest::parseElementType(std::string_view name) {
  if (name == "fp16")
    return ElementType::F16;
  if (name == "bool")
    return ElementType::U8;
  for (const Entry &entry : table)
    if (entry.name == name)
      return entry.type;
  return std::nullopt;
}

std::string manifest::elementTypeNames() {
  std::string names;
  for (const Entry &entry : table)
    names += (names.empty() ? "" : ", ") + std::string(entry.name);
  return names;
}

bool manifest::areCompatible(ElementType a, ElementType b) {
  const Entry &first = entryOf(a), &second = entryOf(b);
  return a == b || (!first.isFloat && !second.isFloat && first.bytes == second.bytes);
}
