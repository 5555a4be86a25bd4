// The table of element types: every row against LLVM's own floating-point formats, every pattern and every halfway case.
#include "hocket/Support/ElementType.h"

#include "hocket/Attention/CAPI.h"

#include "llvm/ADT/APFloat.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <set>

using namespace hocket;
using llvm::APFloat;

/// LLVM's format of the same name as the row's in the IR; null for integers.
static const llvm::fltSemantics *semanticsOf(ElementType type) {
  switch (type) {
  case ElementType::BF16:
    return &APFloat::BFloat();
  case ElementType::F16:
    return &APFloat::IEEEhalf();
  case ElementType::F32:
    return &APFloat::IEEEsingle();
  case ElementType::F64:
    return &APFloat::IEEEdouble();
  case ElementType::F8E4M3:
    return &APFloat::Float8E4M3FN();
  case ElementType::F8E5M2:
    return &APFloat::Float8E5M2();
  case ElementType::F8E4M3FNUZ:
    return &APFloat::Float8E4M3FNUZ();
  case ElementType::F8E5M2FNUZ:
    return &APFloat::Float8E5M2FNUZ();
  case ElementType::F6E2M3:
    return &APFloat::Float6E2M3FN();
  case ElementType::F6E3M2:
    return &APFloat::Float6E3M2FN();
  case ElementType::F4E2M1:
    return &APFloat::Float4E2M1FN();
  case ElementType::E8M0:
    return &APFloat::Float8E8M0FNU();
  default:
    return nullptr;
  }
}

static double toDouble(APFloat value) {
  if (value.isNaN()) // LLVM 22 makes the NaN of f8E8M0FNU infinite
    return std::numeric_limits<double>::quiet_NaN();
  bool loses;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
  return value.convertToDouble();
}

static double decodedByLlvm(const ElementTypeInfo &info, uint64_t bits) {
  return toDouble(APFloat(*semanticsOf(info.type), llvm::APInt(info.bits, bits)));
}

static uint64_t encodedByLlvm(ElementType type, double value) {
  APFloat number(value);
  bool loses;
  number.convert(*semanticsOf(type), APFloat::rmNearestTiesToEven, &loses);
  return number.bitcastToAPInt().getZExtValue();
}

