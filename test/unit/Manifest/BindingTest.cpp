// Binding a manifest to a problem: bytes in the right places, and values that do not fit refused.
#include "hocket/Manifest/Manifest.h"

#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::manifest;

static Expression parse(const std::string &text) {
  Result<Expression> expression = Expression::parse(text);
  EXPECT_TRUE(expression.ok()) << text;
  return expression.ok() ? *expression : Expression();
}

static Manifest makeManifest() {
  Manifest manifest;
  manifest.kernel = "k";
  manifest.target = "gfx950";
  manifest.kernargSize = 24;
  manifest.grid[0] = parse("ceildiv(n, 64)");
  manifest.block[0] = parse("64");
  manifest.workspace = parse("n * 4");
  manifest.dynamicLds = parse("n / 10");
  manifest.arguments = {{"p", 0, ArgumentType::Pointer, parse("p + 16"), 16},
                        {"x", 8, ArgumentType::F32, parse("x * 2"), 1},
                        {"n", 12, ArgumentType::I32, parse("n"), 1},
                        {"s", 16, ArgumentType::I64, parse("n * -1"), 1}};
  manifest.requirements = {{parse("n >= 1"), "n must be 1 or more"}};
  return manifest;
}

static Variables makeProblem(int64_t n = 1000) {
  return {{"n", Value::integer(n)}, {"p", Value::integer(0x1000)}, {"x", Value::real(0.75)}};
}

template <typename T> static T at(const Binding &binding, size_t offset) {
  T value;
  std::memcpy(&value, binding.kernarg.data() + offset, sizeof(T));
  return value;
}

static std::string errorOf(const Manifest &manifest, const Variables &problem = makeProblem()) {
  Result<Binding> binding = bindLaunch(manifest, problem);
  return binding.ok() ? "bound" : binding.error().message;
}

TEST(Binding, EvaluatesShapeAndArguments) {
  Result<Binding> binding = bindLaunch(makeManifest(), makeProblem());
  ASSERT_TRUE(binding.ok()) << binding.error().message;
  EXPECT_EQ(binding->shape.grid, (runtime::Dim3{16, 1, 1}));
  EXPECT_EQ(binding->shape.block, (runtime::Dim3{64, 1, 1}));
  EXPECT_EQ(binding->shape.dynamicLds, 100u);
  ASSERT_EQ(binding->kernarg.size(), 24u);
  EXPECT_EQ(at<uint64_t>(*binding, 0), 0x1010u);
  EXPECT_EQ(at<float>(*binding, 8), 1.5f);
  EXPECT_EQ(at<int32_t>(*binding, 12), 1000);
  EXPECT_EQ(at<int64_t>(*binding, 16), -1000);
  Result<uint64_t> workspace = workspaceBytes(makeManifest(), makeProblem());
  ASSERT_TRUE(workspace.ok());
  EXPECT_EQ(*workspace, 4000u);
}

TEST(Binding, RefusesAProblemByItsRequirement) {
  Result<Binding> binding = bindLaunch(makeManifest(), makeProblem(0));
  ASSERT_FALSE(binding.ok());
  EXPECT_EQ(binding.error().kind, ErrorKind::Unsupported);
  EXPECT_EQ(binding.error().message,
            "kernel 'k' does not take this problem: n must be 1 or more (n >= 1)");
}

TEST(Binding, RefusesValuesThatDoNotFit) {
  Manifest manifest = makeManifest();
  manifest.arguments[2].value = parse("n * 10000000");
  EXPECT_EQ(errorOf(manifest),
            "argument 'n' is 10000000000, which a i32 cannot hold (n * 10000000)");
  manifest.arguments[2].type = ArgumentType::U32;
  manifest.arguments[2].value = parse("-1");
  EXPECT_THAT(errorOf(manifest), testing::HasSubstr("argument 'n' is -1, which a u32 cannot hold"));
  manifest.arguments[2].value = parse("0.5");
  EXPECT_THAT(errorOf(manifest), testing::HasSubstr("a u32 needs an integer; use floor or ceil"));
  manifest = makeManifest();
  manifest.arguments[1].value = parse("1e39");
  EXPECT_THAT(errorOf(manifest), testing::HasSubstr("which a f32 cannot hold"));
  manifest = makeManifest();
  manifest.arguments[3].type = ArgumentType::U64;
  EXPECT_THAT(errorOf(manifest), testing::HasSubstr("which a u64 cannot hold"));
}

TEST(Binding, RefusesAMisalignedPointer) {
  Manifest manifest = makeManifest();
  manifest.arguments[0].value = parse("p + 8");
  EXPECT_EQ(errorOf(manifest),
            "argument 'p' is the address 4104, which is not a multiple of 16; align the tensor");
}

TEST(Binding, RefusesAnImpossibleShape) {
  Manifest manifest = makeManifest();
  manifest.grid[1] = parse("n - 1000");
  EXPECT_EQ(errorOf(manifest), "grid y of kernel 'k' is 0 (n - 1000), it must be 1 to 2147483647");
  manifest = makeManifest();
  manifest.block[2] = parse("0.5");
  EXPECT_THAT(errorOf(manifest),
              testing::HasSubstr("block z of kernel 'k' is 0.5, an integer is needed"));
  manifest = makeManifest();
  manifest.dynamicLds = parse("-4");
  EXPECT_THAT(errorOf(manifest), testing::HasSubstr("dynamic LDS of kernel 'k' is -4"));
}

TEST(Binding, NamesWhatFailed) {
  Manifest manifest = makeManifest();
  manifest.arguments[2].value = parse("m");
  EXPECT_EQ(errorOf(manifest),
            "argument 'n': expression 'm': unknown variable 'm'; this problem has n, p, x");
  manifest.requirements[0].condition = parse("1 / 0");
  EXPECT_THAT(errorOf(manifest),
              testing::HasSubstr("requirement of kernel 'k': expression '1 / 0'"));
}

TEST(Binding, ChecksTheManifestAgainstTheKernel) {
  runtime::KernelInfo kernel;
  kernel.name = "k";
  kernel.kernargSize = 32;
  kernel.arguments = {{"p", "global_buffer", 0, 8},
                      {"x", "by_value", 8, 4},
                      {"n", "by_value", 12, 4},
                      {"s", "by_value", 16, 8},
                      {"", "hidden_block_count_x", 24, 4}};
  EXPECT_TRUE(checkKernel(makeManifest(), kernel).ok());
  Manifest manifest = makeManifest();
  manifest.arguments.pop_back();
  Status status = checkKernel(manifest, kernel);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message,
            "manifest gives no value to argument 's' at offset 16 of kernel 'k'; add one");
  manifest = makeManifest();
  manifest.kernargSize = 16;
  EXPECT_FALSE(checkKernel(manifest, kernel).ok());
  manifest = makeManifest();
  manifest.arguments.push_back({"h", 24, ArgumentType::I32, parse("1"), 1});
  status = checkKernel(manifest, kernel);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, testing::HasSubstr("'hidden_block_count_x' at offset 24"));
}
