// Tiles that waves compute and hand to one another through LDS: every layout that can be put, every
// read, several schedules; and kernels of more than one loop.
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

/// Each wave loads its part of 64 x 64 of A for each tile and puts it; each reads all of it and
/// multiplies with the same 32 rows of B. All waves compute the same, into 32 rows of C each.
static constexpr const char *kExchange = R"(
tile.kernel @exchange(
    %a: !tile.view<?x?xbf16> {tile.bind = "a", tile.sizes = ["64 * tiles", "64"], tile.strides = ["64"]},
    %b: !tile.view<?x?xbf16> {tile.bind = "b", tile.sizes = ["32", "64"], tile.strides = ["64"]},
    %c: !tile.view<?x?xf32> {tile.bind = "c", tile.sizes = ["128", "64"], tile.strides = ["64"]},
    %tiles: i32 {tile.bind = "tiles"}) target("CHIP") waves(4) {
  %zero = arith.constant 0 : i32
  %tile_rows = arith.constant 64 : i32
  %i, %j = tile.wave_grid rows(GRID_ROWS) columns(GRID_COLUMNS)
  %part_row = tile.wave_row %zero rows(PART_ROWS) part(%i)
  %part_column = tile.wave_row %zero rows(PART_COLUMNS) part(%j)
  %ring = tile.ring named("x") : !tile.ring<64x64xbf16>
  %operand = tile.load %b[%zero, %zero] : <?x?xbf16> -> !tile.frag<64x32xbf16, RIGHT>
  %none = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  %sum = tile.for_tiles %t = 0 to %tiles init(%carried = %none : !tile.frag<64x32xf32, acc>) schedule(@s) {
    %made = tile.step @make -> !tile.frag<PART> {
      %first = arith.muli %t, %tile_rows : i32
      %row = arith.addi %first, %part_row : i32
      %x = tile.load %a[%row, %part_column] : <?x?xbf16> -> !tile.frag<PART>
      tile.yield %x : !tile.frag<PART>
    }
    tile.step @put {
      tile.put %made, %ring[%t] PARTS : !tile.frag<PART>, <64x64xbf16>
    }
    %whole = tile.step @read -> !tile.frag<64x64xbf16, LEFT> {
      %x = tile.READ %ring[%t] : <64x64xbf16> -> <64x64xbf16, LEFT>
      tile.yield %x : !tile.frag<64x64xbf16, LEFT>
    }
    %more = tile.step @multiply -> !tile.frag<64x32xf32, acc> {
      %next = tile.mma %whole, %operand, %carried : <64x64xbf16, LEFT>, <64x32xbf16, RIGHT>, <64x32xf32, acc>
      tile.yield %next : !tile.frag<64x32xf32, acc>
    }
    tile.yield %more : !tile.frag<64x32xf32, acc>
  }
  %row = tile.wave_row %zero rows(32)
  tile.store %sum, %c[%row, %zero] : <64x32xf32, acc>, <?x?xf32>
}
tile.schedule @s SCHEDULE
)";

static constexpr const char *kInTurn = R"({
  tile.cluster memory { make(0) put(0) }
  tile.cluster compute { read(0) multiply(0) }
})";
static constexpr const char *kAhead = R"(unroll(2) {
  tile.cluster compute { make(+1) put(+1) read(0) multiply(0) }
})";
static constexpr const char *kTwoGroups = R"(unroll(2) wave_groups(2) {
  tile.cluster memory { make(+2) read(0) }
  tile.cluster compute priority(1) { put(+2) multiply(0) }
})";

namespace {
struct Part {
  const char *type;
  int64_t gridRows, gridColumns;
};
} // namespace

