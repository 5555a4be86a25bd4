// Layout operations against what they mean, evaluated point by point.
#include "Layout/LinearLayout.h"

#include "Random.h"

using namespace hocket;
using namespace hocket::dims;

class LayoutProperty : public test::RandomTest {
protected:
  const std::vector<LayoutDim> regLane = {{"register", 3}, {"lane", 4}};
  const std::vector<LayoutDim> rowCol = {{"row", 4}, {"col", 3}};

  LinearLayout bijection(const std::vector<LayoutDim> &ins, const std::vector<LayoutDim> &outs) {
    for (;;) {
      LinearLayout candidate = layout(ins, outs);
      if (candidate.isBijective())
        return candidate;
    }
  }
};

/// Calls `check` for every combination of two input values.
template <typename Check> static void forAll(uint64_t sizeA, uint64_t sizeB, Check check) {
  for (uint64_t a = 0; a < sizeA; ++a)
    for (uint64_t b = 0; b < sizeB; ++b)
      check(a, b);
}

// The header's first example.
TEST(LinearLayout, RowMajorOffsetOfTheEssay) {
  Result<LinearLayout> tile = LinearLayout::fromBases(
      {{"offset", {{{"col", 1}}, {{"col", 2}}, {{"col", 4}}, {{"row", 1}}, {{"row", 2}}}}},
      {{"row", 2}, {"col", 3}});
  ASSERT_TRUE(tile.ok());
  EXPECT_EQ(tile->apply({{"offset", 13}}, Row), 1u);
  EXPECT_EQ(tile->apply({{"offset", 13}}, Col), 5u);
  EXPECT_TRUE(tile->isBitPermutation());
  LinearLayout glued =
      LinearLayout::identity(Offset, Col, 3) * LinearLayout::identity(Offset, Row, 2);
  EXPECT_TRUE(glued.equivalent(*tile));
  EXPECT_NE(glued, *tile) << "the outputs are in another order";
}

// The header's third example, on a tile of 16 rows of 16 pieces.
TEST(LinearLayout, SwizzleOfTheEssayIsABijection) {
  std::vector<Coordinates> piece, row;
  for (unsigned i = 0; i < 4; ++i) {
    piece.push_back({{"offset", 1u << i}});
    row.push_back({{"offset", 16u << i ^ 1u << i}});
  }
  Result<LinearLayout> swizzle =
      LinearLayout::fromBases({{"piece", piece}, {"row", row}}, {{"offset", 8}});
  ASSERT_TRUE(swizzle.ok());
  EXPECT_TRUE(swizzle->isBijective());
  EXPECT_FALSE(swizzle->isBitPermutation());
  forAll(16, 16, [&](uint64_t r, uint64_t p) {
    EXPECT_EQ(swizzle->apply({{"row", r}, {"piece", p}}, Offset), r * 16 + (p ^ r));
  });
}

TEST(LinearLayout, BroadcastHasFreeBits) {
  LinearLayout layout = LinearLayout::identity(Lane, Col, 5) * LinearLayout::zeros(Lane, 1, Col);
  EXPECT_EQ(layout.inputBits(Lane), 6u);
  EXPECT_EQ(layout.freeMask(Lane), 32u);
  EXPECT_FALSE(layout.isInjective());
  EXPECT_TRUE(layout.isSurjective());
  EXPECT_EQ(layout.apply({{"lane", 37}}, Col), 5u);
}

TEST(LinearLayout, MissingDimensionsHaveOneIndex) {
  LinearLayout layout = LinearLayout::identity(Lane, Col, 3);
  EXPECT_EQ(layout.inputBits("wave"), 0u);
  EXPECT_EQ(layout.basis("wave", 0, Col), 0u);
  EXPECT_EQ(layout.basis(Lane, 3, Col), 0u);
  EXPECT_EQ(layout.apply({{"lane", 9}, {"wave", 5}}, Col), 1u);
  EXPECT_EQ(layout.freeMask("wave"), 0u);
  EXPECT_EQ(LinearLayout().str(), "to\n");
}

