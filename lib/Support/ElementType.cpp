// The table of element types, and what follows from a row: names and conversions.
#include "hocket/Support/ElementType.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <limits>

using namespace hocket;

// Type codes of DLPack (dlpack.h 1.1, DLDataTypeCode).
static constexpr uint8_t kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kBool = 6, kFloat8E4m3fn = 10,
                         kFloat8E4m3fnuz = 11, kFloat8E5m2 = 12, kFloat8E5m2fnuz = 13, kFloat8E8m0fnu = 14,
                         kFloat6E2m3fn = 15, kFloat6E3m2fn = 16, kFloat4E2m1fn = 17;

static constexpr ElementKind kFloats = ElementKind::Float, kIntegers = ElementKind::Int;

// OCP's 8-bit formats: OFP8 1.0; 6 and 4 bits and the scale: MX 1.0; fnuz: CDNA3 ISA 7.3.
static constexpr std::array<ElementTypeInfo, 21> kTable = {{
    {ElementType::BF16, "bf16", "bf16", "bf16", "uint16", "bfloat16", {kBfloat, 16}, kFloats, true, 16, 8, 7, 127,
     Specials::Ieee},
    {ElementType::F16, "f16", "fp16", "f16", "float16", "float16", {kFloat, 16}, kFloats, true, 16, 5, 10, 15,
     Specials::Ieee},
    {ElementType::F32, "f32", "f32", "f32", "float32", "float32", {kFloat, 32}, kFloats, true, 32, 8, 23, 127,
     Specials::Ieee},
    {ElementType::F64, "f64", "f64", "f64", "float64", "float64", {kFloat, 64}, kFloats, true, 64, 11, 52, 1023,
     Specials::Ieee},
    {ElementType::F8E4M3, "f8e4m3", "f8e4m3", "f8E4M3FN", "uint8", "float8_e4m3fn", {kFloat8E4m3fn, 8}, kFloats, true, 8,
     4, 3, 7, Specials::NanOnly},
    {ElementType::F8E5M2, "f8e5m2", "f8e5m2", "f8E5M2", "uint8", "float8_e5m2", {kFloat8E5m2, 8}, kFloats, true, 8, 5, 2,
     15, Specials::Ieee},
    {ElementType::I8, "i8", "i8", "i8", "int8", "int8", {kInt, 8}, kIntegers, true, 8},
    {ElementType::U8, "u8", "u8", "ui8", "uint8", "uint8", {kUInt, 8}, kIntegers, false, 8},
    {ElementType::I16, "i16", "i16", "i16", "int16", "int16", {kInt, 16}, kIntegers, true, 16},
    {ElementType::U16, "u16", "u16", "ui16", "uint16", "uint16", {kUInt, 16}, kIntegers, false, 16},
    {ElementType::I32, "i32", "i32", "i32", "int32", "int32", {kInt, 32}, kIntegers, true, 32},
    {ElementType::U32, "u32", "u32", "ui32", "uint32", "uint32", {kUInt, 32}, kIntegers, false, 32},
    {ElementType::I64, "i64", "i64", "i64", "int64", "int64", {kInt, 64}, kIntegers, true, 64},
    {ElementType::U64, "u64", "u64", "ui64", "uint64", "uint64", {kUInt, 64}, kIntegers, false, 64},
    {ElementType::F8E4M3FNUZ, "f8e4m3fnuz", "f8e4m3fnuz", "f8E4M3FNUZ", "uint8", "float8_e4m3fnuz", {kFloat8E4m3fnuz, 8},
     kFloats, true, 8, 4, 3, 8, Specials::Fnuz},
    {ElementType::F8E5M2FNUZ, "f8e5m2fnuz", "f8e5m2fnuz", "f8E5M2FNUZ", "uint8", "float8_e5m2fnuz", {kFloat8E5m2fnuz, 8},
     kFloats, true, 8, 5, 2, 16, Specials::Fnuz},
    {ElementType::F6E2M3, "f6e2m3", "f6e2m3", "f6E2M3FN", "", "", {kFloat6E2m3fn, 6}, kFloats, true, 6, 2, 3, 1,
     Specials::None},
    {ElementType::F6E3M2, "f6e3m2", "f6e3m2", "f6E3M2FN", "", "", {kFloat6E3m2fn, 6}, kFloats, true, 6, 3, 2, 3,
     Specials::None},
    {ElementType::F4E2M1, "f4e2m1", "f4e2m1", "f4E2M1FN", "", "", {kFloat4E2m1fn, 4}, kFloats, true, 4, 2, 1, 1,
     Specials::None},
    {ElementType::E8M0, "e8m0", "e8m0", "f8E8M0FNU", "uint8", "float8_e8m0fnu", {kFloat8E8m0fnu, 8}, ElementKind::Scale,
     false, 8, 8, 0, 127, Specials::NanOnly},
    {ElementType::I1, "i1", "i1", "i1", "bool", "bool", {kBool, 8}, kIntegers, true, 1},
}};

