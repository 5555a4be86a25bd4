// Types of tensors' elements, by the names that manifests, tools and the C interface use.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace hocket::manifest {

enum class ElementType {
  BF16,
  F16,
  F32,
  F64,
  F8E4M3,
  F8E5M2,
  I8,
  U8,
  I16,
  U16,
  I32,
  U32,
  I64,
  U64
};

/// All of them, in the order of the enumeration.
std::span<const ElementType> elementTypes();
/// "bf16", "f16", "f32", "f64", "f8e4m3", "f8e5m2", "i8", "u8", ..., "u64".
std::string_view toString(ElementType type);
/// The type of that name; "fp16" is "f16", "bool" is "u8".
std::optional<ElementType> parseElementType(std::string_view name);
/// "bf16, f16, ...": for messages.
std::string elementTypeNames();

uint32_t sizeInBytes(ElementType type);
bool isFloat(ElementType type);
/// Whether a kernel that takes the one may be given the other: the same, or integers of one width.
bool areCompatible(ElementType a, ElementType b);

} // namespace hocket::manifest