TEST(LinearLayout, PrintsItsBases) {
  LinearLayout layout =
      LinearLayout::identity(Register, Row, 1) * LinearLayout::identity(Lane, Col, 2);
  EXPECT_EQ(layout.str(), "register: 1 -> (row 1, col 0)\n"
                          "lane: 1 -> (row 0, col 1), 2 -> (row 0, col 2)\n"
                          "to row[2] col[4]\n");
}

TEST(LinearLayout, TermsGroupBitsByShift) {
  Result<LinearLayout> layout = LinearLayout::fromBases(
      {{"lane",
        {{{"offset", 256}}, {{"offset", 512}}, {{"offset", 1024 | 16}}, {}, {{"offset", 1}}}}},
      {{"offset", 12}});
  ASSERT_TRUE(layout.ok());
  std::vector<ShiftTerm> terms = layout->terms(Lane, Offset);
  EXPECT_EQ(terms, (std::vector<ShiftTerm>{{16, -4}, {4, 2}, {7, 8}}));
  EXPECT_EQ(layout->reach(Lane, Offset), 1u | 16 | 256 | 512 | 1024);
}

TEST_F(LayoutProperty, TermsComputeTheMap) {
  for (int round = 0; round < 50; ++round) {
    LinearLayout map = layout(regLane, rowCol);
    forAll(8, 16, [&](uint64_t r, uint64_t l) {
      uint64_t row = 0;
      for (ShiftTerm term : map.terms(Register, Row))
        row ^= term.apply(r);
      for (ShiftTerm term : map.terms(Lane, Row))
        row ^= term.apply(l);
      EXPECT_EQ(row, map.apply({{"lane", l}, {"register", r}}, Row));
    });
  }
}

TEST_F(LayoutProperty, ThenComposes) {
  for (int round = 0; round < 50; ++round) {
    LinearLayout first = layout(regLane, rowCol);
    LinearLayout second = layout({{"col", 4}, {"row", 4}}, {{"offset", 9}});
    Result<LinearLayout> both = first.then(second);
    ASSERT_TRUE(both.ok());
    forAll(8, 16, [&](uint64_t r, uint64_t l) {
      Coordinates point = {{"register", r}, {"lane", l}};
      EXPECT_EQ(both->apply(point, Offset), second.apply(first.apply(point), Offset));
    });
  }
}

TEST_F(LayoutProperty, InverseUndoes) {
  for (int round = 0; round < 30; ++round) {
    LinearLayout map = bijection(regLane, rowCol);
    Result<LinearLayout> back = map.inverse();
    ASSERT_TRUE(back.ok());
    forAll(8, 16, [&](uint64_t r, uint64_t l) {
      Coordinates point = {{"register", r}, {"lane", l}};
      EXPECT_EQ(back->apply(map.apply(point)), point);
    });
    EXPECT_TRUE(map.leftInverse()->equivalent(*back));
    EXPECT_TRUE(map.rightInverse()->equivalent(*back));
  }
}

TEST_F(LayoutProperty, OneSidedInverses) {
  for (int round = 0; round < 100; ++round) {
    LinearLayout narrow = layout({{"lane", 3}}, rowCol);
    Result<LinearLayout> left = narrow.leftInverse();
    EXPECT_EQ(left.ok(), narrow.isInjective());
    for (uint64_t l = 0; left.ok() && l < 8; ++l)
      EXPECT_EQ(left->apply(narrow.apply({{"lane", l}}), Lane), l);
    LinearLayout wide = layout(regLane, {{"row", 4}});
    Result<LinearLayout> right = wide.rightInverse();
    EXPECT_EQ(right.ok(), wide.isSurjective());
    for (uint64_t row = 0; right.ok() && row < 16; ++row)
      EXPECT_EQ(wide.apply(right->apply({{"row", row}}), Row), row);
  }
}

