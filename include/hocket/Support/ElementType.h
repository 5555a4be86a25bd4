// Element types: one table, of which everything that describes, fills, reads or computes with numbers asks.
//
// A row says what a type is: its name in manifests, in options, in the IR, in DLPack, numpy and torch, how many bits a
// number has and what they mean. Who adds a type adds a row in lib/Support/ElementType.cpp, an enumerator here and its
// twin in the C interface (hocket/Attention/CAPI.h); tests hold the three together. How a type becomes one of MLIR's
// is said in lib/IR, since this room knows no MLIR.
#pragma once

#include "hocket/Support/Result.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace hocket {

/// The numbers are those of `hocket_dtype` in C: new types go to the end.
enum class ElementType {
  BF16,
  F16,
  F32,
  F64,
  F8E4M3, ///< of OCP: no infinity, one NaN of each sign
  F8E5M2, ///< of OCP, as IEEE would have it
  I8,
  U8,
  I16,
  U16,
  I32,
  U32,
  I64,
  U64,
  F8E4M3FNUZ, ///< of gfx942: no infinity, one zero, the bits of a negative zero are NaN
  F8E5M2FNUZ, ///< the same
  F6E2M3,     ///< of OCP: neither infinity nor NaN, as the two below
  F6E3M2,
  F4E2M1,
  E8M0, ///< a power of two, the scale of a block of numbers
  I1,
};

/// What the numbers of a type are: values, or what others are multiplied by.
enum class ElementKind { Float, Int, Scale };

/// Which patterns of a float are no finite numbers.
enum class Specials {
  None,    ///< all are finite
  Ieee,    ///< the largest exponent: infinity, and NaN with any mantissa but 0
  NanOnly, ///< all bits set but the sign: NaN
  Fnuz     ///< the sign alone: NaN; zero has no sign
};

/// The type code and bits of DLPack 1.1.
struct DLPackType {
  uint8_t code = 0, bits = 0;
  bool operator==(const DLPackType &) const = default;
};

/// A row of the table.
struct ElementTypeInfo {
  ElementType type;
  std::string_view name;   ///< in manifests, tools, C and Python: "bf16", "f16", "f8e4m3"
  std::string_view option; ///< in options of problems, the registry and names of kernels: "fp16" for f16, else `name`
  std::string_view ir;     ///< as MLIR spells it
  std::string_view numpy;  ///< the type of numpy, or the one of as many bits where it has none; empty: not of whole bytes
  std::string_view torch;  ///< empty: torch has none
  DLPackType dlpack;
  ElementKind kind;
  bool isSigned;
  uint8_t bits;
  /// Of a float or scale: bits of the exponent and the mantissa, and what the exponent is too large by.
  uint8_t exponentBits = 0, mantissaBits = 0;
  int16_t bias = 0;
  Specials specials = Specials::None;

  bool isFloat() const { return kind == ElementKind::Float; }
  /// Whether an element can have an address of its own: the types of tensors.
  bool hasWholeBytes() const { return bits % 8 == 0; }
  /// Of a float: the exponents of the least normal number and of the largest number.
  int leastExponent() const { return 1 - bias; }
  /// Of a float or scale.
  double largest() const;
};

const ElementTypeInfo &infoOf(ElementType type);
/// All rows, in the order of the enumeration.
std::span<const ElementTypeInfo> elementTypeTable();

/// "bf16", "f16", "f8e4m3", ...
std::string_view toString(ElementType type);
/// "bf16", "fp16", ...: see `ElementTypeInfo::option`.
std::string_view optionName(ElementType type);
/// As MLIR spells it: "bf16", "f16", "f8E4M3FN".
std::string_view irName(ElementType type);
/// The type of a tensor that holds such numbers: bytes where each holds several, the first in the lowest bits.
ElementType inMemory(ElementType type);
/// In how many elements of a tensor `count` numbers lie.
int64_t countInMemory(ElementType type, int64_t count);
/// Bytes of an element of a tensor: of a type of whole bytes.
int64_t bytesOf(ElementType type);
bool isFloat(ElementType type);

/// The type of a tensor's elements of that name; "fp16" is "f16", "bool" is "u8". Nothing for what is none, or not of
/// whole bytes.
std::optional<ElementType> parseElementType(std::string_view name);
/// "bf16, f16, ...": what `parseElementType` knows, for messages.
std::string elementTypeNames();
/// The type of these DLPack code and bits, a tensor's; a bool is "u8".
std::optional<ElementType> elementTypeOf(DLPackType type);

/// Whether a kernel that takes the one may be given the other: the same, or integers of one width.
bool areCompatible(ElementType a, ElementType b);

/// The type of the operands of a problem that kernels are there for, by its name: "bf16", "fp16" or "f16". The error
/// for another type names the nearest one.
Result<ElementType> parseOperandType(std::string_view text);
/// The error for a problem's `what` ("dtype") of a type that no kernel takes.
Error noKernelTakes(std::string_view what, ElementType type);
/// Whether there are kernels for operands of this type.
bool isOperandType(ElementType type);
/// Of those for which there are kernels the one that has most of the numbers of `type`.
ElementType nearestOperandType(ElementType type);

/// What becomes of numbers beyond the largest: what IEEE would make of it (infinity, or NaN where a type has no
/// infinity), or the largest. The chips' conversions do the one or the other by a mode (docs/Hardware.md). A type
/// without infinity and NaN, and an integer, always gives the largest.
enum class Overflow { ToSpecial, Saturate };

/// The bits of the number of `type` nearest to `value`; of two, the one whose last bit is 0. A NaN becomes a NaN, or the
/// largest number where there is none, of an integer 0. Of a scale, whatever is not positive becomes the least, and
/// a negative number NaN.
uint64_t encode(ElementType type, double value, Overflow overflow = Overflow::ToSpecial);
/// The number of which `bits` are the lowest bits; exact but for integers beyond 2^53.
double decode(ElementType type, uint64_t bits);
/// Whether `bits` are a NaN.
bool isNan(ElementType type, uint64_t bits);

} // namespace hocket