static constexpr bool isInOrder() {
  for (size_t i = 0; i != kTable.size(); ++i)
    if (kTable[i].type != static_cast<ElementType>(i))
      return false;
  return true;
}
static_assert(isInOrder() && kTable.back().type == ElementType::I1, "a row for each enumerator, in its order");

const ElementTypeInfo &hocket::infoOf(ElementType type) { return kTable[static_cast<size_t>(type)]; }
std::span<const ElementTypeInfo> hocket::elementTypeTable() { return kTable; }

std::string_view hocket::toString(ElementType type) { return infoOf(type).name; }
std::string_view hocket::optionName(ElementType type) { return infoOf(type).option; }
std::string_view hocket::irName(ElementType type) { return infoOf(type).ir; }
bool hocket::isFloat(ElementType type) { return infoOf(type).isFloat(); }

ElementType hocket::inMemory(ElementType type) { return infoOf(type).hasWholeBytes() ? type : ElementType::U8; }
int64_t hocket::countInMemory(ElementType type, int64_t count) { return count * infoOf(type).bits / infoOf(inMemory(type)).bits; }
int64_t hocket::bytesOf(ElementType type) {
  assert(infoOf(type).hasWholeBytes() && "no element of a tensor");
  return infoOf(type).bits / 8;
}

// Names

static const ElementTypeInfo *findByName(std::string_view name) {
  auto row = std::ranges::find_if(
      kTable, [&](const ElementTypeInfo &info) { return name == info.name || name == info.option; });
  return row == kTable.end() ? nullptr : &*row;
}

std::optional<ElementType> hocket::parseElementType(std::string_view name) {
  if (name == "bool")
    return ElementType::U8;
  const ElementTypeInfo *info = findByName(name);
  return info && info->hasWholeBytes() ? std::optional(info->type) : std::nullopt;
}

std::string hocket::elementTypeNames() {
  std::string names;
  for (const ElementTypeInfo &info : kTable)
    if (info.hasWholeBytes())
      names += (names.empty() ? "" : ", ") + std::string(info.name);
  return names;
}

std::optional<ElementType> hocket::elementTypeOf(DLPackType type) {
  if (type == infoOf(ElementType::I1).dlpack)
    return ElementType::U8;
  auto row = std::ranges::find(kTable, type, &ElementTypeInfo::dlpack);
  return row != kTable.end() && row->hasWholeBytes() ? std::optional(row->type) : std::nullopt;
}

bool hocket::areCompatible(ElementType a, ElementType b) {
  const ElementTypeInfo &first = infoOf(a), &second = infoOf(b);
  return a == b || (first.kind == ElementKind::Int && second.kind == ElementKind::Int && first.bits == second.bits);
}

// Operands of problems

/// In order of preference.
static constexpr ElementType kOperandTypes[] = {ElementType::BF16, ElementType::F16};

bool hocket::isOperandType(ElementType type) { return std::ranges::count(kOperandTypes, type) != 0; }

/// Exponents first, then mantissa.
ElementType hocket::nearestOperandType(ElementType type) {
  const ElementTypeInfo &wanted = infoOf(type);
  auto lacks = [&](ElementType candidate) {
    const ElementTypeInfo &info = infoOf(candidate);
    return std::pair(std::max(wanted.exponentBits - info.exponentBits, 0),
                     std::max(wanted.mantissaBits - info.mantissaBits, 0));
  };
  return *std::ranges::min_element(kOperandTypes, {}, lacks);
}