static std::string exchange(const Part &part, bool transposed, const std::string &schedule,
                            const std::string &chip) {
  std::string parts;
  if (part.gridRows > 1)
    parts += "rows_part(%i) ";
  if (part.gridColumns > 1)
    parts += "columns_part(%j)";
  return replaced(kExchange, {{"CHIP", chip},
                              {"GRID_ROWS", std::to_string(part.gridRows)},
                              {"GRID_COLUMNS", std::to_string(part.gridColumns)},
                              {"PART_ROWS", std::to_string(64 / part.gridRows)},
                              {"PART_COLUMNS", std::to_string(64 / part.gridColumns)},
                              {"PARTS", parts},
                              {"PART", part.type},
                              {"RIGHT", transposed ? "rhs_acc" : "rhs"},
                              {"LEFT", transposed ? "lhs_acc" : "lhs"},
                              {"READ", transposed ? "read_transposed" : "read"},
                              {"SCHEDULE", schedule}});
}

static void expectProducts(const std::string &text, const std::string &chip, bool transposed) {
  TileKernel kernel(text, chip);
  ASSERT_TRUE(kernel.valid());
  for (int64_t tiles : {0, 1, 2, 3, 4, 5, 8}) {
    SCOPED_TRACE(std::to_string(tiles) + " tiles");
    Tensor a{"a", "bf16", integers(std::max<int64_t>(tiles, 1) * 64 * 64, tiles)};
    Tensor b{"b", "bf16", integers(32 * 64, 100)};
    Tensor c{"c", "f32", std::vector<double>(128 * 64, -1)};
    kernel.run({&a, &b, &c}, {{"tiles", number(tiles)}}, 2);
    for (int64_t row = 0; row != 128; ++row)
      for (int64_t column = 0; column != 64; ++column) {
        double sum = 0;
        for (int64_t tile = 0; tile != tiles; ++tile)
          for (int64_t k = 0; k != 64; ++k) {
            int64_t x = transposed ? k * 64 + column : column * 64 + k;
            sum += a.values[tile * 64 * 64 + x] * b.values[row % 32 * 64 + k];
          }
        ASSERT_EQ(c.values[row * 64 + column], sum) << "row " << row << ", column " << column;
      }
  }
}

class Exchange : public testing::TestWithParam<const char *> {};

TEST_P(Exchange, PartsOfEveryLayout) {
  for (const Part &part :
       {Part{"32x32xf32, acc", 2, 2}, Part{"32x32xbf16, rhs_acc", 2, 2}, Part{"32x32xbf16, rhs", 2, 2},
        Part{"32x32xbf16, lhs", 2, 2}, Part{"16x64xbf16, lines", 4, 1}, Part{"16x64xf32, lines(8)", 4, 1}}) {
    for (bool transposed : {false, true}) {
      SCOPED_TRACE(std::string(part.type) + (transposed ? " read transposed" : ""));
      expectProducts(exchange(part, transposed, kInTurn, GetParam()), GetParam(), transposed);
    }
  }
}

TEST_P(Exchange, Schedules) {
  Part part{"32x32xf32, acc", 2, 2};
  for (const char *schedule : {kAhead, kTwoGroups})
    for (bool transposed : {false, true}) {
      SCOPED_TRACE(schedule);
      expectProducts(exchange(part, transposed, schedule, GetParam()), GetParam(), transposed);
    }
}

INSTANTIATE_TEST_SUITE_P(Chips, Exchange, testing::Values("gfx950", "gfx942"),
                         [](const auto &info) { return std::string(info.param); });

