// What a problem is and what is refused: every message names the field.
#include "hocket/Attention/ForwardProblem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::attention;

static ForwardProblem makeProblem() {
  ForwardProblem problem;
  problem.batch = 2;
  problem.heads = 8;
  problem.kvHeads = 2;
  problem.seqQ = 100;
  problem.seqKv = 300;
  return problem;
}

static std::string errorOf(const ForwardProblem &problem) {
  Status status = validate(problem);
  return status.ok() ? "valid" : status.error().message;
}

template <typename Change> static std::string errorWith(Change change) {
  ForwardProblem problem = makeProblem();
  change(problem);
  return errorOf(problem);
}

TEST(ForwardProblem, HasDenseStrides) {
  ForwardProblem problem = makeProblem();
  EXPECT_EQ(stridesOf(problem.tensor("k")), (TensorStrides{300 * 2 * 128, 2 * 128, 128}));
  problem.layout = Layout::BHSD;
  EXPECT_EQ(stridesOf(problem.tensor("q")), (TensorStrides{8 * 100 * 128, 128, 100 * 128}));
  EXPECT_EQ(problem.tensor("q").spanBytes(), 2u * 2 * 8 * 100 * 128);
}

TEST(ForwardProblem, AlignsTheCausalMaskToTheBottomRight) {
  ForwardProblem problem = makeProblem();
  EXPECT_EQ(problem.visibleKeys(0), (KeyRange{0, 300}));
  problem.visibility = Visibility::causal();
  EXPECT_EQ(problem.visibleKeys(0), (KeyRange{0, 201}));
  EXPECT_EQ(problem.visibleKeys(99), (KeyRange{0, 300}));
  problem.seqKv = 40;
  EXPECT_EQ(problem.visibleKeys(59), (KeyRange{0, 0}));
  EXPECT_EQ(problem.visibleKeys(60), (KeyRange{0, 1}));
  EXPECT_EQ(problem.visibleKeys(99), (KeyRange{0, 40}));
}

TEST(ForwardProblem, DescribesItself) {
  ForwardProblem problem = makeProblem();
  problem.visibility = Visibility::causal();
  EXPECT_EQ(problem.describe(), "bf16 B2 H8/2 Sq100 Skv300 D128 causal bshd");
  EXPECT_DOUBLE_EQ(problem.effectiveScale(), 1 / std::sqrt(128.0));
}

TEST(ForwardProblem, HeadsOfVAreAsWideAsThoseOfQUnlessSaid) {
  ForwardProblem problem;
  problem.headDim = 64;
  EXPECT_EQ(problem.valueHeadDim(), 64);
  EXPECT_EQ(problem.describe(), "bf16 B1 H1 Sq1 Skv1 D64 bshd");
  EXPECT_EQ(problem.tensor("v").spanBytes(), 64 * 2u);
  ForwardProblem said = problem;
  said.headDimV = 64;
  EXPECT_EQ(problem.semantics(), said.semantics());
  problem.headDimV = 32;
  EXPECT_EQ(problem.describe(), "bf16 B1 H1 Sq1 Skv1 D64/32 bshd");
}

TEST(ForwardProblem, CountsWhatScoresNeedOfTheTranscendentalUnit) {
  auto powersOf = [](const ForwardProblem &problem) { return problemVariables(problem).at("score_powers").asInteger(); };
  ForwardProblem problem = makeProblem();
  EXPECT_EQ(powersOf(problem), 0);
  Modification capped;
  capped.text = "attn.score_mod @capped(...) {\n  %1 = arith.divf %0, %cap : f32\n  %2 = math.tanh %1 : f32\n"
                "  %3 = arith.mulf %2, %cap : f32\n}";
  problem.modifications = {capped, capped};
  EXPECT_EQ(powersOf(problem), 4);
  problem.modifications.back().isMask = true;
  EXPECT_EQ(powersOf(problem), 2);
  problem.dropout = true;
  EXPECT_EQ(powersOf(problem), 0);
}