static std::string operandTypeNames() {
  std::string names;
  for (ElementType type : kOperandTypes)
    names += (names.empty() ? "" : " or ") + std::string(optionName(type));
  return names;
}

Error hocket::noKernelTakes(std::string_view what, ElementType type) {
  std::string message = std::string(what) + " is " + std::string(optionName(type)) + ", which no kernel takes; use ";
  message += infoOf(type).isFloat() ? std::string(optionName(nearestOperandType(type))) + ", the nearest that one takes"
                                    : operandTypeNames();
  return unsupported(message);
}

Result<ElementType> hocket::parseOperandType(std::string_view text) {
  const ElementTypeInfo *info = findByName(text);
  if (info && isOperandType(info->type))
    return info->type;
  if (info)
    return noKernelTakes("dtype", info->type);
  return invalidInput("dtype '" + std::string(text) + "' is not supported; use " + operandTypeNames());
}

// Conversions. A float's magnitude is its exponent field and, in units of the last place, its mantissa; magnitudes in
// order are numbers in order.

/// The magnitude of the largest finite number.
static uint64_t largestMagnitude(const ElementTypeInfo &info) {
  unsigned signBits = info.isSigned ? 1 : 0;
  uint64_t all = (uint64_t(1) << (info.bits - signBits)) - 1;
  switch (info.specials) {
  case Specials::Ieee:
    return all - (uint64_t(1) << info.mantissaBits);
  case Specials::NanOnly:
    return all - 1;
  default:
    return all;
  }
}

static uint64_t infinityOrNan(const ElementTypeInfo &info, bool isNan) {
  uint64_t largest = largestMagnitude(info);
  switch (info.specials) {
  case Specials::Ieee: // infinity is next; NaN has the mantissa's first bit too
    return largest + 1 + (isNan ? uint64_t(1) << (info.mantissaBits - 1) : 0);
  case Specials::NanOnly:
    return largest + 1;
  case Specials::Fnuz:
    return uint64_t(1) << (info.bits - 1);
  case Specials::None:
    break;
  }
  return largest;
}

static double magnitudeToDouble(const ElementTypeInfo &info, uint64_t magnitude) {
  uint64_t field = magnitude >> info.mantissaBits, mantissa = magnitude - (field << info.mantissaBits);
  if (info.kind == ElementKind::Scale)
    return std::ldexp(1.0, static_cast<int>(field) - info.bias);
  if (field == 0)
    return std::ldexp(static_cast<double>(mantissa), info.leastExponent() - info.mantissaBits);
  constexpr int bias = 1023, mantissaBits = 52;
  uint64_t exponent = field + static_cast<uint64_t>(bias - info.bias);
  return std::bit_cast<double>(exponent << mantissaBits | mantissa << (mantissaBits - info.mantissaBits));
}

double ElementTypeInfo::largest() const { return magnitudeToDouble(*this, largestMagnitude(*this)); }

static uint64_t encodeScale(const ElementTypeInfo &info, double value, Overflow overflow) {
  uint64_t largest = largestMagnitude(info), nan = largest + 1;
  if (std::isnan(value) || value < 0)
    return nan;
  if (value == 0)
    return 0;
  if (std::isinf(value))
    return overflow == Overflow::Saturate ? largest : nan;
  int exponent = std::ilogb(value);
  exponent += std::ldexp(value, -exponent) >= 1.5;
  if (exponent + info.bias > static_cast<int>(largest))
    return overflow == Overflow::Saturate ? largest : nan;
  return static_cast<uint64_t>(std::max(exponent + info.bias, 0));
}

/// The magnitude nearest to a finite number that is not negative, as if exponents had no end.
static uint64_t roundedMagnitude(const ElementTypeInfo &info, double value) {
  constexpr int bias = 1023, mantissaBits = 52;
  auto bits = std::bit_cast<uint64_t>(value);
  if (static_cast<int>(bits >> mantissaBits) - bias < info.leastExponent()) // halves go to even, the mode of the host
    return static_cast<uint64_t>(std::nearbyint(std::ldexp(value, info.mantissaBits - info.leastExponent())));
  bits += static_cast<uint64_t>(info.bias - bias) << mantissaBits;
  int dropped = mantissaBits - info.mantissaBits;
  uint64_t isOdd = bits >> dropped & 1; // a carry moves into the exponent
  return (bits + (uint64_t(1) << (dropped - 1)) - 1 + isOdd) >> dropped;
}