// A ring that is filled once, in front of the loop, and read in all of its turns, transposed and by parts of its columns;
// the other operand, what waves exchange, is read so, too. What waves make is added to memory as it lies, and read again.
TEST(ExchangeBeside, StandingRing) {
  TileKernel kernel(R"(
tile.kernel @standing(
    %x: !tile.view<?x?x?x64xbf16> {tile.bind = "x", tile.sizes = ["1", "64", "1"], tile.strides = ["4096", "64", "64"]},
    %b: !tile.view<?x?xbf16> {tile.bind = "b", tile.sizes = ["64 * tiles", "64"], tile.strides = ["64"]},
    %image: !tile.view<?x1024xf32> {tile.bind = "image", tile.sizes = ["4"], tile.strides = ["1024"]},
    %tiles: i32 {tile.bind = "tiles"}) target("gfx950") waves(4) {
  %zero = arith.constant 0 : i32
  %tile_rows = arith.constant 64 : i32
  %wave, %none_of_it = tile.wave_grid rows(4) columns(1)
  %i, %j = tile.wave_grid rows(2) columns(2)
  %x_ring = tile.ring %x[%zero, %zero] : <?x?x?x64xbf16> -> <64x64xbf16>
  %b_ring = tile.ring named("b") : !tile.ring<64x64xbf16>
  tile.fetch %x_ring[%zero] slot(%zero) : !tile.ring<64x64xbf16>
  tile.await fetches
  tile.barrier
  %row_of_part = tile.wave_row %zero rows(16) part(%wave)
  %no_sum = tile.fill 0.0 : !tile.frag<32x32xf32, acc>
  %sum = tile.for_tiles %t = 0 to %tiles init(%carried = %no_sum : !tile.frag<32x32xf32, acc>) schedule(@s) {
    %made = tile.step @make -> !tile.frag<16x64xbf16, lines> {
      %first = arith.muli %t, %tile_rows : i32
      %row = arith.addi %first, %row_of_part : i32
      %y = tile.load %b[%row, %zero] : <?x?xbf16> -> !tile.frag<16x64xbf16, lines>
      tile.yield %y : !tile.frag<16x64xbf16, lines>
    }
    tile.step @put {
      tile.put %made, %b_ring[%t] rows_part(%wave) : !tile.frag<16x64xbf16, lines>, <64x64xbf16>
    }
    %left, %right = tile.step @read -> !tile.frag<32x64xbf16, lhs_acc>, !tile.frag<64x32xbf16, rhs_acc> {
      %l = tile.read_transposed %x_ring[%zero] part(%i) : <64x64xbf16> -> <32x64xbf16, lhs_acc>
      %r = tile.read_transposed %b_ring[%t] part(%j) : <64x64xbf16> -> <64x32xbf16, rhs_acc>
      tile.yield %l, %r : !tile.frag<32x64xbf16, lhs_acc>, !tile.frag<64x32xbf16, rhs_acc>
    }
    %more = tile.step @multiply -> !tile.frag<32x32xf32, acc> {
      %next = tile.mma %left, %right, %carried : <32x64xbf16, lhs_acc>, <64x32xbf16, rhs_acc>, <32x32xf32, acc>
      tile.yield %next : !tile.frag<32x32xf32, acc>
    }
    tile.yield %more : !tile.frag<32x32xf32, acc>
  }
  %lines = tile.relabel %sum : !tile.frag<32x32xf32, acc> -> !tile.frag<1x1024xf32, lines(1x64)>
  %two = arith.constant 2 : i32
  %of_rows = arith.muli %i, %two : i32
  %block = arith.addi %of_rows, %j : i32
  tile.atomic_add %lines, %image[%block] : !tile.frag<1x1024xf32, lines(1x64)>, <?x1024xf32>
}
tile.schedule @s unroll(2) {
  tile.cluster compute { make(+1) put(+1) read(0) multiply(0) }
}
)");
  ASSERT_TRUE(kernel.valid());
  for (int64_t tiles : {0, 1, 2, 3, 5}) {
    SCOPED_TRACE(std::to_string(tiles) + " tiles");
    Tensor x{"x", "bf16", integers(64 * 64, 1)};
    Tensor b{"b", "bf16", integers(std::max<int64_t>(tiles, 1) * 64 * 64, 2)};
    Tensor image{"image", "f32", std::vector<double>(4 * 1024, 3)};
    kernel.run({&x, &b, &image}, {{"tiles", number(tiles)}}, 1);
    for (int64_t row = 0; row != 64; ++row)
      for (int64_t column = 0; column != 64; ++column) {
        double sum = 3;
        for (int64_t tile = 0; tile != tiles; ++tile)
          for (int64_t k = 0; k != 64; ++k)
            sum += x.values[k * 64 + row] * b.values[(tile * 64 + k) * 64 + column];
        // Accumulators: lane = column and 32 times bit 2 of the row, register = the row's other bits.
        int64_t r = row % 32, lane = column % 32 + (r / 4 % 2) * 32, place = r / 8 * 4 + r % 4;
        int64_t at = (row / 32 * 2 + column / 32) * 1024 + place * 64 + lane;
        ASSERT_EQ(image.values[at], sum) << "row " << row << ", column " << column;
      }
  }
}