TEST(ForwardProblem, RefusesExtentsByName) {
  EXPECT_EQ(errorOf(makeProblem()), "valid");
  EXPECT_EQ(errorWith([](auto &p) { p.batch = 0; }), "batch is 0, it must be at least 1");
  EXPECT_EQ(errorWith([](auto &p) { p.heads = -8; }), "heads is -8, it must be at least 1");
  EXPECT_EQ(errorWith([](auto &p) { p.kvHeads = 0; }), "kv-heads is 0, it must be at least 1");
  EXPECT_EQ(errorWith([](auto &p) { p.seqQ = 0; }), "seq-q is 0, it must be at least 1");
  EXPECT_EQ(errorWith([](auto &p) { p.seqKv = 0; }), "seq-kv is 0, it must be at least 1");
  EXPECT_EQ(errorWith([](auto &p) { p.headDim = 0; }), "head-dim is 0, it must be at least 1");
  EXPECT_EQ(errorWith([](auto &p) { p.headDimV = -8; }), "head-dim-v is -8, it must be at least 1");
  EXPECT_THAT(errorWith([](auto &p) { p.seqKv = int64_t(1) << 40; }),
              testing::HasSubstr("seq-kv is 1099511627776, at most"));
  EXPECT_THAT(errorWith([](auto &p) { p.kvHeads = 3; }),
              testing::HasSubstr("heads (8) is not a multiple of kv-heads (3)"));
  EXPECT_THAT(errorWith([](auto &p) { p.scale = INFINITY; }),
              testing::HasSubstr("scale is not a finite number"));
  // The range of scores (docs/Accuracy.md), of either sign; its end is in it.
  for (double scale : {1e8, -4.66e7, 1e300})
    EXPECT_THAT(errorWith([&](auto &p) { p.scale = scale; }),
                testing::ContainsRegex("^scale is .*, at most 46500000 in size is possible: scaled "
                                       "scores beyond 2.26 in log2 units"));
  ForwardProblem large;
  for (double scale : {4.65e7, -4.65e7, 0.0})
    EXPECT_TRUE((large.scale = scale, validate(large)));
  EXPECT_THAT(errorWith([](auto &p) { p.batch = p.seqQ = p.seqKv = int64_t(1) << 31; }),
              testing::HasSubstr("tensor 'q' has more than"));
}

TEST(ForwardProblem, RefusesStridesByName) {
  auto strided = [](const char *tensor, TensorStrides strides) {
    return errorWith([&](auto &p) { p.strides[tensor] = strides; });
  };
  EXPECT_EQ(strided("k", {0, 128, -1}),
            "the head stride of 'k' is -1, negative strides are not supported");
  EXPECT_EQ(strided("q", {-5, 128, 1}),
            "the batch stride of 'q' is -5, negative strides are not supported");
  EXPECT_THAT(
      strided("v", {0, int64_t(1) << 25, 0}),
      testing::HasSubstr("the sequence stride of 'v' is 33554432 elements, a tile of 256 rows"));
  EXPECT_THAT(strided("q", {0, 0, INT64_MAX}),
              testing::HasSubstr("tensor 'q' spans more than"));
  EXPECT_THAT(
      strided("o", {0, 128, 128 * 100}),
      testing::HasSubstr("the strides of 'o' make its rows overlap: a stride of 0 elements"));
  EXPECT_EQ(strided("lse", {100, 1, 100}),
            "strides are given for 'lse'; tensors with strides are q, k, v, o");
  EXPECT_EQ(strided("k", {0, 128, 0}), "valid") << "inputs may be broadcast";
  EXPECT_EQ(strided("o", {int64_t(1) << 33, 1024, 128}), "valid") << "offsets pass 4 GiB";
}

TEST(ForwardProblem, ParsesItsWords) {
  EXPECT_EQ(*parseOperandType("fp16"), ElementType::F16);
  EXPECT_EQ(parseOperandType("f32").error().message,
            "dtype is f32, which no kernel takes; use bf16, the nearest that one takes");
  EXPECT_EQ(*parseLayout("bhsd"), Layout::BHSD);
  EXPECT_EQ(parseLayout("sbhd").error().message, "layout 'sbhd' is not known; use bshd or bhsd");
}

TEST(ForwardProblem, GivesVariablesToManifests) {
  ForwardProblem problem = makeProblem();
  manifest::Variables without = problemVariables(problem);
  EXPECT_FALSE(without.contains("q"));
  EXPECT_EQ(without.at("k_stride_s").asInteger(), 256);
  EXPECT_EQ(without.at("kv_heads").asInteger(), 2);
  EXPECT_EQ(without.at("q_type").asInteger(), static_cast<int64_t>(ElementType::BF16));
  EXPECT_EQ(without.at("v_bytes").asInteger(), 2 * 2 * 2 * 300 * 128);
  EXPECT_EQ(without.at("causal").asInteger(), 0);
  EXPECT_EQ(without.at("mask_left").asInteger(), -1);
  EXPECT_EQ(without.at("mask_right").asInteger(), -1);
  EXPECT_EQ(without.at("want_lse").asInteger(), 0);
  EXPECT_EQ(without.at("lse_stride_b").asInteger(), 8 * 100);
  manifest::Addresses addresses = {{"lse", 77}};
  manifest::Variables with = problemVariables(problem, &addresses);
  EXPECT_EQ(with.at("lse").asInteger(), 77);
  EXPECT_EQ(with.at("q").asInteger(), 0);
  EXPECT_EQ(with.at("workspace").asInteger(), 0);
}