TEST_F(LayoutProperty, ThroughInverseFindsWhoHoldsWhatIsWanted) {
  for (int round = 0; round < 50; ++round) {
    LinearLayout wanted = layout(regLane, rowCol);
    LinearLayout stored = bijection({{"wave", 2}, {"offset", 5}}, {{"col", 3}, {"row", 4}});
    Result<LinearLayout> source = wanted.throughInverse(stored);
    ASSERT_TRUE(source.ok());
    EXPECT_TRUE(source->then(stored)->equivalent(wanted));
  }
}

TEST_F(LayoutProperty, ProductGluesBits) {
  for (int round = 0; round < 30; ++round) {
    LinearLayout lower = layout({{"register", 2}, {"lane", 3}}, {{"row", 3}});
    LinearLayout upper = layout({{"lane", 2}, {"wave", 1}}, {{"row", 2}, {"col", 2}});
    LinearLayout both = lower * upper;
    ASSERT_EQ(both.inputBits(Lane), 5u);
    forAll(4, 32, [&](uint64_t r, uint64_t l) {
      Coordinates high = upper.apply({{"lane", l >> 3}, {"wave", r & 1}});
      Coordinates point = {{"register", r}, {"lane", l}, {"wave", r & 1}};
      EXPECT_EQ(both.apply(point, Row), lower.apply(point, Row) | coordinate(high, Row) << 3);
      EXPECT_EQ(both.apply(point, Col), coordinate(high, Col));
    });
  }
}

TEST_F(LayoutProperty, ProductWithTheEmptyLayoutChangesNothing) {
  LinearLayout map = layout(regLane, rowCol);
  EXPECT_EQ(map * LinearLayout(), map);
  EXPECT_EQ(LinearLayout() * map, map);
}

TEST_F(LayoutProperty, ConcatInputsAddsByXor) {
  LinearLayout a = layout(regLane, {{"offset", 7}}),
               b = layout({{"wave", 3}}, {{"offset", 9}, {"col", 2}});
  Result<LinearLayout> both = a.concatInputs(b);
  ASSERT_TRUE(both.ok());
  forAll(16, 8, [&](uint64_t l, uint64_t w) {
    Coordinates point = {{"lane", l}, {"wave", w}};
    EXPECT_EQ(both->apply(point, Offset), a.apply(point, Offset) ^ b.apply(point, Offset));
    EXPECT_EQ(both->apply(point, Col), b.apply(point, Col));
  });
}

TEST_F(LayoutProperty, ConcatOutputsKeepsBoth) {
  LinearLayout a = layout(regLane, {{"row", 3}}),
               b = layout({{"lane", 4}, {"register", 3}}, {{"col", 5}});
  Result<LinearLayout> both = a.concatOutputs(b);
  ASSERT_TRUE(both.ok());
  EXPECT_TRUE(both->sublayout({Register, Lane}, {Row}).equivalent(a));
  EXPECT_TRUE(both->sublayout({Register, Lane}, {Col}).equivalent(b));
}

TEST_F(LayoutProperty, ViewsKeepTheMap) {
  LinearLayout map = layout(regLane, rowCol);
  std::string_view laneFirst[] = {Lane}, colFirst[] = {Col};
  LinearLayout reordered = map.reorderInputs(laneFirst).reorderOutputs(colFirst);
  EXPECT_NE(reordered, map);
  EXPECT_TRUE(reordered.equivalent(map));
  LinearLayout split = map.splitInput(Lane, "low", 1, "high");
  LinearLayout flat = map.flattenInputs("x").flattenOutputs("y");
  LinearLayout bytes = map.scaleOutput(Row, 2).renameOutput(Col, "c").renameInput(Lane, "l");
  forAll(8, 16, [&](uint64_t r, uint64_t l) {
    Coordinates point = {{"register", r}, {"lane", l}};
    EXPECT_EQ(split.apply({{"register", r}, {"low", l & 1}, {"high", l >> 1}}), map.apply(point));
    EXPECT_EQ(flat.apply({{"x", r | l << 3}}, "y"), map.apply(point, Row) | map.apply(point, Col)
                                                                                << 4);
    EXPECT_EQ(bytes.apply({{"register", r}, {"l", l}}, Row), map.apply(point, Row) * 4);
    EXPECT_EQ(bytes.apply({{"register", r}, {"l", l}}, "c"), map.apply(point, Col));
  });
}

