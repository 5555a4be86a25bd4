// tile.convert_layout: every layout becomes every other, of all element types, in two waves that
// hold different numbers, under checked execution.
#include "ValueKernel.h"

#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::test;

namespace {
constexpr int64_t kRows = 64, kColumns = 128;
constexpr unsigned kWaves = 2;

struct Element {
  const char *name;
  ElementType type;
};
constexpr Element kElements[] = {{"f32", ElementType::F32},
                                 {"bf16", ElementType::BF16},
                                 {"f16", ElementType::F16},
                                 {"i32", ElementType::I32},
                                 {"i8", ElementType::I8}};

const std::vector<std::string> kLayouts = {"acc",     "lhs",          "rhs",        "rhs_acc",
                                           "lhs_acc", "lines(1x64)",  "lines(8x16)", "lines(4x4)",
                                           "lines(16x1)"};

std::string fragment(const std::string &layout, const std::string &element) {
  bool inOrder = layout == "lhs" || layout.starts_with("lines");
  std::string shape = inOrder ? "64x128x" : "128x64x";
  return "!tile.frag<" + shape + element + ", " + layout + ">";
}

/// Small whole numbers, exact in all types, that differ between neighbours.
Tensor numbersOf(ElementType type, int64_t rows, int64_t columns) {
  Tensor tensor = {type, rows, columns, {}, 2};
  for (int64_t i = 0; i != rows * columns; ++i)
    tensor.numbers.push_back(static_cast<double>((i * 89 + i / columns * 7) % 251 - 125));
  return tensor;
}
} // namespace

/// Loads in one layout, converts to each of `layouts` and stores each.
static void convertAll(const std::string &from, const Element &element, const std::string &target) {
  std::string views, body, view = "!tile.view<?x?x" + std::string(element.name) + ">";
  std::vector<Tensor> outputs(kLayouts.size(),
                              numbersOf(element.type, kWaves * kRows, kColumns));
  Tensor input = outputs.front();
  std::vector<Argument> arguments = {&input};
  for (size_t i = 0; i != kLayouts.size(); ++i) {
    outputs[i].numbers.assign(outputs[i].numbers.size(), 0);
    arguments.push_back(&outputs[i]);
    std::string number = std::to_string(i), to = fragment(kLayouts[i], element.name);
    views += ", %y" + number + ": " + view;
    body += "  %c" + number + " = tile.convert_layout %x : " + fragment(from, element.name) +
            " -> " + to + "\n  tile.store %c" + number + ", %y" + number + "[%wave, %zero] : " +
            to + ", " + view + "\n";
  }
  std::string text = "tile.kernel @f(%a: " + view + views + ") target(\"" + target +
                     "\") waves(2) {\n  %zero = arith.constant 0 : i32\n"
                     "  %wave = tile.wave_row %zero rows(64)\n  %x = tile.load %a[%wave, %zero] : " +
                     view + " -> " + fragment(from, element.name) + "\n" + body + "}\n";
  Status status = runKernel(text, "f", kWaves, arguments, target);
  ASSERT_TRUE(status) << status.error().message << text;
  for (size_t i = 0; i != kLayouts.size(); ++i)
    EXPECT_EQ(outputs[i].numbers, input.numbers)
        << from << " to " << kLayouts[i] << ", " << element.name;
}

TEST(ConvertLayout, everyLayoutToEveryOther) {
  for (const std::string &from : kLayouts)
    for (const Element &element : kElements)
      // Of elements as wide as others, two layouts will do.
      if (std::string_view("f32 bf16 i8").find(element.name) != std::string_view::npos ||
          from == "acc" || from == "lines(8x16)")
        convertAll(from, element, "gfx950");
}

TEST(ConvertLayout, onGfx942) {
  for (const std::string &from : kLayouts)
    convertAll(from, kElements[1], "gfx942");
}

/// Row and column values: one number a lane, several, and the same in all lanes.
TEST(ConvertLayout, rowsAndColumns) {
  const std::vector<std::string> rows = {"acc", "lhs_acc", "lines(1x64)", "lines(8x16)"},
                                 columns = {"acc", "lhs", "lhs_acc", "lines(1x64)", "lines(8x16)"};
  for (auto [kind, layouts, size] :
       {std::tuple("rows", rows, kRows), std::tuple("columns", columns, kColumns)})
    for (const std::string &from : layouts)
      for (const std::string &to : layouts) {
        auto type = [&](const std::string &layout) {
          return "!tile." + std::string(kind) + "<" + std::to_string(size) + "xf32, " + layout + ">";
        };
        std::string text = R"(
tile.kernel @f(%a: !tile.view<?x?xf32>, %y: !tile.view<?x?xf32>) target("gfx950") waves(2) {
  %zero = arith.constant 0 : i32
  %wave = tile.wave_row %zero rows(1)
  %x = tile.load %a[%wave, %zero] : !tile.view<?x?xf32> -> )" +
                           type(from) + "\n  %c = tile.convert_layout %x : " + type(from) + " -> " +
                           type(to) + "\n  tile.store %c, %y[%wave, %zero] : " + type(to) +
                           ", !tile.view<?x?xf32>\n}\n";
        Tensor input = numbersOf(ElementType::F32, kWaves, size), output = input;
        output.numbers.assign(output.numbers.size(), 0);
        Status status = runKernel(text, "f", kWaves, {&input, &output});
        ASSERT_TRUE(status) << status.error().message << text;
        EXPECT_EQ(output.numbers, input.numbers) << kind << " " << from << " to " << to;
      }
}

