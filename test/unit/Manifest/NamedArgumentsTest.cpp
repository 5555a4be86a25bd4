// Tensors and scalars by name: which variables they give, and what is refused by which words.
#include "hocket/Manifest/NamedArguments.h"

#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::manifest;
using testing::HasSubstr;

static Expression parse(const std::string &text) {
  Result<Expression> expression = Expression::parse(text);
  EXPECT_TRUE(expression.ok()) << text;
  return expression.ok() ? *expression : Expression();
}

static std::vector<Expression> parseAll(std::initializer_list<const char *> texts) {
  std::vector<Expression> list;
  for (const char *text : texts)
    list.push_back(parse(text));
  return list;
}

/// C (m x n) from A (m x k), B (n x k), where n is even and the rows of C may be strided.
static Manifest product() {
  Manifest manifest;
  manifest.kernel = "product";
  manifest.target = "gfx950";
  manifest.kernargSize = 40;
  manifest.grid[0] = parse("ceildiv(m, 16)");
  manifest.block[0] = parse("64");
  manifest.tensors = {
      {"a", ElementType::BF16, parseAll({"m", "k"}), parseAll({"k", "1"})},
      {"b", ElementType::BF16, parseAll({"half * 2", "k"}), parseAll({"b_stride_0", "1"})},
      {"c", ElementType::F32, parseAll({"m", "half * 2"}), parseAll({"ldc", "1"})}};
  manifest.arguments = {{"a", 0, ArgumentType::Pointer, parse("a"), 16},
                        {"b", 8, ArgumentType::Pointer, parse("b"), 16},
                        {"c", 16, ArgumentType::Pointer, parse("c"), 16},
                        {"k", 24, ArgumentType::I32, parse("k"), 1},
                        {"ldc", 28, ArgumentType::I32, parse("ldc"), 1},
                        {"alpha", 32, ArgumentType::F32, parse("alpha"), 1},
                        {"sb", 36, ArgumentType::I32, parse("b_stride_0"), 1}};
  manifest.requirements = {{parse("want_c"), "c must be there"}};
  return manifest;
}

static NamedArguments arguments() {
  NamedArguments result;
  result.tensors = {{"a", 0x1000, ElementType::BF16, {100, 32}},
                    {"b", 0x2000, ElementType::BF16, {8, 32}, {48, 1}},
                    {"c", 0x3000, ElementType::F32, {100, 8}, {64, 1}}};
  result.scalars = {{"alpha", Value::real(0.5)}, {"half", Value::integer(4)}};
  return result;
}

template <typename T> static T at(const Binding &binding, size_t offset) {
  T value;
  std::memcpy(&value, binding.kernarg.data() + offset, sizeof(T));
  return value;
}

static std::string errorOf(const NamedArguments &given, const Manifest &manifest = product()) {
  Result<Binding> binding = bindLaunch(manifest, given);
  return binding.ok() ? "bound" : binding.error().message;
}

TEST(NamedArguments, BindByNameInAnyOrder) {
  NamedArguments given = arguments();
  std::swap(given.tensors[0], given.tensors[2]);
  Result<Binding> binding = bindLaunch(product(), given);
  ASSERT_TRUE(binding.ok()) << binding.error().message;
  EXPECT_EQ(binding->shape.grid, (runtime::Dim3{7, 1, 1}));
  EXPECT_EQ(at<uint64_t>(*binding, 0), 0x1000u);
  EXPECT_EQ(at<uint64_t>(*binding, 16), 0x3000u);
  EXPECT_EQ(at<int32_t>(*binding, 24), 32);
  EXPECT_EQ(at<int32_t>(*binding, 28), 64);
  EXPECT_EQ(at<float>(*binding, 32), 0.5f);
  EXPECT_EQ(at<int32_t>(*binding, 36), 48);
}

TEST(NamedArguments, GiveVariablesOfTheirOwn) {
  Result<Variables> variables = deriveVariables(product(), arguments());
  ASSERT_TRUE(variables.ok()) << variables.error().message;
  auto value = [&](const char *name) { return (*variables)[name].asInteger(); };
  EXPECT_EQ(value("c_size_0"), 100);
  EXPECT_EQ(value("c_stride_0"), 64);
  EXPECT_EQ(value("c_stride_1"), 1);
  EXPECT_EQ(value("c_bytes"), 4 * (99 * 64 + 8));
  EXPECT_EQ(value("want_b"), 1);
}