TEST_F(LayoutProperty, FreeBitsAreTheKernel) {
  for (int round = 0; round < 100; ++round) {
    LinearLayout map = layout({{"register", 2}, {"lane", 3}}, {{"row", 3}});
    unsigned free =
        __builtin_popcountll(map.freeMask(Register)) + __builtin_popcountll(map.freeMask(Lane));
    EXPECT_EQ(free, map.matrix().columns() - map.matrix().rank());
    EXPECT_EQ(map.isInjective(), free == 0);
  }
}

// Refusals: each names what is wrong.

TEST(LinearLayoutErrors, UnknownOutput) {
  Result<LinearLayout> layout =
      LinearLayout::fromBases({{"lane", {{{"column", 1}}}}}, {{"col", 1}});
  ASSERT_FALSE(layout.ok());
  EXPECT_EQ(layout.error().message,
            "layout maps to dimension 'column', which is not among its outputs");
}

TEST(LinearLayoutErrors, ImageBeyondTheDimension) {
  Result<LinearLayout> layout = LinearLayout::fromBases({{"lane", {{{"col", 4}}}}}, {{"col", 2}});
  ASSERT_FALSE(layout.ok());
  EXPECT_EQ(layout.error().message, "layout maps to 4 in dimension 'col', which has 4 indices");
}

TEST(LinearLayoutErrors, RepeatedDimension) {
  Result<LinearLayout> layout = LinearLayout::fromBases({{"lane", {}}, {"lane", {}}}, {});
  ASSERT_FALSE(layout.ok());
  EXPECT_EQ(layout.error().message, "layout has dimension 'lane' twice");
}

TEST(LinearLayoutErrors, TooManyBits) {
  Result<LinearLayout> layout = LinearLayout::fromBases({}, {{"offset", 65}});
  ASSERT_FALSE(layout.ok());
  EXPECT_EQ(layout.error().message, "layout has 65 bits, at most 64 fit");
}

TEST(LinearLayoutErrors, CompositionThatDoesNotFit) {
  Result<LinearLayout> both =
      LinearLayout::identity(Lane, Row, 3).then(LinearLayout::identity(Row, Offset, 2));
  ASSERT_FALSE(both.ok());
  EXPECT_EQ(both.error().message, "layout gives 8 indices of 'row', the layout after it takes 4");
}

TEST(LinearLayoutErrors, NoInverse) {
  EXPECT_EQ(LinearLayout::zeros(Lane, 1, Row, 1).inverse().error().message,
            "layout has no inverse: rank 0, 1 input bits, 1 output bits");
  EXPECT_FALSE(LinearLayout::zeros(Lane, 1, Row, 1).leftInverse().ok());
  EXPECT_FALSE(LinearLayout::zeros(Lane, 1, Row, 1).rightInverse().ok());
  EXPECT_FALSE(LinearLayout::identity(Lane, Row, 2)
                   .throughInverse(LinearLayout::zeros(Wave, 1, Row, 2))
                   .ok());
  EXPECT_FALSE(LinearLayout::identity(Lane, Row, 2)
                   .throughInverse(LinearLayout::identity(Wave, Col, 2))
                   .ok());
}

TEST(LinearLayoutErrors, ConcatenationOfSharedDimensions) {
  LinearLayout a = LinearLayout::identity(Lane, Row, 2);
  EXPECT_EQ(a.concatInputs(a).error().message, "both layouts have the input 'lane'");
  EXPECT_EQ(a.concatOutputs(a).error().message, "both layouts have the output 'row'");
  EXPECT_FALSE(a.concatOutputs(LinearLayout::identity(Wave, Col, 2)).ok());
}