// A put must be complete for all waves when the tile is read, and must not hit a slot still read.
TEST(ExchangeHazards, AreRefused) {
  Part part{"32x32xf32, acc", 2, 2};
  auto error = [&](const char *schedule, bool one = false) {
    std::string text = exchange(part, false, schedule, "gfx950");
    if (one)
      text = replaced(text, {{"named(\"x\")", "named(\"x\") depth(1)"}});
    return errorOf(text);
  };
  EXPECT_NE(error("{ tile.cluster compute { make(0) put(0) read(0) multiply(0) } }")
                .find("reads ring 'x' in step 'read' (cluster 0, tile offset 0) before the tile that "
                      "step 'put' (cluster 0, tile offset 0) puts is complete for all waves: a wait "
                      "and a barrier must lie between them"),
            std::string::npos);
  EXPECT_NE(error("wave_groups(2) { tile.cluster memory { make(0) put(0) } "
                  "tile.cluster compute { read(0) multiply(0) } }")
                .find("two barriers, one for each wave group, must lie between them"),
            std::string::npos);
  EXPECT_NE(error("{ tile.cluster compute { read(0) multiply(0) make(+1) put(+1) } }", true)
                .find("may already overwrite its slot: the ring has depth 1, this schedule needs 2"),
            std::string::npos);
  EXPECT_NE(error("{ tile.cluster compute { put(0) } "
                  "tile.cluster compute { make(0) read(0) multiply(0) } }")
                .find("runs step 'put' (cluster 0, tile offset 0) before step 'make' (cluster 1, tile "
                      "offset 0) has produced what it uses"),
            std::string::npos);
}

// Two loops with schedules of their own, one after the other: the sum of what either computes. The
// second has no ring: each wave loads what it multiplies.
TEST(Loops, SeveralAndWithoutRings) {
  TileKernel kernel(R"(
tile.kernel @loops(
    %a: !tile.view<?x?xbf16> {tile.bind = "a", tile.sizes = ["32", "k"], tile.strides = ["stride"]},
    %b: !tile.view<?x?xbf16> {tile.bind = "b", tile.sizes = ["32", "k"], tile.strides = ["stride"]},
    %c: !tile.view<?x?xf32> {tile.bind = "c", tile.sizes = ["32 * 4", "32"], tile.strides = ["32"]},
    %first: i32 {tile.bind = "first"}, %second: i32 {tile.bind = "second"}) target("gfx950") waves(4) {
  %zero = arith.constant 0 : i32
  %ring = tile.ring %a[%zero] by_columns : <?x?xbf16> -> <32x64xbf16>
  %none = tile.fill 0.0 : !tile.frag<32x32xf32, acc>
  %depth = arith.constant 64 : i32
  %half = tile.for_tiles %t = 0 to %first init(%sum = %none : !tile.frag<32x32xf32, acc>) schedule(@through_lds) {
    tile.step @fetch { tile.fetch %ring[%t] : <32x64xbf16> }
    %left = tile.step @read -> !tile.frag<32x64xbf16, lhs> {
      %x = tile.read %ring[%t] : <32x64xbf16> -> <32x64xbf16, lhs>
      tile.yield %x : !tile.frag<32x64xbf16, lhs>
    }
    %more = tile.step @multiply -> !tile.frag<32x32xf32, acc> {
      %column = arith.muli %t, %depth : i32
      %right = tile.load %b[%zero, %column] : <?x?xbf16> -> <64x32xbf16, rhs>
      %next = tile.mma %left, %right, %sum : <32x64xbf16, lhs>, <64x32xbf16, rhs>, <32x32xf32, acc>
      tile.yield %next : !tile.frag<32x32xf32, acc>
    }
    tile.yield %more : !tile.frag<32x32xf32, acc>
  }
  %whole = tile.for_tiles %t = 0 to %second init(%sum = %half : !tile.frag<32x32xf32, acc>) schedule(@direct) {
    %left, %right = tile.step @load -> !tile.frag<32x64xbf16, lhs>, !tile.frag<64x32xbf16, rhs> {
      %column = arith.muli %t, %depth : i32
      %l = tile.load %a[%zero, %column] : <?x?xbf16> -> <32x64xbf16, lhs>
      %r = tile.load %b[%zero, %column] : <?x?xbf16> -> <64x32xbf16, rhs>
      tile.yield %l, %r : !tile.frag<32x64xbf16, lhs>, !tile.frag<64x32xbf16, rhs>
    }
    %more = tile.step @multiply -> !tile.frag<32x32xf32, acc> {
      %next = tile.mma %left, %right, %sum : <32x64xbf16, lhs>, <64x32xbf16, rhs>, <32x32xf32, acc>
      tile.yield %next : !tile.frag<32x32xf32, acc>
    }
    tile.yield %more : !tile.frag<32x32xf32, acc>
  }
  %row = tile.wave_row %zero rows(32)
  tile.store %whole, %c[%row, %zero] : <32x32xf32, acc>, <?x?xf32>
}
tile.schedule @through_lds unroll(2) { tile.cluster compute { fetch(+1) read(0) multiply(0) } }
tile.schedule @direct unroll(3) { tile.cluster compute { load(+1) multiply(0) } }
)");
  ASSERT_TRUE(kernel.valid());
  for (auto [first, second] : {std::pair(0, 0), std::pair(3, 0), std::pair(0, 5), std::pair(1, 1),
                               std::pair(4, 3), std::pair(2, 7)}) {
    SCOPED_TRACE(std::to_string(first) + " and " + std::to_string(second) + " tiles");
    int64_t k = 64 * 7, stride = k + 8;
    Tensor a{"a", "bf16", integers(32 * stride, 1)}, b{"b", "bf16", integers(32 * stride, 2)};
    Tensor c{"c", "f32", std::vector<double>(128 * 32, -1)};
    kernel.run({&a, &b, &c},
               {{"k", number(k)}, {"stride", number(stride)}, {"first", number(first)}, {"second", number(second)}},
               2);
    for (int64_t row = 0; row != 128; ++row)
      for (int64_t column = 0; column != 32; ++column) {
        double sum = 0;
        for (int64_t tiles : {first, second})
          for (int64_t i = 0; i != tiles * 64; ++i)
            sum += a.values[column * stride + i] * b.values[row % 32 * stride + i];
        ASSERT_EQ(c.values[row * 32 + column], sum) << "row " << row << ", column " << column;
      }
  }
}