TEST(ForwardProblem, RefusesListsByName) {
  auto withQ = [](std::vector<int32_t> starts) {
    return errorWith([&](ForwardProblem &p) {
      p.lists.packedQ = true;
      p.totalQ = 150;
      p.known.lists["cu_seqlens_q"] = starts;
    });
  };
  EXPECT_EQ(withQ({0, 50, 150}), "valid");
  EXPECT_EQ(withQ({0, 50}), "'cu_seqlens_q' has 2 numbers, expected 3: the batch and one more");
  EXPECT_EQ(withQ({0, 90, 50}),
            "'cu_seqlens_q' has 50 at 2, behind 90: the first rows of sequences cannot descend");
  EXPECT_EQ(withQ({0, 50, 151}), "'cu_seqlens_q' has 151 at 2, the tensor has 150 rows (total-q)");
  EXPECT_EQ(withQ({-1, 50, 150}), "'cu_seqlens_q' has -1 at 0, a number from 0 on is needed");
  EXPECT_EQ(withQ({0, 120, 150}),
            "'cu_seqlens_q' gives sequence 0 120 rows, sequences have at most 100 (seq-q)");
  auto withLengths = [](std::vector<int32_t> used) {
    return errorWith([&](ForwardProblem &p) {
      p.lists.usedKv = true;
      p.known.lists["seqused_k"] = used;
    });
  };
  EXPECT_EQ(withLengths({300, 0}), "valid");
  EXPECT_EQ(withLengths({300}), "'seqused_k' has 1 numbers, expected 2: the batch");
  EXPECT_EQ(withLengths({0, 301}), "'seqused_k' has 301 at 1, sequences have at most 300 rows (seq-kv)");
  EXPECT_EQ(errorWith([](auto &p) { p.known.lists["seqused_q"] = {1, 1}; }),
            "'seqused_q' is known, but the problem has no such list; set it in 'lists'");
  EXPECT_EQ(errorWith([](auto &p) { p.known.lists["lengths"] = {1}; }),
            "there is no list 'lengths'; known are cu_seqlens_q, cu_seqlens_k, seqused_q and seqused_k");
  EXPECT_EQ(errorWith([](auto &p) { p.totalKv = 0; }), "total-kv is 0, it must be at least 1");
}

TEST(ForwardProblem, RefusesPagesByName) {
  auto withTable = [](std::vector<int32_t> table, std::vector<int32_t> used) {
    return errorWith([&](ForwardProblem &p) {
      p.lists = {.usedKv = true, .pageSize = 100};
      p.numPages = 5, p.tablePages = 3;
      p.known.lists = {{"block_table", table}, {"seqused_k", used}};
    });
  };
  EXPECT_EQ(withTable({4, 0, 4, 1, -1, 9}, {300, 77}), "valid");
  EXPECT_EQ(withTable({4, 0, 5, 1, -1, 9}, {300, 77}),
            "'block_table' has page 5 for sequence 0 at 2, there are 5 (num-pages)");
  EXPECT_EQ(withTable({4, 0, 4, 1, -1, 9}, {300, 101}),
            "'block_table' has page -1 for sequence 1 at 1, there are 5 (num-pages)");
  EXPECT_EQ(withTable({4, 0, 4}, {300, 77}), "'block_table' has 3 numbers, expected 6");
  auto withLists = [](std::vector<int32_t> starts, std::vector<int32_t> last) {
    return errorWith([&](ForwardProblem &p) {
      p.lists = {.pageSize = 100, .pageLists = true};
      p.numPages = 5, p.tablePages = 4;
      p.known.lists = {{"kv_indptr", starts}, {"kv_page_indices", {0, 1, 2, 3}}, {"kv_last_page_len", last}};
    });
  };
  EXPECT_EQ(withLists({0, 3, 3}, {100, 0}), "valid");
  EXPECT_EQ(withLists({0, 3, 2}, {100, 1}),
            "'kv_indptr' gives sequence 1 the pages from 3 to behind 2, of 4 there are; numbers must not descend");
  EXPECT_EQ(withLists({0, 3, 5}, {100, 1}),
            "'kv_indptr' gives sequence 1 the pages from 3 to behind 5, of 4 there are; numbers must not descend");
  EXPECT_EQ(withLists({0, 2, 4}, {100, 101}),
            "'kv_last_page_len' gives sequence 1 101 rows of its last page, expected 1 to 100");
  EXPECT_EQ(withLists({0, 4, 4}, {1, 0}), "sequence 0 has 301 keys, sequences have at most 300 (seq-kv)");
  EXPECT_EQ(errorWith([](auto &p) { p.lists.pageLists = true; }),
            "page-lists need pages; say how many rows one has (page-size)");
  EXPECT_EQ(errorWith([](auto &p) { p.lists = {.pageSize = -1}; }), "page-size is -1, it must be 1 to 65536");
  EXPECT_EQ(errorWith([](auto &p) { p.lists = {.packedKv = true, .pageSize = 16}; }),
            "keys are packed and in pages; leave one of them out");
  EXPECT_EQ(errorWith([](auto &p) { p.lists = {.pageSize = 16}; }),
            "a table of pages does not say how many keys a sequence has; give lengths (used-kv), or lists of pages, "
            "which do");
}