static uint64_t encodeFloat(const ElementTypeInfo &info, double value, Overflow overflow) {
  uint64_t sign = std::signbit(value) ? uint64_t(1) << (info.bits - 1) : 0;
  uint64_t largest = largestMagnitude(info);
  bool hasSignedNan = info.specials != Specials::Fnuz;
  if (std::isnan(value))
    return infinityOrNan(info, /*isNan=*/true) | (hasSignedNan ? sign : 0);
  uint64_t magnitude = std::isinf(value) ? largest + 1 : roundedMagnitude(info, std::abs(value));
  if (magnitude > largest)
    magnitude = overflow == Overflow::Saturate ? largest : infinityOrNan(info, /*isNan=*/false);
  if (info.specials == Specials::Fnuz && (magnitude == 0 || magnitude > largest))
    return magnitude;
  return magnitude | sign;
}

static uint64_t encodeInteger(const ElementTypeInfo &info, double value) {
  if (std::isnan(value))
    return 0;
  double rounded = std::nearbyint(value), beyond = std::ldexp(1.0, info.isSigned ? info.bits - 1 : info.bits);
  uint64_t mask = ~uint64_t(0) >> (64 - info.bits), least = info.isSigned ? uint64_t(1) << (info.bits - 1) : 0;
  if (rounded >= beyond)
    return info.isSigned ? least - 1 : mask;
  if (rounded < (info.isSigned ? -beyond : 0.0))
    return least;
  uint64_t bits = rounded < 0 ? static_cast<uint64_t>(static_cast<int64_t>(rounded)) : static_cast<uint64_t>(rounded);
  return bits & mask;
}

uint64_t hocket::encode(ElementType type, double value, Overflow overflow) {
  const ElementTypeInfo &info = infoOf(type);
  if (type == ElementType::F64)
    return std::isinf(value) && overflow == Overflow::Saturate
               ? std::bit_cast<uint64_t>(std::copysign(info.largest(), value))
               : std::bit_cast<uint64_t>(value);
  switch (info.kind) {
  case ElementKind::Float:
    return encodeFloat(info, value, overflow);
  case ElementKind::Scale:
    return encodeScale(info, value, overflow);
  case ElementKind::Int:
    break;
  }
  return encodeInteger(info, value);
}

bool hocket::isNan(ElementType type, uint64_t bits) {
  const ElementTypeInfo &info = infoOf(type);
  if (info.kind == ElementKind::Int || info.specials == Specials::None)
    return false;
  bits &= ~uint64_t(0) >> (64 - info.bits);
  if (info.specials == Specials::Fnuz)
    return bits == infinityOrNan(info, /*isNan=*/true);
  if (info.isSigned)
    bits &= ~(uint64_t(1) << (info.bits - 1));
  return bits > largestMagnitude(info) && (info.specials != Specials::Ieee || bits != largestMagnitude(info) + 1);
}

static double decodeInteger(const ElementTypeInfo &info, uint64_t bits) {
  unsigned unused = 64 - info.bits;
  if (info.isSigned)
    return static_cast<double>(static_cast<int64_t>(bits << unused) >> unused);
  return static_cast<double>(bits << unused >> unused);
}

double hocket::decode(ElementType type, uint64_t bits) {
  const ElementTypeInfo &info = infoOf(type);
  if (type == ElementType::F64)
    return std::bit_cast<double>(bits);
  if (type == ElementType::F32)
    return std::bit_cast<float>(static_cast<uint32_t>(bits));
  if (type == ElementType::BF16)
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  if (info.kind == ElementKind::Int)
    return decodeInteger(info, bits);
  if (isNan(type, bits))
    return std::numeric_limits<double>::quiet_NaN();
  uint64_t signBit = info.isSigned ? uint64_t(1) << (info.bits - 1) : 0;
  uint64_t magnitude = bits & (~uint64_t(0) >> (64 - info.bits)) & ~signBit;
  double value = magnitude > largestMagnitude(info) ? std::numeric_limits<double>::infinity()
                                                    : magnitudeToDouble(info, magnitude);
  return bits & signBit ? -value : value;
}
