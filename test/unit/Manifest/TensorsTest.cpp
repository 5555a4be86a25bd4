// Tensors as data: sizes, places, variables, and every refusal.
#include "hocket/Manifest/Tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::manifest;

/// 2 batches of 3 heads of 5 rows of 4 elements; the rows of a head are 6 apart.
static TensorSpec makeTensor(TensorRole role = TensorRole::Output) {
  return {"t", role, ElementType::BF16, 4,
          {{"batch", "t_stride_b", 2, 200},
           {"head", "t_stride_h", 3, 32},
           {"sequence", "t_stride_s", 5, 6, 256}}};
}

static std::string errorOf(const TensorSpec &tensor) {
  Status status = validate(tensor);
  return status.ok() ? "valid" : status.error().message;
}

TEST(Tensors, KnowTheirSizes) {
  TensorSpec tensor = makeTensor();
  EXPECT_EQ(tensor.rows(), 30);
  EXPECT_EQ(tensor.elements(), 120);
  EXPECT_EQ(tensor.rowBytes(), 8);
  EXPECT_EQ(tensor.spanBytes(), 2u * (200 + 2 * 32 + 4 * 6 + 4));
  EXPECT_EQ(tensor.bufferBytes(), tensor.spanBytes());
  tensor.wanted = false;
  EXPECT_EQ(tensor.bufferBytes(), 0u);
  tensor.type = ElementType::F32;
  EXPECT_EQ(tensor.rowBytes(), 16);
}

TEST(Tensors, RowsLieWhereTheStridesSay) {
  std::vector<uint64_t> offsets = makeTensor().rowOffsets();
  ASSERT_EQ(offsets.size(), 30u);
  size_t row = 0;
  for (uint64_t batch = 0; batch < 2; ++batch)
    for (uint64_t head = 0; head < 3; ++head)
      for (uint64_t at = 0; at < 5; ++at)
        EXPECT_EQ(offsets[row++], 2 * (200 * batch + 32 * head + 6 * at));
}

TEST(Tensors, ProductsSaturate) {
  TensorSpec tensor = makeTensor();
  for (TensorDimension &dimension : tensor.dimensions)
    dimension.extent = dimension.stride = INT64_MAX;
  EXPECT_EQ(tensor.rows(), INT64_MAX);
  EXPECT_EQ(tensor.elements(), INT64_MAX);
  EXPECT_EQ(tensor.spanBytes(), uint64_t(INT64_MAX));
  EXPECT_THAT(errorOf(tensor), testing::HasSubstr("tensor 't' has more than"));
}

TEST(Tensors, RefusalsNameTensorAndDimension) {
  EXPECT_EQ(errorOf(makeTensor()), "valid");
  TensorSpec negative = makeTensor();
  negative.dimensions[1].stride = -8;
  EXPECT_EQ(errorOf(negative), "the head stride of 't' is -8, negative strides are not supported");
  TensorSpec wide = makeTensor();
  wide.dimensions[0].stride = int64_t(1) << 46;
  EXPECT_EQ(errorOf(wide),
            "tensor 't' spans more than 70368744177664 bytes; use smaller strides");
  TensorSpec tall = makeTensor();
  tall.dimensions[2].stride = int64_t(1) << 28;
  EXPECT_EQ(errorOf(tall),
            "the sequence stride of 't' is 268435456 elements, a tile of 5 rows then "
            "spans 2147483656 bytes; it must stay below 2147483648");
  TensorSpec overlapping = makeTensor();
  overlapping.dimensions[1].stride = 8;
  EXPECT_EQ(errorOf(overlapping), "the strides of 't' make its rows overlap: a stride of 8 elements "
                                  "steps over 28; use larger strides");
  overlapping.role = TensorRole::Input;
  EXPECT_EQ(errorOf(overlapping), "valid") << "what is only read may overlap";
}

TEST(Tensors, GiveVariablesAndAddresses) {
  std::vector<TensorSpec> tensors = {makeTensor(), makeTensor()};
  tensors[1].name = "u";
  tensors[1].dimensions.resize(0);
  Variables variables;
  addVariables(variables, tensors);
  EXPECT_EQ(variables.at("t_stride_s"), Value::integer(6));
  EXPECT_EQ(variables.at("t_bytes"), Value::integer(2 * 292));
  EXPECT_EQ(variables.at("u_bytes"), Value::integer(8));
  EXPECT_FALSE(variables.contains("t"));
  addAddresses(variables, tensors, {{"u", 4096}, {"workspace", 8192}});
  EXPECT_EQ(variables.at("t"), Value::integer(0));
  EXPECT_EQ(variables.at("u"), Value::integer(4096));
  EXPECT_EQ(variables.at("workspace"), Value::integer(8192));
}