TEST(NamedArguments, SayWhatAKernelWants) {
  EXPECT_EQ(describe(signatureOf(product())), "tensors a [m, k] bf16, b [half * 2, k] bf16, c [m, "
                                              "half * 2] f32; scalars alpha, half");
  EXPECT_EQ(describe(Signature()), "no arguments");
}

TEST(NamedArguments, AreMissingOrTooMany) {
  const std::string wants = "; it wants " + describe(signatureOf(product()));
  NamedArguments given = arguments();
  given.tensors.pop_back();
  EXPECT_EQ(errorOf(given), "kernel 'product': tensor 'c' is missing" + wants);
  given = arguments();
  given.tensors.push_back({"d", 0, ElementType::F32, {1}});
  EXPECT_EQ(errorOf(given), "kernel 'product': it has no tensor 'd'" + wants);
  given = arguments();
  given.tensors.push_back(given.tensors[0]);
  EXPECT_EQ(errorOf(given), "kernel 'product': tensor 'a' is given twice");
  given = arguments();
  given.scalars.erase("alpha");
  EXPECT_EQ(errorOf(given), "kernel 'product': scalar 'alpha' is missing" + wants);
  given = arguments();
  given.scalars["beta"] = Value::integer(1);
  EXPECT_EQ(errorOf(given), "kernel 'product': it has no scalar 'beta'" + wants);
  given = arguments();
  given.scalars["m"] = Value::integer(100);
  EXPECT_EQ(errorOf(given),
            "kernel 'product': scalar 'm' follows from extent 0 of tensor 'a'; leave it out");
  given = arguments();
  given.scalars["a_size_0"] = Value::integer(100);
  EXPECT_EQ(errorOf(given),
            "kernel 'product': scalar 'a_size_0' follows from the tensors; leave it out");
}

TEST(NamedArguments, DoNotFit) {
  NamedArguments given = arguments();
  given.tensors[0].dtype = ElementType::F16;
  EXPECT_THAT(errorOf(given), HasSubstr("tensor 'a' has elements of f16, bf16 are needed"));
  given = arguments();
  given.tensors[0].shape = {100, 32, 1};
  EXPECT_THAT(errorOf(given), HasSubstr("tensor 'a' has 3 dimensions, 2 are needed"));
  given = arguments();
  given.tensors[2].shape[0] = 99;
  EXPECT_EQ(errorOf(given), "kernel 'product': 'm' is 100 by extent 0 of tensor 'a' and 99 by "
                            "extent 0 of tensor 'c'; they must be equal");
  given = arguments();
  given.scalars["half"] = Value::integer(5);
  EXPECT_EQ(errorOf(given),
            "kernel 'product': extent 0 of tensor 'b' is 8, the kernel is for half * 2 = 10");
  given = arguments();
  given.tensors[2].strides = {64, 2};
  EXPECT_EQ(errorOf(given), "kernel 'product': stride 1 of tensor 'c' is 2, the kernel is for 1");
  given = arguments();
  given.tensors[0].strides = {40, 1};
  EXPECT_EQ(errorOf(given),
            "kernel 'product': 'k' is 32 by extent 1 of tensor 'a' and 40 by stride "
            "0 of tensor 'a'; they must be equal");
  given = arguments();
  given.tensors[1].address = 0x2008;
  EXPECT_THAT(errorOf(given), HasSubstr("argument 'b' is the address 8200"));
}

TEST(NamedArguments, OfOneRowHaveNoStride) {
  NamedArguments given = arguments();
  given.tensors[0].shape[0] = given.tensors[2].shape[0] = 1;
  given.tensors[0].strides = {4096, 1};
  EXPECT_EQ(errorOf(given), "bound");
}

