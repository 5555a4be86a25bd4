// Typed arrays: numbers in, the numbers that the type has out, of every type of whole bytes.
#include "Verify/DeviceTensor.h"
#include "Verify/TypedArray.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::verify;

static std::vector<ElementTypeInfo> typesOfWholeBytes() {
  std::vector<ElementTypeInfo> rows;
  for (const ElementTypeInfo &info : elementTypeTable())
    if (info.hasWholeBytes())
      rows.push_back(info);
  return rows;
}

class TypedArrays : public testing::TestWithParam<ElementTypeInfo> {};
INSTANTIATE_TEST_SUITE_P(Types, TypedArrays, testing::ValuesIn(typesOfWholeBytes()),
                         [](const auto &info) { return std::string(info.param.name); });

TEST_P(TypedArrays, HoldNumbersAtTheirPlaces) {
  const ElementTypeInfo &info = GetParam();
  const std::vector<double> numbers = {1, 2, 4, 1, 8, 2};
  TypedArray array(info.type, numbers);
  ASSERT_EQ(array.size(), numbers.size());
  EXPECT_EQ(array.bytes().size(), numbers.size() * info.bits / 8);
  array.set(3, 16);
  array.push_back(2);
  const std::vector<double> wanted = {1, 2, 4, 16, 8, 2, 2};
  for (size_t i = 0; i != wanted.size(); ++i)
    EXPECT_EQ(array[i], wanted[i]) << i;
  std::vector<double> row(3);
  RowReader(info.type).read(array, 2, row);
  EXPECT_EQ(row, (std::vector<double>{4, 16, 8}));
  TypedArray other(info.type, 7);
  EXPECT_NE(other, array);
  other.copy(array, 0, 7, 0);
  EXPECT_EQ(other, array);
  other.copy(array, 1, 2, 5);
  EXPECT_EQ(other[5], 2);
  EXPECT_EQ(other[6], 4);
}

TEST_P(TypedArrays, TellGuardsFromNumbers) {
  TypedArray array(GetParam().type, 6);
  fillWithGuard(array, 2, 2);
  for (size_t i = 0; i != array.size(); ++i)
    EXPECT_EQ(holdsGuard(array, i), i == 2 || i == 3) << i;
}

// What is written in another type would show as another number.
TEST(TypedArray, RoundsToItsType) {
  EXPECT_EQ(TypedArray(ElementType::F8E4M3, std::vector<double>{17})[0], 16);
  EXPECT_EQ(TypedArray(ElementType::BF16, std::vector<double>{257})[0], 256);
  EXPECT_EQ(TypedArray(ElementType::F16, std::vector<double>{257})[0], 257);
  EXPECT_EQ(TypedArray(ElementType::I8, std::vector<double>{-300})[0], -128);
  TypedArray nan(ElementType::F8E5M2, std::vector<double>{NAN, 1});
  EXPECT_TRUE(nan.isNan(0));
  EXPECT_FALSE(nan.isNan(1));
  EXPECT_NE(TypedArray(ElementType::BF16, 2), TypedArray(ElementType::F16, 2)) << "the type counts";
}
