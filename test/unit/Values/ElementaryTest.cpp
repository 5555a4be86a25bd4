// The functions that a region may contain, as compiled, against float64: accuracy and range are
// what docs/Values.md promises.
#include "ValueKernel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace hocket;
using namespace hocket::test;

namespace {
struct Function {
  const char *name;
  double (*exact)(double);
  double least, greatest; ///< of the arguments
  double ulps, absolute;  ///< what is promised
};

double reciprocalRoot(double x) { return 1 / std::sqrt(x); }

const Function kFunctions[] = {
    {"exp2", [](double x) { return std::exp2(x); }, -140, 130, 1.5, 0x1p-126},
    {"exp", [](double x) { return std::exp(x); }, -100, 90, 3, 0x1p-126},
    {"log", [](double x) { return std::log(x); }, 0, 1000, 3, 0},
    {"log2", [](double x) { return std::log2(x); }, 0, 1000, 3, 0},
    {"log10", [](double x) { return std::log10(x); }, 0, 1000, 3, 0},
    {"log1p", [](double x) { return std::log1p(x); }, -1, 1000, 5, 0},
    {"expm1", [](double x) { return std::expm1(x); }, -100, 90, 4, 0},
    {"round", [](double x) { return std::round(x); }, -1000, 1000, 0, 0},
    {"sqrt", [](double x) { return std::sqrt(x); }, 0, 1e6, 0.5, 0},
    {"rsqrt", reciprocalRoot, 0x1p-100, 1e6, 1.5, 0},
    {"tanh", [](double x) { return std::tanh(x); }, -12, 12, 4, 0},
    {"erf", [](double x) { return std::erf(x); }, -5, 5, 4, 0},
    {"sin", [](double x) { return std::sin(x); }, -1000, 1000, 1, 0x1p-22},
    {"cos", [](double x) { return std::cos(x); }, -1000, 1000, 1, 0x1p-22},
};

constexpr int64_t kRows = 16, kColumns = 256;

std::string kernelOf(const std::string &function) {
  return R"(
tile.kernel @f(%x: !tile.view<?x?xf32>, %y: !tile.view<?x?xf32>) target("gfx950") waves(1) {
  %zero = arith.constant 0 : i32
  %a = tile.load %x[%zero, %zero] : !tile.view<?x?xf32> -> !tile.frag<16x256xf32, lines>
  %b = tile.map(%e = %a : !tile.frag<16x256xf32, lines>) -> !tile.frag<16x256xf32, lines> {
    %r = math.)" +
         function + R"( %e : f32
    tile.yield %r : f32
  }
  tile.store %b, %y[%zero, %zero] : !tile.frag<16x256xf32, lines>, !tile.view<?x?xf32>
}
)";
}

/// Evenly over the range, near its middle, over many magnitudes, and the ends.
std::vector<double> argumentsOf(const Function &function) {
  std::mt19937_64 random(7);
  auto uniform = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53;
  };
  std::vector<double> numbers;
  for (int64_t i = 0; i != kRows * kColumns; ++i) {
    double number = 0;
    switch (i % 4) {
    case 0:
      number = uniform(function.least, function.greatest);
      break;
    case 1:
      number = uniform(std::max(function.least, -2.0), 2);
      break;
    case 2: {
      double size = std::exp2(uniform(-60, 6));
      number = function.least < 0 && i % 8 == 2 ? -size : size;
      break;
    }
    default: // around 1
      number = 1 + uniform(-0x1p-8, 0x1p-8);
    }
    number = std::min(std::max(number, function.least), function.greatest);
    numbers.push_back(static_cast<double>(static_cast<float>(number)));
  }
  numbers[0] = static_cast<double>(static_cast<float>(function.least));
  numbers[1] = static_cast<double>(static_cast<float>(function.greatest));
  return numbers;
}

class Elementary : public testing::TestWithParam<Function> {};
} // namespace

static Status evaluate(const std::string &function, std::vector<double> numbers, Tensor &y) {
  Tensor x = {ElementType::F32, kRows, kColumns, std::move(numbers), 2};
  y = x;
  return runKernel(kernelOf(function), "f", 1, {&x, &y});
}