// A ring that is fetched and one that waves fill from it, as the backward pass has: what is in flight of one must not
// hide what is waited for of the other. S = B A_t^T is computed in 2 x 2 parts, exchanged, and multiplied by W.
static constexpr const char *kMixed = R"(
tile.kernel @mixed(
    %a: !tile.view<?x?xbf16> {tile.bind = "a", tile.sizes = ["64", "64 * tiles"], tile.strides = ["stride"]},
    %b: !tile.view<?x?xbf16> {tile.bind = "b", tile.sizes = ["64", "64"], tile.strides = ["64"]},
    %w: !tile.view<?x?xbf16> {tile.bind = "w", tile.sizes = ["32", "64"], tile.strides = ["64"]},
    %c: !tile.view<?x?xf32> {tile.bind = "c", tile.sizes = ["128", "64"], tile.strides = ["64"]},
    %tiles: i32 {tile.bind = "tiles"}) target("gfx950") waves(4) {
  %zero = arith.constant 0 : i32
  %i, %j = tile.wave_grid rows(2) columns(2)
  %b_row = tile.wave_row %zero rows(32) part(%j)
  %a_ring = tile.ring %a[%zero] by_columns : <?x?xbf16> -> <64x64xbf16>
  %s_ring = tile.ring named("s") : !tile.ring<64x64xbf16>
  %right = tile.load %b[%b_row, %zero] : <?x?xbf16> -> <64x32xbf16, rhs>
  %weights = tile.load %w[%zero, %zero] : <?x?xbf16> -> <64x32xbf16, rhs>
  %no_scores = tile.fill 0.0 : !tile.frag<32x32xf32, acc>
  %none = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  %sum = tile.for_tiles %t = 0 to %tiles init(%carried = %none : !tile.frag<64x32xf32, acc>) schedule(@s) {
    tile.step @fetch { tile.fetch %a_ring[%t] : <64x64xbf16> }
    %left = tile.step @read_a -> !tile.frag<32x64xbf16, lhs> {
      %x = tile.read %a_ring[%t] part(%i) : <64x64xbf16> -> <32x64xbf16, lhs>
      tile.yield %x : !tile.frag<32x64xbf16, lhs>
    }
    %scores = tile.step @score -> !tile.frag<32x32xf32, acc> {
      %x = tile.mma %left, %right, %no_scores : <32x64xbf16, lhs>, <64x32xbf16, rhs>, <32x32xf32, acc>
      tile.yield %x : !tile.frag<32x32xf32, acc>
    }
    tile.step @put {
      tile.put %scores, %s_ring[%t] rows_part(%j) columns_part(%i) : !tile.frag<32x32xf32, acc>, <64x64xbf16>
    }
    %whole = tile.step @read_s -> !tile.frag<64x64xbf16, lhs> {
      %x = tile.read %s_ring[%t] : <64x64xbf16> -> <64x64xbf16, lhs>
      tile.yield %x : !tile.frag<64x64xbf16, lhs>
    }
    %more = tile.step @multiply -> !tile.frag<64x32xf32, acc> {
      %x = tile.mma %whole, %weights, %carried : <64x64xbf16, lhs>, <64x32xbf16, rhs>, <64x32xf32, acc>
      tile.yield %x : !tile.frag<64x32xf32, acc>
    }
    tile.yield %more : !tile.frag<64x32xf32, acc>
  }
  %row = tile.wave_row %zero rows(32)
  tile.store %sum, %c[%row, %zero] : <64x32xf32, acc>, <?x?xf32>
}
tile.schedule @s SCHEDULE
)";