TEST(NamedArguments, MayBeMalformed) {
  auto bytes = [](std::vector<int64_t> shape, std::vector<int64_t> strides = {}) {
    Result<uint64_t> result = NamedTensor{"x", 0, ElementType::F32, shape, strides}.bytes();
    return result.ok() ? std::to_string(*result) : result.error().message;
  };
  EXPECT_EQ(bytes({3, 5}), "60");
  EXPECT_EQ(bytes({3, 5}, {8, 1}), "84");
  EXPECT_EQ(bytes({}), "4");
  EXPECT_EQ(bytes({3, 0}), "0");
  EXPECT_EQ(bytes({3}, {1, 1}), "tensor 'x' has 2 strides for 1 dimensions");
  EXPECT_EQ(bytes({3, -1}),
            "tensor 'x': extents and strides must not be negative, found -1 in dimension 1");
  EXPECT_THAT(bytes({1ll << 40, 1ll << 40}), HasSubstr("tensor 'x' is too large"));
  EXPECT_THAT(bytes({1ll << 40, 1ll << 40, 1ll << 40}), HasSubstr("tensor 'x' is too large"));
  EXPECT_THAT(bytes({1ll << 61}), HasSubstr("spans more than 2^63 bytes"));
}

TEST(NamedArguments, OfAManifestWithoutTensorsAreItsPointers) {
  Manifest manifest = product();
  manifest.tensors.clear();
  manifest.requirements.clear();
  EXPECT_EQ(describe(signatureOf(manifest)), "tensors a, b, c; scalars alpha, k, ldc, m");
  NamedArguments given = arguments();
  given.scalars = {{"alpha", Value::integer(2)},
                   {"k", Value::integer(32)},
                   {"ldc", Value::integer(64)},
                   {"m", Value::integer(100)}};
  EXPECT_EQ(errorOf(given, manifest), "bound");
}

TEST(NamedArguments, NeedAWorkspace) {
  Manifest manifest = product();
  manifest.workspace = parse("m * 4");
  manifest.arguments[1].value = parse("workspace + 16");
  NamedArguments given = arguments();
  EXPECT_EQ(
      errorOf(given, manifest),
      "kernel 'product' needs 400 bytes of workspace; allocate them and give their address as "
      "the scalar 'workspace'");
  given.scalars["workspace"] = Value::integer(0x8000);
  Result<Binding> binding = bindLaunch(manifest, given);
  ASSERT_TRUE(binding.ok()) << binding.error().message;
  EXPECT_EQ(at<uint64_t>(*binding, 8), 0x8010u);
}

TEST(NamedArguments, SurviveTheManifestAsText) {
  std::string text = writeManifest(product());
  Result<Manifest> read = parseManifest(text, "m.json");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(writeManifest(*read), text);
  EXPECT_EQ(describe(signatureOf(*read)), describe(signatureOf(product())));
}

TEST(NamedArguments, AreRefusedInMalformedManifests) {
  std::string text = writeManifest(product());
  auto errorWith = [&](const std::string &from, const std::string &to) {
    std::string changed = text;
    size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    changed.replace(at, from.size(), to);
    Result<Manifest> read = parseManifest(changed, "m");
    return read.ok() ? "read" : read.error().message;
  };
  EXPECT_THAT(
      errorWith("\"dtype\": \"bf16\"", "\"dtype\": \"brain\""),
      HasSubstr("manifest 'm': \"dtype\" of tensor 0 ('a') is 'brain'; known are bf16, f16"));
  EXPECT_THAT(errorWith("\"name\": \"b\"", "\"name\": \"a\""),
              HasSubstr("there are two tensors 'a'"));
  EXPECT_THAT(errorWith("\"dtype\"", "\"type\""),
              HasSubstr("unknown key \"type\" in tensor 0 ('a')"));
  EXPECT_THAT(errorWith("\"strides\": [\n        \"k\",\n", "\"strides\": [\n"),
              HasSubstr("tensor 0 ('a') has 1 strides and 2 sizes"));
  EXPECT_THAT(errorWith("\"half * 2\"", "\"half *\""), HasSubstr("\"sizes\" of tensor 1 ('b'): "));
  EXPECT_THAT(errorWith("\"tensors\": [", "\"tensors\": 1, \"arguments\": ["),
              HasSubstr("\"tensors\" must be an array of objects"));
}