TEST_P(Elementary, isAsAccurateAsPromised) {
  const Function &function = GetParam();
  std::vector<double> numbers = argumentsOf(function);
  Tensor found;
  Status status = evaluate(function.name, numbers, found);
  ASSERT_TRUE(status) << status.error().message;
  double worst = 0;
  for (size_t i = 0; i != numbers.size(); ++i) {
    double exact = function.exact(numbers[i]);
    if (std::fabs(exact) > 0x1.fffffep127) {
      EXPECT_TRUE(std::isinf(found.numbers[i])) << function.name << " of " << numbers[i];
      continue;
    }
    double error = std::fabs(found.numbers[i] - exact), ulp = reference::ulpOf(ElementType::F32, exact);
    worst = std::max(worst, std::max(0.0, error - function.absolute) / ulp);
    ASSERT_LE(error, function.ulps * ulp + function.absolute)
        << function.name << " of " << numbers[i] << " is " << found.numbers[i] << ", exactly "
        << exact;
  }
  RecordProperty("worst_ulps", std::to_string(worst));
  std::printf("%s: %.2f units in the last place, beyond %g\n", function.name, worst,
              function.absolute);
}

INSTANTIATE_TEST_SUITE_P(All, Elementary, testing::ValuesIn(kFunctions),
                         [](const auto &info) { return std::string(info.param.name); });

/// What no number is expected of, and the ends of the formats.
TEST(ElementaryLimits, areDefined) {
  double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  struct Limit {
    const char *function;
    double argument, result;
  };
  const Limit limits[] = {
      {"exp2", inf, inf},     {"exp2", -inf, 0},   {"exp2", nan, nan},   {"exp", inf, inf},
      {"exp", -inf, 0},       {"exp", nan, nan},   {"exp", 200, inf},    {"log", 0, -inf},
      {"log", -1, nan},       {"log", inf, inf},   {"log2", 0, -inf},    {"log2", -1, nan},
      {"sqrt", -1, nan},      {"sqrt", inf, inf},  {"rsqrt", 0, inf},    {"rsqrt", inf, 0},
      {"rsqrt", -1, nan},     {"tanh", inf, 1},    {"tanh", -inf, -1},   {"tanh", nan, nan},
      {"tanh", 0, 0},         {"erf", inf, 1},     {"erf", -inf, -1},    {"erf", nan, nan},
      {"sin", inf, nan},      {"sin", nan, nan},   {"sin", 4194305, nan}, {"cos", -4194305, nan},
      {"sin", 0, 0},          {"log10", 0, -inf},  {"log10", -1, nan},   {"log10", inf, inf},
      {"log10", 1000, 3},     {"log1p", -1, -inf}, {"log1p", -2, nan},   {"log1p", inf, inf},
      {"log1p", nan, nan},    {"log1p", 0, 0},     {"expm1", inf, inf},  {"expm1", -inf, -1},
      {"expm1", nan, nan},    {"expm1", 0, 0},     {"expm1", 89, inf},   {"round", 2.5, 3},
      {"round", -2.5, -3},    {"round", 0x1.fffffep-2, 0},               {"round", nan, nan},
      {"round", 8388609, 8388609},                 {"round", -inf, -inf},
  };
  for (const Function &function : kFunctions) {
    std::vector<double> numbers(kRows * kColumns, 1.0);
    std::vector<const Limit *> asked;
    for (const Limit &limit : limits)
      if (std::string_view(limit.function) == function.name) {
        numbers[asked.size()] = limit.argument;
        asked.push_back(&limit);
      }
    Tensor found;
    Status status = evaluate(function.name, numbers, found);
    ASSERT_TRUE(status) << status.error().message;
    for (size_t i = 0; i != asked.size(); ++i) {
      if (std::isnan(asked[i]->result))
        EXPECT_TRUE(std::isnan(found.numbers[i])) << function.name << " of " << asked[i]->argument << " is " << found.numbers[i];
      else
        EXPECT_EQ(found.numbers[i], asked[i]->result) << function.name << " of " << asked[i]->argument;
    }
  }
}

/// The arguments of sines reach to 2^22.
TEST(ElementaryLimits, sinesKeepTheirAccuracy) {
  std::mt19937_64 random(11);
  std::vector<double> numbers;
  for (int64_t i = 0; i != kRows * kColumns; ++i)
    numbers.push_back(static_cast<double>(
        static_cast<float>(static_cast<double>(random() % (1u << 30)) / 128.0 - 4194304.0)));
  for (bool cosine : {false, true}) {
    Tensor found;
    Status status = evaluate(cosine ? "cos" : "sin", numbers, found);
    ASSERT_TRUE(status) << status.error().message;
    for (size_t i = 0; i != numbers.size(); ++i)
      ASSERT_NEAR(found.numbers[i], cosine ? std::cos(numbers[i]) : std::sin(numbers[i]), 0x1.4p-22)
          << (cosine ? "cos" : "sin") << " of " << numbers[i];
  }
}