TEST(ExchangeBeside, Fetches) {
  for (const char *schedule :
       {"{ tile.cluster memory { fetch(0) } tile.cluster compute { read_a(0) score(0) put(0) } "
        "tile.cluster compute { read_s(0) multiply(0) } }",
        "unroll(2) { tile.cluster compute { fetch(+2) read_a(0) score(0) put(0) } "
        "tile.cluster compute { read_s(0) multiply(0) } }",
        "unroll(2) wave_groups(2) { tile.cluster memory { read_a(0) read_s(-1) fetch(+1) } "
        "tile.cluster compute priority(1) { score(0) multiply(-1) } tile.cluster memory { put(0) } "
        "tile.cluster compute { } }"}) {
    SCOPED_TRACE(schedule);
    TileKernel kernel(replaced(kMixed, {{"SCHEDULE", schedule}}));
    ASSERT_TRUE(kernel.valid());
    for (int64_t tiles : {0, 1, 2, 3, 4, 6}) {
      SCOPED_TRACE(std::to_string(tiles) + " tiles");
      int64_t stride = 64 * 6;
      Tensor a{"a", "bf16", integers(64 * stride, 1, 1)}, b{"b", "bf16", integers(64 * 64, 2, 1)};
      Tensor w{"w", "bf16", integers(32 * 64, 3, 2)};
      Tensor c{"c", "f32", std::vector<double>(128 * 64, -1)};
      kernel.run({&a, &b, &w, &c}, {{"tiles", number(tiles)}, {"stride", number(stride)}}, 2);
      std::vector<double> expected(32 * 64);
      for (int64_t tile = 0; tile != tiles; ++tile)
        for (int64_t row = 0; row != 64; ++row)
          for (int64_t k = 0; k != 64; ++k) {
            double score = 0;
            for (int64_t e = 0; e != 64; ++e)
              score += b.values[row * 64 + e] * a.values[k * stride + tile * 64 + e];
            for (int64_t column = 0; column != 32; ++column)
              expected[column * 64 + row] += score * w.values[column * 64 + k];
          }
      for (int64_t i = 0; i != 128 * 64; ++i)
        ASSERT_EQ(c.values[i], expected[i % (32 * 64)]) << "row " << i / 64 << ", column " << i % 64;
    }
  }
}
