// Loads, stores and additions of every layout and element type, at places of every kind: whole, cut
// by rows, by columns, by both, misplaced by an element, beyond the view.
#include "TileKernel.h"

#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::language;

static manifest::Value number(int64_t value) { return manifest::Value::integer(value); }

static std::string replaced(std::string text,
                            std::initializer_list<std::pair<std::string, std::string>> words) {
  for (const auto &[from, to] : words)
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
  return text;
}

namespace {
/// Numbers that are copied from one matrix to another.
struct Copied {
  std::string type;           ///< of the value in registers
  int64_t rows, columns;      ///< of memory
  std::string source, target; ///< elements of the views
  std::string along = "";     ///< of both, with parentheses
};

/// A matrix in memory, with room between its rows.
struct Matrix {
  int64_t rows, columns, stride;

  Tensor tensor(const std::string &name, const std::string &type, std::vector<double> values) const {
    Tensor result{name, type, std::move(values)};
    for (int64_t row = 0; row != rows; ++row)
      for (int64_t column = 0; column != columns; ++column)
        result.places.push_back(row * stride + column);
    return result;
  }
  bool has(int64_t row, int64_t column) const {
    return row >= 0 && row < rows && column >= 0 && column < columns;
  }
};

struct Places {
  int64_t fromRow, fromColumn, toRow, toColumn;
};
} // namespace

static constexpr const char *kCopy = R"(
tile.kernel @copy(
    %s: !tile.view<?x?xSOURCE> {tile.bind = "s", tile.sizes = ["s_rows", "s_columns"], tile.strides = ["s_stride"]},
    %d: !tile.view<?x?xTARGET> {tile.bind = "d", tile.sizes = ["d_rows", "d_columns"], tile.strides = ["d_stride"]},
    %r: i32 {tile.bind = "r"}, %c: i32 {tile.bind = "c"}, %to_r: i32 {tile.bind = "to_r"}, %to_c: i32 {tile.bind = "to_c"})
    target("CHIP") waves(1) {
  %x = tile.load %s[%r, %c] ALONG : <?x?xSOURCE> -> TYPE
  tile.OP %x, %d[%to_r, %to_c] ALONG : TYPE, <?x?xTARGET>
}
)";

static TileKernel compiled(const Copied &copied, const std::string &chip, const std::string &op) {
  return TileKernel(replaced(kCopy, {{"SOURCE", copied.source},
                                     {"TARGET", copied.target},
                                     {"CHIP", chip},
                                     {"TYPE", copied.type},
                                     {"ALONG", copied.along.empty() ? "" : "along" + copied.along},
                                     {"OP", op}}),
                    chip);
}

static void runCopy(TileKernel &kernel, const Copied &copied, const Matrix &from, const Matrix &to,
                    const Places &at, bool adds) {
  SCOPED_TRACE(copied.type + " from " + copied.source + " " + std::to_string(from.rows) + " x " +
               std::to_string(from.columns) + " stride " + std::to_string(from.stride) + " at " +
               std::to_string(at.fromRow) + ", " + std::to_string(at.fromColumn) + " to " +
               copied.target + " " + std::to_string(to.rows) + " x " + std::to_string(to.columns) +
               " stride " + std::to_string(to.stride) + " at " + std::to_string(at.toRow) + ", " +
               std::to_string(at.toColumn));
  Tensor source = from.tensor("s", copied.source, integers(from.rows * from.columns, 1));
  Tensor target = to.tensor("d", copied.target, integers(to.rows * to.columns, 2, 50));
  std::vector<double> expected = target.values;
  for (int64_t row = 0; row != copied.rows; ++row)
    for (int64_t column = 0; column != copied.columns; ++column) {
      if (!to.has(at.toRow + row, at.toColumn + column) || !to.has(at.toRow, at.toColumn))
        continue;
      int64_t fromRow = at.fromRow + row, fromColumn = at.fromColumn + column;
      bool exists = from.has(fromRow, fromColumn) && from.has(at.fromRow, at.fromColumn);
      double value = exists ? source.values[fromRow * from.columns + fromColumn] : 0;
      double &result = expected[(at.toRow + row) * to.columns + at.toColumn + column];
      result = adds ? result + value : value;
    }
  kernel.run({&source, &target},
             {{"s_rows", number(from.rows)},
              {"s_columns", number(from.columns)},
              {"s_stride", number(from.stride)},
              {"d_rows", number(to.rows)},
              {"d_columns", number(to.columns)},
              {"d_stride", number(to.stride)},
              {"r", number(at.fromRow)},
              {"c", number(at.fromColumn)},
              {"to_r", number(at.toRow)},
              {"to_c", number(at.toColumn)}});
  for (size_t i = 0; i != expected.size(); ++i)
    ASSERT_EQ(target.values[i], expected[i])
        << "row " << i / to.columns << ", column " << i % to.columns;
}