static Status evaluatePower(std::vector<double> x, std::vector<double> y, Tensor &found) {
  Tensor base = {ElementType::F32, kRows, kColumns, std::move(x), 2};
  Tensor exponent = {ElementType::F32, kRows, kColumns, std::move(y), 2};
  found = base;
  return runKernel(R"(
tile.kernel @f(%x: !tile.view<?x?xf32>, %y: !tile.view<?x?xf32>, %z: !tile.view<?x?xf32>) target("gfx950") waves(1) {
  %zero = arith.constant 0 : i32
  %a = tile.load %x[%zero, %zero] : !tile.view<?x?xf32> -> !tile.frag<16x256xf32, lines>
  %b = tile.load %y[%zero, %zero] : !tile.view<?x?xf32> -> !tile.frag<16x256xf32, lines>
  %c = tile.map(%e = %a : !tile.frag<16x256xf32, lines>, %f = %b : !tile.frag<16x256xf32, lines>)
      -> !tile.frag<16x256xf32, lines> {
    %r = math.powf %e, %f : f32
    tile.yield %r : f32
  }
  tile.store %c, %z[%zero, %zero] : !tile.frag<16x256xf32, lines>, !tile.view<?x?xf32>
}
)",
                   "f", 1, {&base, &exponent, &found});
}

/// Bases of all magnitudes and next to 1, exponents that lead all over the range of f32 and beyond,
/// whole and odd ones of negative bases.
TEST(Power, isAsAccurateAsPromised) {
  std::mt19937_64 random(13);
  auto uniform = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53;
  };
  auto f32 = [](double value) { return static_cast<double>(static_cast<float>(value)); };
  std::vector<double> x, y;
  for (int64_t i = 0; i != kRows * kColumns; ++i) {
    x.push_back(f32(i % 2 ? std::exp2(uniform(-149, 128)) : 1 + uniform(-0.3, 0.4)));
    double logarithm = std::log2(x.back());
    y.push_back(f32(uniform(-152, 129) / (logarithm == 0 ? 1 : logarithm)));
    if (i % 4 == 1) {
      x.back() = -x.back();
      y.back() = std::round(uniform(-9, 9));
    }
  }
  Tensor found;
  Status status = evaluatePower(x, y, found);
  ASSERT_TRUE(status) << status.error().message;
  double worst = 0;
  for (size_t i = 0; i != x.size(); ++i) {
    double exact = std::pow(x[i], y[i]);
    if (std::fabs(exact) > 0x1.fffffep127) {
      EXPECT_EQ(found.numbers[i], std::copysign(HUGE_VAL, exact)) << x[i] << " to " << y[i];
      continue;
    }
    double error = std::fabs(found.numbers[i] - exact) / reference::ulpOf(ElementType::F32, exact);
    worst = std::max(worst, error);
    ASSERT_LE(error, 2) << x[i] << " to " << y[i] << " is " << found.numbers[i] << ", exactly " << exact;
  }
  std::printf("powf: %.2f units in the last place\n", worst);
}

/// Every pair of numbers that C has a rule for, and some that it has none for.
TEST(Power, hasTheSpecialCasesOfC) {
  double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const double special[] = {0.0,  -0.0, 1.0, -1.0, 0.5,       -0.5, 2.0,      -2.0, 3.0,     -3.0,
                            1.5,  -1.5, inf, -inf, nan,       1e30, -1e30,    1e-40, 0x1p24, -0x1p24,
                            0x1.fffffep23, -0x1.fffffep23, 0x1.000002p0, 0x1.fffffep-1};
  std::vector<double> x(kRows * kColumns, 1), y = x;
  size_t count = 0;
  for (double base : special)
    for (double exponent : special) {
      x[count] = static_cast<double>(static_cast<float>(base));
      y[count++] = exponent;
    }
  Tensor found;
  Status status = evaluatePower(x, y, found);
  ASSERT_TRUE(status) << status.error().message;
  for (size_t i = 0; i != count; ++i) {
    double exact = std::pow(x[i], y[i]), is = found.numbers[i];
    std::string pair = std::to_string(x[i]) + " to " + std::to_string(y[i]);
    if (std::isnan(exact)) {
      EXPECT_TRUE(std::isnan(is)) << pair << " is " << is;
    } else if (static_cast<double>(static_cast<float>(exact)) == 0 || std::isinf(static_cast<float>(exact))) {
      EXPECT_EQ(is, static_cast<double>(static_cast<float>(exact))) << pair;
    } else {
      EXPECT_NEAR(is, exact, 2 * reference::ulpOf(ElementType::F32, exact)) << pair;
    }
  }
}
