// What probes compute on.
#include "Probes.h"

#include "Verify/Random.h"
#include "hocket/Support/ElementType.h"

#include <bit>
#include <cmath>
#include <iterator>

using namespace hocket;
using namespace hocket::run::firstday;

static constexpr uint64_t kSeed = 2026;
static constexpr unsigned kDwords = probeDwords * probeLanes;

/// A dword of elements of `type`, of which `next` gives one after the other.
static uint32_t packElements(ElementType type, auto &&next) {
  const unsigned width = 8u * static_cast<unsigned>(bytesOf(type));
  uint64_t dword = 0;
  for (unsigned bit = 0; bit != 32; bit += width)
    dword |= encode(type, next()) << bit;
  return static_cast<uint32_t>(dword);
}

/// Whole numbers from -3 to 3.
static LaneValues smallNumbers(ElementType type) {
  const verify::Generator random(kSeed, 1);
  uint64_t index = 0;
  auto next = [&] { return double(int64_t(random.bits(index++) % 7) - 3); };
  LaneValues values;
  for (unsigned i = 0; i != kDwords; ++i)
    values.push_back(packElements(type, next));
  return values;
}

static LaneValues normalNumbers(ElementType type) {
  const verify::Generator random(kSeed, 2);
  uint64_t index = 0;
  auto next = [&] {
    double number, other;
    random.normalPair(index++, number, other);
    return number;
  };
  LaneValues values;
  for (unsigned i = 0; i != kDwords; ++i)
    values.push_back(packElements(type, next));
  return values;
}

/// Floats that `numberOf` makes of random bits.
static LaneValues floats(auto &&numberOf) {
  const verify::Generator random(kSeed, 3);
  LaneValues values;
  for (unsigned i = 0; i != kDwords; ++i)
    values.push_back(std::bit_cast<uint32_t>(float(numberOf(random.bits(i)))));
  return values;
}

static double unit(uint64_t bits) { return double(bits >> 32) * 0x1p-31 - 1; }

static uint32_t edge(uint64_t bits) {
  static constexpr uint32_t edges[] = {
      0x00000000, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 0x00000001, 0x807fffff, 0x00800000,
      0x80800000, 0x7f7fffff, 0xff7fffff, 0x3f800000, 0xbf800000, 0x3f000000, 0x3f7fffff, 0x3f800001, 0x40490fdb,
      0x477fe000, 0x477ff000, 0x33800000, 0x387fc000, 0x3f808000, 0x3f818000, 0x4b000001, 0x4effffff, 0xcf000000};
  const uint64_t choice = bits % (2 * std::size(edges));
  return choice < std::size(edges) ? edges[choice] : std::bit_cast<uint32_t>(float(std::ldexp(unit(bits), int(bits % 60) - 30)));
}

static LaneValues bitPatterns(auto &&patternOf) {
  const verify::Generator random(kSeed, 4);
  LaneValues values;
  for (unsigned i = 0; i != kDwords; ++i)
    values.push_back(patternOf(i, random.bits(i)));
  return values;
}

LaneValues run::firstday::valuesOf(Fill fill) {
  switch (fill) {
  case Fill::Distinct:
    // Neither dwords nor their halves repeat.
    return bitPatterns([](unsigned i, uint64_t) { return (2 * i + 1) << 16 | (2 * i + 2); });
  case Fill::SmallBf16:
    return smallNumbers(ElementType::BF16);
  case Fill::SmallF16:
    return smallNumbers(ElementType::F16);
  case Fill::SmallF32:
    return smallNumbers(ElementType::F32);
  case Fill::SmallF8:
    // Sign, the upper of three bits of the fraction, and an exponent of a few binary places: of use in both 8-bit formats.
    return bitPatterns([](unsigned, uint64_t bits) { return (uint32_t(bits) & 0x84848484) | 0x38383838; });
  case Fill::SmallI8:
    return bitPatterns([](unsigned, uint64_t bits) { return uint32_t(bits) & 0x87878787; });
  case Fill::Bits:
    return bitPatterns([](unsigned, uint64_t bits) { return uint32_t(bits); });
  case Fill::NormalF32:
    return normalNumbers(ElementType::F32);
  case Fill::NormalBf16:
    return normalNumbers(ElementType::BF16);
  case Fill::NormalF16:
    return normalNumbers(ElementType::F16);
  case Fill::PositiveF32:
    return floats([](uint64_t bits) { return std::ldexp(1.5 + 0.5 * unit(bits), int(bits % 81) - 40); });
  case Fill::UnitF32:
    return floats(unit);
  case Fill::EdgeF32:
    return bitPatterns([](unsigned, uint64_t bits) { return edge(bits); });
  }
  return {};
}