/// Whole and aligned; everything cut; misplaced by one element; odd strides; beyond; negative.
static void runEverywhere(const Copied &copied, const std::string &chip,
                          const std::string &op = "store") {
  TileKernel kernel = compiled(copied, chip, op);
  ASSERT_TRUE(kernel.valid());
  int64_t rows = copied.rows, columns = copied.columns;
  Matrix even{rows + 8, columns + 16, columns + 24}, tight{rows + 1, columns + 3, columns + 3};
  Matrix odd{rows + 4, columns + 5, columns + 7};
  bool adds = op != "store";
  runCopy(kernel, copied, even, even, {0, 0, 0, 0}, adds);
  runCopy(kernel, copied, even, even, {4, 8, 2, 16}, adds);
  runCopy(kernel, copied, even, tight, {9, 17, 2, 4}, adds);
  runCopy(kernel, copied, tight, odd, {1, 1, 3, 5}, adds);
  runCopy(kernel, copied, odd, even, {2, 3, 7, 9}, adds);
  runCopy(kernel, copied, even, odd, {rows + 7, columns + 15, rows + 3, 0}, adds);
  runCopy(kernel, copied, odd, even, {rows + 4, 0, 0, 0}, adds);
  runCopy(kernel, copied, odd, even, {0, 0, 1, columns + 16}, adds);
  runCopy(kernel, copied, odd, odd, {-1, 0, 0, 0}, adds);
  runCopy(kernel, copied, odd, odd, {0, 0, 0, -2}, adds);
}

class Access : public testing::TestWithParam<const char *> {};

TEST_P(Access, FragmentsOfEveryLayout) {
  for (const char *type : {"bf16", "f32"})
    for (auto [shape, layout, rows, columns] :
         {std::tuple("64x32", "lhs", 64, 32), std::tuple("32x64", "rhs", 64, 32),
          std::tuple("64x32", "acc", 32, 64), std::tuple("32x64", "rhs_acc", 64, 32),
          std::tuple("32x48", "lhs_acc", 48, 32), std::tuple("16x64", "lines", 16, 64),
          std::tuple("16x96", "lines(8)", 16, 96)})
      runEverywhere({std::string("!tile.frag<") + shape + "x" + type + ", " + layout + ">", rows,
                     columns, type, type},
                    GetParam());
}

TEST_P(Access, OtherElements) {
  for (auto [type, source, target] :
       {std::tuple("f16", "f16", "f16"), std::tuple("i32", "i32", "i32"),
        std::tuple("i8", "i8", "i8"), std::tuple("f32", "bf16", "f16"),
        std::tuple("f32", "f16", "bf16"), std::tuple("i32", "i8", "i8")}) {
    runEverywhere({std::string("!tile.frag<32x32x") + type + ", acc>", 32, 32, source, target},
                  GetParam());
    runEverywhere({std::string("!tile.frag<8x128x") + type + ", lines>", 8, 128, source, target},
                  GetParam());
  }
}

// A row (column) of memory, and one down the rows, for every way in which fragments hold them.
TEST_P(Access, RowAndColumnValues) {
  for (const char *type : {"f32", "bf16"}) {
    std::string wide = std::string("x") + type;
    for (auto [vector, size] :
         {std::pair("!tile.rows<64" + wide + ">", 64), std::pair("!tile.rows<32" + wide + ", lhs_acc>", 32),
          std::pair("!tile.rows<16" + wide + ", lines(8x8)>", 16),
          std::pair("!tile.columns<96" + wide + ", acc>", 96),
          std::pair("!tile.columns<48" + wide + ", lhs>", 48),
          std::pair("!tile.columns<64" + wide + ", lhs_acc>", 64),
          std::pair("!tile.columns<128" + wide + ", lines(8x8)>", 128)}) {
      runEverywhere({vector, 1, size, type, type}, GetParam());
      runEverywhere({vector, size, 1, type, type, "(0)"}, GetParam());
    }
  }
}

TEST_P(Access, Numbers) {
  for (auto [type, source, target] :
       {std::tuple("f32", "f32", "f32"), std::tuple("i32", "i32", "i32"),
        std::tuple("f32", "bf16", "f16"), std::tuple("i32", "i8", "i8"),
        std::tuple("bf16", "bf16", "bf16"), std::tuple("i8", "i8", "i8")})
    runEverywhere({type, 1, 1, source, target}, GetParam());
}