TEST(ForwardProblem, HasTensorsOfPages) {
  ForwardProblem problem = makeProblem();
  problem.lists = {.usedKv = true, .pageSize = 16};
  problem.numPages = 7, problem.tablePages = 19;
  EXPECT_TRUE(validate(problem).ok());
  EXPECT_EQ(stridesOf(problem.tensor("k")), (TensorStrides{16 * 2 * 128, 2 * 128, 128}));
  problem.pageLayout = PageLayout::HND;
  EXPECT_EQ(stridesOf(problem.tensor("k")), (TensorStrides{16 * 2 * 128, 128, 16 * 128}));
  EXPECT_EQ(problem.tensor("v").spanBytes(), 2u * 7 * 16 * 2 * 128);
  EXPECT_EQ(problem.tensor("block_table").spanBytes(), 4u * 2 * 19);
  EXPECT_EQ(problem.kernelSuffix(), "d128_bf16_none_key_lengths_pages16");
  EXPECT_EQ(problem.describe(), "bf16 B2 H8/2 Sq100 Skv300 D128 bshd used-kv pages16x7 hnd table19");
  EXPECT_FALSE(problem.semantics().lists.vectorPages);
  problem.pageLayout = PageLayout::Vectorised;
  EXPECT_TRUE(validate(problem).ok());
  EXPECT_EQ(stridesOf(problem.tensor("k")), (TensorStrides{16 * 2 * 128, 128, 16 * 128}));
  EXPECT_EQ(problem.semantics().kernelSuffix(), "d128_bf16_none_key_lengths_pages16_vectors");
  problem.strides["v"] = {16 * 2 * 128 + 4, 128, 16 * 128};
  EXPECT_EQ(validate(problem).error().message,
            "the strides of 'v' are 4100,128,2048, pages in the vectorised layout have a head's part in one piece, a "
            "sequence stride of 128, and the others multiples of 8");
  problem.lists.pageSize = 20;
  EXPECT_EQ(validate(problem).error().message,
            "page-size is 20, pages in the vectorised layout want a multiple of 8, as many elements as 16 bytes have; use "
            "such pages, or the layouts nhd or hnd");
}

TEST(ForwardProblem, HasTensorsOfPackedSequences) {
  ForwardProblem problem = makeProblem();
  problem.wantLse = true;
  problem.lists = {true, true, false, true};
  problem.totalQ = 150, problem.totalKv = 333;
  EXPECT_TRUE(validate(problem).ok());
  EXPECT_EQ(problem.tensor("q").spanBytes(), 2u * 150 * 8 * 128);
  EXPECT_EQ(stridesOf(problem.tensor("k")), (TensorStrides{0, 2 * 128, 128}));
  EXPECT_EQ(problem.tensor("lse").spanBytes(), 4u * 8 * 150);
  EXPECT_EQ(problem.tensor("cu_seqlens_k").spanBytes(), 4u * 3);
  EXPECT_EQ(problem.tensor("seqused_k").spanBytes(), 4u * 2);
  EXPECT_EQ(problem.kernelSuffix(), "d128_bf16_none_packed_queries_packed_keys_key_lengths");
  EXPECT_EQ(problem.describe(), "bf16 B2 H8/2 Sq100 Skv300 D128 bshd packed-q packed-kv used-kv Tq150 Tkv333 lse");
}
