// Names and conversions of element types.
#include "hocket/Support/DataType.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

using namespace hocket;

std::string_view hocket::toString(DataType type) {
  constexpr std::string_view names[] = {"bf16", "fp16", "f32", "i32", "i8"};
  return names[static_cast<size_t>(type)];
}

std::string_view hocket::irName(DataType type) {
  return type == DataType::FP16 ? "f16" : toString(type);
}

int64_t hocket::bytesOf(DataType type) {
  constexpr int64_t bytes[] = {2, 2, 4, 4, 1};
  return bytes[static_cast<size_t>(type)];
}

Result<DataType> hocket::parseDataType(std::string_view text) {
  if (text == "bf16")
    return DataType::BF16;
  if (text == "fp16" || text == "f16")
    return DataType::FP16;
  return invalidInput("dtype '" + std::string(text) + "' is not supported; use bf16 or fp16");
}

static uint16_t roundToBf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  if ((bits & 0x7fffffff) > 0x7f800000)
    return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// Rounds to a multiple of 2^-24 below the normal range and to 11 significant bits above it.
static uint16_t roundToFp16(double value) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  double magnitude = std::abs(value);
  if (std::isnan(value))
    return sign | 0x7e00;
  if (magnitude >= 65520) // halfway between the largest finite number and the next power of two
    return sign | 0x7c00;
  int exponent = std::max(magnitude == 0 ? -14 : std::ilogb(magnitude), -14);
  // The significand in units of the last place, 0 to 2048; a carry moves into the exponent field.
  auto units = static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  uint32_t encoded = (static_cast<uint32_t>(exponent + 14) << 10) + units;
  return sign | static_cast<uint16_t>(encoded);
}

uint16_t hocket::roundTo(DataType type, double value) {
  // To bf16 by way of float32: generated data is not close enough to halfway points to matter, and
  // the rounding that counts is that inputs are what the kernel reads.
  return type == DataType::BF16 ? roundToBf16(static_cast<float>(value)) : roundToFp16(value);
}

static double widenFp16(uint16_t bits) {
  int exponent = bits >> 10 & 31;
  int fraction = bits & 1023;
  double magnitude = exponent == 0    ? std::ldexp(fraction, -24)
                     : exponent == 31 ? (fraction ? std::nan("") : INFINITY)
                                      : std::ldexp(1024 + fraction, exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

double hocket::widen(DataType type, uint16_t bits) {
  if (type == DataType::FP16)
    return widenFp16(bits);
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

bool hocket::isNan(DataType type, uint16_t bits) {
  return (bits & 0x7fff) > (type == DataType::BF16 ? 0x7f80 : 0x7c00);
}