/// In a loop, and under a condition that differs between waves: there is no barrier to meet at.
TEST(ConvertLayout, whereWavesGoDifferentWays) {
  std::string text = R"(
tile.kernel @f(%a: !tile.view<?x?xf32>, %y: !tile.view<?x?xf32>) target("gfx950") waves(2) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %wave = tile.wave_row %zero rows(32)
  %number = tile.wave_row %zero rows(1)
  %count = arith.addi %number, %one : i32
  %x = tile.load %a[%wave, %zero] : !tile.view<?x?xf32> -> !tile.frag<32x32xf32, acc>
  %z = scf.for %t = %zero to %count step %one iter_args(%c = %x) -> (!tile.frag<32x32xf32, acc>) : i32 {
    %lines = tile.convert_layout %c : !tile.frag<32x32xf32, acc> -> !tile.frag<32x32xf32, lines>
    %doubled = tile.map(%e = %lines : !tile.frag<32x32xf32, lines>) -> !tile.frag<32x32xf32, lines> {
      %sum = arith.addf %e, %e : f32
      tile.yield %sum : f32
    }
    %back = tile.convert_layout %doubled : !tile.frag<32x32xf32, lines> -> !tile.frag<32x32xf32, acc>
    scf.yield %back : !tile.frag<32x32xf32, acc>
  }
  tile.store %z, %y[%wave, %zero] : !tile.frag<32x32xf32, acc>, !tile.view<?x?xf32>
}
)";
  Tensor input = numbersOf(ElementType::F32, 64, 32), output = input;
  Status status = runKernel(text, "f", kWaves, {&input, &output});
  ASSERT_TRUE(status) << status.error().message;
  for (int64_t i = 0; i != 64 * 32; ++i)
    ASSERT_EQ(output.numbers[i], input.numbers[i] * (i < 32 * 32 ? 2 : 4)) << i;
}

/// A square of what was loaded in whole lines: the operands of the product, and its result.
TEST(ConvertLayout, operandsAndAccumulators) {
  std::string text = R"(
tile.kernel @f(%a: !tile.view<?x?xbf16>, %c: !tile.view<?x?xf32>) target("gfx950") waves(1) {
  %zero = arith.constant 0 : i32
  %x = tile.load %a[%zero, %zero] : !tile.view<?x?xbf16> -> !tile.frag<32x32xbf16, lines>
  %lhs = tile.convert_layout %x : !tile.frag<32x32xbf16, lines> -> !tile.frag<32x32xbf16, lhs>
  %rhs = tile.convert_layout %x : !tile.frag<32x32xbf16, lines> -> !tile.frag<32x32xbf16, rhs>
  %none = tile.fill 0.0 : !tile.frag<32x32xf32, acc>
  %product = tile.mma %lhs, %rhs, %none : !tile.frag<32x32xbf16, lhs>, !tile.frag<32x32xbf16, rhs>, !tile.frag<32x32xf32, acc>
  %rows = tile.convert_layout %product : !tile.frag<32x32xf32, acc> -> !tile.frag<32x32xf32, lines>
  tile.store %rows, %c[%zero, %zero] : !tile.frag<32x32xf32, lines>, !tile.view<?x?xf32>
}
)";
  Tensor input = numbersOf(ElementType::BF16, 32, 32), output = numbersOf(ElementType::F32, 32, 32);
  Status status = runKernel(text, "f", 1, {&input, &output});
  ASSERT_TRUE(status) << status.error().message;
  for (int64_t row = 0; row != 32; ++row)
    for (int64_t column = 0; column != 32; ++column) {
      double sum = 0;
      // The product is held transposed; X X^T is its own transpose.
      for (int64_t k = 0; k != 32; ++k)
        sum += input.numbers[row * 32 + k] * input.numbers[column * 32 + k];
      ASSERT_EQ(output.numbers[row * 32 + column], sum) << row << ", " << column;
    }
}