TEST_P(Access, Additions) {
  for (const char *element : {"f32", "f16", "bf16"}) {
    if (std::string(element) == "bf16" && std::string(GetParam()) == "gfx942")
      continue;
    for (auto [type, rows, columns] :
         {std::tuple("!tile.frag<32x32xf32, acc>", 32, 32),
          std::tuple("!tile.frag<4x128xf32, lines(8x16)>", 4, 128),
          std::tuple("!tile.columns<64xf32, acc>", 1, 64), std::tuple("!tile.rows<32xf32>", 1, 32),
          std::tuple("f32", 1, 1)})
      runEverywhere({type, rows, columns, "f32", element}, GetParam(), "atomic_add");
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, Access, testing::Values("gfx950", "gfx942"),
                         [](const auto &info) { return std::string(info.param); });

// Additions of all workgroups meet: each of 64 adds 1 to the same 32 x 32.
TEST(AccessAcrossWorkgroups, AdditionsMeet) {
  TileKernel kernel(R"(
tile.kernel @count(%d: !tile.view<?x?xf32> {tile.bind = "d", tile.sizes = ["rows", "columns"], tile.strides = ["columns"]})
    target("gfx950") waves(4) {
  %x, %y, %z = tile.workgroup_id ["8", "4", "2"]
  %zero = arith.constant 0 : i32
  %one = tile.fill 1.0 : !tile.frag<32x32xf32, acc>
  tile.atomic_add %one, %d[%zero, %zero] : <32x32xf32, acc>, <?x?xf32>
}
)");
  Tensor d{"d", "f32", std::vector<double>(33 * 33, 5)};
  kernel.run({&d}, {{"rows", number(33)}, {"columns", number(33)}}, 2);
  for (int64_t i = 0; i != 33 * 33; ++i)
    ASSERT_EQ(d.values[i], i / 33 < 32 && i % 33 < 32 ? 5 + 64 * 4 : 5);
}


// Matrices 3 GiB apart: places beyond 4 GiB in views, in elements of views and in slices of them.
TEST(AccessBeyond4GiB, Places) {
  TileKernel kernel(R"(
tile.kernel @far(
    %s: !tile.view<?x?x?xbf16> {tile.bind = "s", tile.sizes = ["3", "2", "32"], tile.strides = ["far", "near"]},
    %d: !tile.view<?x?xf32> {tile.bind = "d", tile.sizes = ["7", "32"], tile.strides = ["32"]}) target("gfx950") waves(1) {
  %0 = arith.constant 0 : i32
  %1 = arith.constant 1 : i32
  %2 = arith.constant 2 : i32
  %3 = arith.constant 3 : i32
  %4 = arith.constant 4 : i32
  %5 = arith.constant 5 : i32
  %6 = arith.constant 6 : i32
  %row = tile.load %s[%2, %1, %0] : <?x?x?xbf16> -> !tile.columns<32xf32, acc>
  tile.store %row, %d[%0, %0] : !tile.columns<32xf32, acc>, <?x?xf32>
  %last = tile.select %s[%2] : <?x?x?xbf16> -> <?x?xbf16>
  %of_last = tile.load %last[%1, %0] : <?x?xbf16> -> !tile.columns<32xf32, acc>
  tile.store %of_last, %d[%1, %0] : !tile.columns<32xf32, acc>, <?x?xf32>
  %rows = tile.slice_rows %last from %1 size %2 : <?x?xbf16>
  %of_rows = tile.load %rows[%0, %0] : <?x?xbf16> -> !tile.columns<32xf32, acc>
  tile.store %of_rows, %d[%2, %0] : !tile.columns<32xf32, acc>, <?x?xf32>
  %beyond = tile.load %rows[%1, %0] : <?x?xbf16> -> !tile.columns<32xf32, acc>
  tile.store %beyond, %d[%3, %0] : !tile.columns<32xf32, acc>, <?x?xf32>
  %none = tile.select %s[%3] : <?x?x?xbf16> -> <?x?xbf16>
  %of_none = tile.load %none[%0, %0] : <?x?xbf16> -> !tile.columns<32xf32, acc>
  tile.store %of_none, %d[%4, %0] : !tile.columns<32xf32, acc>, <?x?xf32>
  %number = tile.load %s[%2, %1, %3] : <?x?x?xbf16> -> f32
  tile.store %number, %d[%5, %0] : f32, <?x?xf32>
  %second = tile.load %s[%1, %0, %0] : <?x?x?xbf16> -> !tile.columns<32xf32, acc>
  tile.store %second, %d[%6, %0] : !tile.columns<32xf32, acc>, <?x?xf32>
}
)");
  ASSERT_TRUE(kernel.valid());
  constexpr int64_t near = 64, far = int64_t(3) << 29; // 3 GiB of bf16
  auto value = [](int64_t matrix, int64_t row, int64_t column) {
    return static_cast<double>(matrix * 64 + row * 32 + column);
  };
  Tensor s{"s", "bf16", {}};
  for (int64_t matrix : {0, 1, 2})
    for (int64_t row : {0, 1})
      for (int64_t column = 0; column != 32; ++column) {
        s.values.push_back(value(matrix, row, column));
        s.places.push_back(matrix * far + row * near + column);
      }
  Tensor d{"d", "f32", std::vector<double>(7 * 32, -1)};
  kernel.run({&s, &d}, {{"near", number(near)}, {"far", number(far)}});
  for (int64_t column = 0; column != 32; ++column) {
    for (int64_t row : {0, 1, 2})
      EXPECT_EQ(d.values[row * 32 + column], value(2, 1, column)) << row << ", " << column;
    EXPECT_EQ(d.values[3 * 32 + column], 0);
    EXPECT_EQ(d.values[4 * 32 + column], 0);
    EXPECT_EQ(d.values[5 * 32 + column], column == 0 ? value(2, 1, 3) : -1);
    EXPECT_EQ(d.values[6 * 32 + column], value(1, 0, column));
  }
}