static bool isSame(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

/// The floats and scales of at most 16 bits, of which all patterns are looked at.
static std::vector<ElementTypeInfo> smallFloats() {
  std::vector<ElementTypeInfo> rows;
  for (const ElementTypeInfo &info : elementTypeTable())
    if (semanticsOf(info.type) && info.bits <= 16)
      rows.push_back(info);
  return rows;
}

class SmallFloats : public testing::TestWithParam<ElementTypeInfo> {};
INSTANTIATE_TEST_SUITE_P(Types, SmallFloats, testing::ValuesIn(smallFloats()),
                         [](const auto &info) { return std::string(info.param.name); });

TEST_P(SmallFloats, DecodeEveryPattern) {
  const ElementTypeInfo &info = GetParam();
  double largest = 0;
  for (uint64_t bits = 0; bits != uint64_t(1) << info.bits; ++bits) {
    double wanted = decodedByLlvm(info, bits), found = decode(info.type, bits);
    ASSERT_TRUE(isSame(found, wanted)) << bits << ": " << found << ", wanted " << wanted;
    ASSERT_EQ(isNan(info.type, bits), std::isnan(wanted)) << bits;
    if (std::isfinite(wanted))
      largest = std::max(largest, wanted);
  }
  EXPECT_EQ(info.largest(), largest);
}

// Every number is itself, and between two neighbours the half goes to the even one, a little less and a little more to
// the nearer one.
TEST_P(SmallFloats, EncodeEveryPatternAndEveryHalf) {
  const ElementTypeInfo &info = GetParam();
  std::set<double> numbers;
  for (uint64_t bits = 0; bits != uint64_t(1) << info.bits; ++bits) {
    double value = decode(info.type, bits);
    if (std::isnan(value))
      continue;
    ASSERT_EQ(decode(info.type, encode(info.type, value)), value) << bits;
    ASSERT_EQ(encode(info.type, value), bits) << value;
    if (std::isfinite(value))
      numbers.insert(value);
  }
  for (auto low = numbers.begin(), high = std::next(low); high != numbers.end(); low = high++) {
    double half = *low + (*high - *low) / 2;
    for (double value : {half, std::nextafter(half, *low), std::nextafter(half, *high)}) {
      uint64_t bits = encode(info.type, value);
      ASSERT_EQ(bits, encodedByLlvm(info.type, value)) << value;
      double wanted = value < half ? *low : value > half ? *high : decode(info.type, bits);
      ASSERT_EQ(decode(info.type, bits), wanted) << value;
    }
    uint64_t atHalf = encode(info.type, half);
    ASSERT_TRUE(decode(info.type, atHalf) == *low || decode(info.type, atHalf) == *high);
    // The exponents of scales have no last place: a half is 1.5 of a power, and goes up.
    ASSERT_TRUE(info.kind == ElementKind::Scale || (atHalf & 1) == 0) << half;
  }
}

TEST_P(SmallFloats, RoundRandomNumbersAsLlvmDoes) {
  const ElementTypeInfo &info = GetParam();
  std::mt19937_64 random(info.bits + info.mantissaBits);
  double largest = info.largest();
  for (int i = 0; i != 200000; ++i) {
    // Random bits, of all magnitudes, and numbers near those of the type.
    double value = i % 2 ? std::bit_cast<double>(random())
                         : largest * std::ldexp(double(random() >> 11), -53 - int(random() % 32));
    if (info.kind == ElementKind::Scale)
      value = std::abs(value);
    else if (i % 3 == 0)
      value = -value;
    if (std::isnan(value) || (info.kind == ElementKind::Scale && value < decode(info.type, 0)))
      continue;
    // Beyond the largest LLVM gives what has no infinity and no NaN the largest, as we do.
    ASSERT_TRUE(isSame(decode(info.type, encode(info.type, value)), decode(info.type, encodedByLlvm(info.type, value))))
        << value << ": " << encode(info.type, value) << ", LLVM " << encodedByLlvm(info.type, value);
  }
}

TEST_P(SmallFloats, SaturateOrNot) {
  const ElementTypeInfo &info = GetParam();
  double infinity = std::numeric_limits<double>::infinity(), largest = info.largest();
  bool hasNone = info.specials == Specials::None;
  for (double beyond : {infinity, 0x1p1000, 4 * largest}) {
    EXPECT_EQ(decode(info.type, encode(info.type, beyond, Overflow::Saturate)), largest);
    double special = decode(info.type, encode(info.type, beyond));
    if (info.specials == Specials::Ieee)
      EXPECT_EQ(special, infinity);
    else
      EXPECT_EQ(std::isnan(special), !hasNone);
    if (info.isSigned) {
      EXPECT_EQ(decode(info.type, encode(info.type, -beyond, Overflow::Saturate)), -largest);
      EXPECT_EQ(decode(info.type, encode(info.type, -largest, Overflow::ToSpecial)), -largest);
    }
  }
  double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(isNan(info.type, encode(info.type, nan)), !hasNone);
  EXPECT_EQ(isNan(info.type, encode(info.type, nan, Overflow::Saturate)), !hasNone);
}

TEST(WideFloats, AreTheHostsOwn) {
  std::mt19937_64 random(1);
  for (int i = 0; i != 1000000; ++i) {
    auto bits = static_cast<uint32_t>(random());
    float number = std::bit_cast<float>(bits);
    ASSERT_EQ(isNan(ElementType::F32, bits), std::isnan(number));
    if (std::isnan(number))
      continue;
    ASSERT_EQ(decode(ElementType::F32, bits), double(number));
    ASSERT_EQ(encode(ElementType::F32, number), bits);
    double wide = std::bit_cast<double>(random());
    if (!std::isnan(wide)) {
      ASSERT_EQ(encode(ElementType::F32, wide), std::bit_cast<uint32_t>(static_cast<float>(wide))) << wide;
      ASSERT_EQ(decode(ElementType::F64, encode(ElementType::F64, wide)), wide);
    }
    // Between numbers of f32 that are not its least.
    double half = (double(number) + double(std::nextafterf(number, INFINITY))) / 2;
    ASSERT_EQ(encode(ElementType::F32, half), std::bit_cast<uint32_t>(static_cast<float>(half))) << half;
  }
  EXPECT_EQ(decode(ElementType::F64, encode(ElementType::F64, -INFINITY, Overflow::Saturate)), -infoOf(ElementType::F64).largest());
}

TEST(Scales, ArePowersOfTwo) {
  EXPECT_EQ(decode(ElementType::E8M0, 127), 1);
  EXPECT_EQ(decode(ElementType::E8M0, 0), 0x1p-127);
  EXPECT_TRUE(std::isnan(decode(ElementType::E8M0, 255)));
  EXPECT_EQ(encode(ElementType::E8M0, 0), 0u);
  EXPECT_EQ(encode(ElementType::E8M0, 0x1p-140), 0u);
  EXPECT_EQ(encode(ElementType::E8M0, -1), 255u);
  EXPECT_EQ(encode(ElementType::E8M0, 1.49), 127u);
  EXPECT_EQ(encode(ElementType::E8M0, 1.5), 128u);
}

class Integers : public testing::TestWithParam<ElementTypeInfo> {};
static std::vector<ElementTypeInfo> integers() {
  std::vector<ElementTypeInfo> rows;
  for (const ElementTypeInfo &info : elementTypeTable())
    if (info.kind == ElementKind::Int)
      rows.push_back(info);
  return rows;
}
INSTANTIATE_TEST_SUITE_P(Types, Integers, testing::ValuesIn(integers()),
                         [](const auto &info) { return std::string(info.param.name); });

TEST_P(Integers, RoundToEvenAndSaturate) {
  const ElementTypeInfo &info = GetParam();
  double least = info.isSigned ? -std::ldexp(1.0, info.bits - 1) : 0;
  double beyond = std::ldexp(1.0, info.isSigned ? info.bits - 1 : info.bits);
  auto through = [&](double value) { return decode(info.type, encode(info.type, value)); };
  auto limited = [&](double value) { return std::min(std::max(value, least), beyond - 1); };
  for (double value : {0.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 100.0, -100.0})
    EXPECT_EQ(through(value), limited(std::nearbyint(value))) << value;
  for (double value : {beyond, 2 * beyond, 0x1p1000, double(INFINITY)})
    EXPECT_EQ(encode(info.type, value), encode(info.type, beyond - (info.bits > 52 ? 0 : 1))) << value;
  EXPECT_EQ(through(least), least);
  EXPECT_EQ(through(2 * least - 2), least);
  EXPECT_EQ(through(NAN), 0);
  for (uint64_t bits = 0; info.bits <= 16 && bits != uint64_t(1) << info.bits; ++bits)
    ASSERT_EQ(encode(info.type, decode(info.type, bits)), bits);
}

// Names

TEST(ElementTypes, NamesAreTheirOwn) {
  std::set<std::string_view> names, inIr;
  for (const ElementTypeInfo &info : elementTypeTable()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_TRUE(inIr.insert(info.ir).second) << info.ir;
    EXPECT_EQ(parseElementType(info.name).has_value(), info.hasWholeBytes()) << info.name;
    EXPECT_EQ(info.numpy.empty(), !info.hasWholeBytes() && info.type != ElementType::I1) << info.name;
    if (!info.hasWholeBytes())
      continue;
    EXPECT_EQ(parseElementType(info.name), info.type);
    EXPECT_EQ(parseElementType(info.option), info.type);
    EXPECT_EQ(elementTypeOf(info.dlpack), info.type) << info.name;
    EXPECT_EQ(bytesOf(info.type) * 8, info.bits);
    EXPECT_NE(elementTypeNames().find(info.name), std::string::npos);
  }
  EXPECT_EQ(parseElementType("fp16"), ElementType::F16);
  EXPECT_EQ(parseElementType("bool"), ElementType::U8);
  EXPECT_EQ(parseElementType("float"), std::nullopt);
  EXPECT_EQ(parseElementType("f4e2m1"), std::nullopt);
  EXPECT_EQ(elementTypeOf(DLPackType{6, 8}), ElementType::U8);
  EXPECT_EQ(elementTypeOf(DLPackType{5, 64}), std::nullopt);
}

TEST(ElementTypes, AreTheEnumerationOfC) {
  const std::pair<hocket_dtype, ElementType> twins[] = {
      {HOCKET_BF16, ElementType::BF16},
      {HOCKET_FP16, ElementType::F16},
      {HOCKET_F32, ElementType::F32},
      {HOCKET_F64, ElementType::F64},
      {HOCKET_F8E4M3, ElementType::F8E4M3},
      {HOCKET_F8E5M2, ElementType::F8E5M2},
      {HOCKET_I8, ElementType::I8},
      {HOCKET_U8, ElementType::U8},
      {HOCKET_I16, ElementType::I16},
      {HOCKET_U16, ElementType::U16},
      {HOCKET_I32, ElementType::I32},
      {HOCKET_U32, ElementType::U32},
      {HOCKET_I64, ElementType::I64},
      {HOCKET_U64, ElementType::U64},
      {HOCKET_F8E4M3FNUZ, ElementType::F8E4M3FNUZ},
      {HOCKET_F8E5M2FNUZ, ElementType::F8E5M2FNUZ},
      {HOCKET_F6E2M3, ElementType::F6E2M3},
      {HOCKET_F6E3M2, ElementType::F6E3M2},
      {HOCKET_F4E2M1, ElementType::F4E2M1},
      {HOCKET_E8M0, ElementType::E8M0},
      {HOCKET_I1, ElementType::I1},
  };
  EXPECT_EQ(std::size(twins), elementTypeTable().size());
  for (auto [inC, type] : twins)
    EXPECT_EQ(static_cast<unsigned>(inC), static_cast<unsigned>(type)) << toString(type);
}

TEST(ElementTypes, OfIntegersOneWidthIsCompatible) {
  EXPECT_TRUE(areCompatible(ElementType::I32, ElementType::U32));
  EXPECT_FALSE(areCompatible(ElementType::BF16, ElementType::U16));
  EXPECT_FALSE(areCompatible(ElementType::E8M0, ElementType::U8));
}

static std::string refusal(std::string_view text) {
  Result<ElementType> type = parseOperandType(text);
  return type ? "taken" : type.error().message;
}

TEST(OperandTypes, AreRefusedByNameWithTheNearest) {
  EXPECT_EQ(parseOperandType("bf16").value(), ElementType::BF16);
  EXPECT_EQ(parseOperandType("fp16").value(), ElementType::F16);
  EXPECT_EQ(parseOperandType("f16").value(), ElementType::F16);
  EXPECT_EQ(refusal("f8e4m3"), "dtype is f8e4m3, which no kernel takes; use bf16, the nearest that one takes");
  EXPECT_EQ(refusal("f32"), "dtype is f32, which no kernel takes; use bf16, the nearest that one takes");
  EXPECT_EQ(refusal("f4e2m1"), "dtype is f4e2m1, which no kernel takes; use bf16, the nearest that one takes");
  EXPECT_EQ(refusal("i8"), "dtype is i8, which no kernel takes; use bf16 or fp16");
  EXPECT_EQ(refusal("half"), "dtype 'half' is not supported; use bf16 or fp16");
}
