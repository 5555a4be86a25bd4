// The C interface: one forward, and every way to misuse it.
#include "TemporaryDirectory.h"

#include "hocket/Attention/CAPI.h"
#include "hocket/Simulator/RuntimeDevice.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <string_view>
#include <vector>

using testing::HasSubstr;

extern "C" int hocket_test_forward(const uint16_t *row, uint16_t *o, int on_stream);

extern "C" int hocket_test_modified(const uint16_t *rows, int which, uint16_t *o);

TEST(AttentionCAPI, AModificationFromC) {
  uint16_t rows[256], o[128];
  for (unsigned i = 0; i < 256; ++i)
    rows[i] = uint16_t(0x3c00 + i); // 1.0 and a little more, in fp16
  for (int which : {0, 1}) {
    ASSERT_EQ(hocket_test_modified(rows, which, o), HOCKET_SUCCESS) << hocket_last_error();
    for (unsigned i = 0; i < 128; ++i)
      ASSERT_EQ(o[i], rows[128 * which + i] - 0x400) << i; // half of it
  }
}

extern "C" int hocket_test_appended(const uint16_t *row, uint16_t *o, uint16_t *v);

TEST(AttentionCAPI, APagedCacheThatIsAppendedTo) {
  uint16_t row[128], o[128], v[4 * 128];
  for (unsigned i = 0; i < 128; ++i)
    row[i] = uint16_t(0x3c00 + i);
  ASSERT_EQ(hocket_test_appended(row, o, v), HOCKET_SUCCESS) << hocket_last_error();
  for (unsigned i = 0; i < 4 * 128; ++i)
    EXPECT_EQ(v[i], i < 128 ? row[i] : 0) << i;
  EXPECT_TRUE(std::equal(std::begin(o), std::end(o), std::begin(row)));
}

TEST(AttentionCAPI, NewRowsHaveTheTypeOfOOrOfTheCache) {
  hocket_planner planner;
  hocket_forward_problem problem;
  hocket_forward_problem_init(&problem);
  problem.dtypes = "bf16_kv_f8e4m3";
  problem.seq_kv = 4, problem.seqused_k = 1, problem.append_rows = 1;
  ASSERT_EQ(hocket_planner_create(nullptr, &planner), HOCKET_SUCCESS);
  for (int asStored : {0, 1}) {
    hocket_plan plan;
    uint64_t bytes = 0;
    problem.append_as_stored = asStored;
    ASSERT_EQ(hocket_planner_plan(planner, &problem, &plan), HOCKET_SUCCESS) << hocket_last_error();
    ASSERT_EQ(hocket_plan_buffer_bytes(plan, "k_new", &bytes), HOCKET_SUCCESS);
    EXPECT_EQ(bytes, asStored ? 128u : 256u);
    EXPECT_EQ(hocket_plan_release(plan), HOCKET_SUCCESS);
  }
  EXPECT_EQ(hocket_planner_release(planner), HOCKET_SUCCESS);
}

TEST(AttentionCAPI, AQuantizer) {
  hocket_register_simulator();
  hocket_device device;
  hocket_planner planner;
  hocket_plan plan = nullptr;
  hocket_quantize_problem problem = {};
  ASSERT_EQ(hocket_device_open("sim", &device, nullptr), HOCKET_SUCCESS);
  ASSERT_EQ(hocket_planner_create(nullptr, &planner), HOCKET_SUCCESS);
  EXPECT_EQ(hocket_planner_plan_quantize(planner, &problem, &plan), HOCKET_INVALID_INPUT);
  EXPECT_THAT(hocket_last_error(), HasSubstr("call hocket_quantize_problem_init first"));
  hocket_quantize_problem_init(&problem);
  problem.per = "row";
  EXPECT_EQ(hocket_planner_plan_quantize(planner, &problem, &plan), HOCKET_INVALID_INPUT);
  EXPECT_THAT(hocket_last_error(), HasSubstr("per is 'row', use tensor, head, block, token or mx"));
  problem.per = "head", problem.to = "fp8";
  EXPECT_EQ(hocket_planner_plan_quantize(planner, &problem, &plan), HOCKET_INVALID_INPUT);
  EXPECT_THAT(hocket_last_error(), HasSubstr("dtype is 'fp8', use f8e4m3, f8e5m2, i8 or f4e2m1"));
  problem.to = "f8e4m3", problem.seq = 2;
  ASSERT_EQ(hocket_planner_plan_quantize(planner, &problem, &plan), HOCKET_SUCCESS) << hocket_last_error();
  // -4 and 2s in bf16.
  std::vector<uint16_t> x(256, 0x4000);
  x[200] = 0xc080;
  std::vector<hocket_named_buffer> buffers;
  for (const char *name : {"x", "values", "scale", "workspace"}) {
    hocket_named_buffer buffer = {name, {}};
    ASSERT_EQ(hocket_plan_buffer_bytes(plan, name, &buffer.buffer.bytes), HOCKET_SUCCESS);
    ASSERT_EQ(hocket_allocate(device, buffer.buffer.bytes, &buffer.buffer.address), HOCKET_SUCCESS);
    buffers.push_back(buffer);
  }
  ASSERT_EQ(hocket_copy_to_device(device, buffers[0].buffer.address, x.data(), 512), HOCKET_SUCCESS);
  ASSERT_EQ(hocket_plan_run_named(plan, device, buffers.data(), buffers.size(), nullptr), HOCKET_SUCCESS) << hocket_last_error();
  std::vector<uint8_t> values(256);
  float scale = 0;
  ASSERT_EQ(hocket_copy_from_device(device, values.data(), buffers[1].buffer.address, 256), HOCKET_SUCCESS);
  ASSERT_EQ(hocket_copy_from_device(device, &scale, buffers[2].buffer.address, sizeof(scale)), HOCKET_SUCCESS);
  EXPECT_EQ(scale, 4.0f / 448);
  for (size_t i = 0; i != values.size(); ++i)
    EXPECT_EQ(values[i], i == 200 ? 0xfe : 0x76) << i; // -448 and 224
  EXPECT_EQ(hocket_plan_unload(plan, device), HOCKET_SUCCESS);
  EXPECT_EQ(hocket_plan_release(plan), HOCKET_SUCCESS);
  EXPECT_EQ(hocket_planner_release(planner), HOCKET_SUCCESS);
  EXPECT_EQ(hocket_device_release(device), HOCKET_SUCCESS);
}

TEST(AttentionCAPI, AForwardFromC) {
  uint16_t row[128], o[128];
  for (unsigned i = 0; i < 128; ++i)
    row[i] = uint16_t(0x3c00 + i); // 1.0 and a little more, in fp16
  for (int onStream : {0, 1}) {
    std::fill(std::begin(o), std::end(o), uint16_t(0));
    ASSERT_EQ(hocket_test_forward(row, o, onStream), HOCKET_SUCCESS) << hocket_last_error();
    for (unsigned i = 0; i < 128; ++i)
      EXPECT_EQ(o[i], row[i]) << i;
  }
}

/// One query that sees one key, with a score of zero: P = 1, dV = dO, and nothing else has a gradient.
TEST(AttentionCAPI, ABackward) {
  hocket_register_simulator();
  hocket_forward_problem problem;
  hocket_forward_problem_init(&problem);
  problem.dtype = HOCKET_FP16;
  hocket_device device;
  hocket_planner planner;
  hocket_plan plan;
  problem.sink = 1;
  const char *gradients[] = {"sink"};
  problem.gradient_count = 1;
  hocket_gradient_strides strides = {};
  strides.dk = {1, 1, 1};
  ASSERT_EQ(hocket_device_open("sim", &device, nullptr), HOCKET_SUCCESS);
  ASSERT_EQ(hocket_planner_create(nullptr, &planner), HOCKET_SUCCESS);
  EXPECT_EQ(hocket_planner_plan_backward(planner, &problem, &strides, &plan), HOCKET_INVALID_INPUT);
  EXPECT_THAT(hocket_last_error(), HasSubstr("gradients is null and has 1 entries"));
  problem.gradients = gradients;
  EXPECT_EQ(hocket_planner_plan_backward(planner, &problem, &strides, &plan), HOCKET_UNSUPPORTED);
  EXPECT_THAT(hocket_last_error(), HasSubstr("dk"));
  strides.dk = {256, 256, 128};
  problem.accumulate = 3;
  EXPECT_EQ(hocket_planner_plan_backward(planner, &problem, &strides, &plan), HOCKET_INVALID_INPUT);
  EXPECT_THAT(hocket_last_error(), HasSubstr("accumulate is 3, expected 0 (none) to 2 (packed)"));
  problem.accumulate = 1, problem.deterministic = 1;
  EXPECT_EQ(hocket_planner_plan_backward(planner, &problem, &strides, &plan), HOCKET_INVALID_INPUT);
  EXPECT_THAT(hocket_last_error(), HasSubstr("'deterministic' is asked for, and 'accumulate' f32"));
  problem.deterministic = 0;
  ASSERT_EQ(hocket_planner_plan_backward(planner, &problem, &strides, &plan), HOCKET_SUCCESS) << hocket_last_error();
  const char *fused = nullptr;
  ASSERT_EQ(hocket_plan_kernel(plan, 1, &fused), HOCKET_SUCCESS);
  EXPECT_STREQ(fused, "fmha_bwd_fused_in_turns_f32");
  EXPECT_EQ(hocket_plan_release(plan), HOCKET_SUCCESS);
  problem.accumulate = 0;
  ASSERT_EQ(hocket_planner_plan_backward(planner, &problem, &strides, &plan), HOCKET_SUCCESS)
      << hocket_last_error();

  std::vector<uint16_t> row(128, 0x3c00), zeros(128), found(128);
  for (unsigned i = 0; i < 128; ++i)
    row[i] = i % 2 ? 0x3c00 : 0x4000; // 1 and 2: products are summed exactly
  std::vector<hocket_named_buffer> buffers;
  size_t count = 0;
  ASSERT_EQ(hocket_plan_buffers(plan, &count), HOCKET_SUCCESS);
  for (size_t i = 0; i != count; ++i) {
    hocket_named_buffer buffer = {};
    ASSERT_EQ(hocket_plan_buffer_name(plan, i, &buffer.name), HOCKET_SUCCESS);
    ASSERT_EQ(hocket_plan_buffer_bytes(plan, buffer.name, &buffer.buffer.bytes), HOCKET_SUCCESS);
    ASSERT_EQ(hocket_allocate(device, buffer.buffer.bytes, &buffer.buffer.address), HOCKET_SUCCESS);
    bool isRow = std::string_view("k v o do").find(buffer.name) != std::string_view::npos;
    ASSERT_EQ(hocket_copy_to_device(device, buffer.buffer.address, isRow ? row.data() : zeros.data(),
                                    std::min<uint64_t>(buffer.buffer.bytes, 256)),
              HOCKET_SUCCESS);
    buffers.push_back(buffer);
  }
  hocket_forward_buffers ofForward = {};
  EXPECT_EQ(hocket_plan_run(plan, device, &ofForward, nullptr), HOCKET_INVALID_INPUT);
  // Without any one of them, or with one that is too small, nothing runs.
  for (size_t i = 0; i != count; ++i) {
    std::string name = buffers[i].name, needed = std::to_string(buffers[i].buffer.bytes);
    std::vector<hocket_named_buffer> others = buffers, smaller = buffers;
    others.erase(others.begin() + static_cast<ptrdiff_t>(i));
    EXPECT_EQ(hocket_plan_run_named(plan, device, others.data(), others.size(), nullptr), HOCKET_INVALID_INPUT);
    EXPECT_EQ(hocket_last_error(), "buffer '" + name + "' is null, " + needed + " bytes of device memory are needed");
    --smaller[i].buffer.bytes;
    EXPECT_EQ(hocket_plan_run_named(plan, device, smaller.data(), smaller.size(), nullptr), HOCKET_INVALID_INPUT);
    EXPECT_THAT(hocket_last_error(), HasSubstr("buffer '" + name + "' has "));
    EXPECT_THAT(hocket_last_error(), HasSubstr(" bytes, " + needed + " are needed"));
  }
  ASSERT_EQ(hocket_plan_run_named(plan, device, buffers.data(), buffers.size(), nullptr), HOCKET_SUCCESS)
      << hocket_last_error();
  for (const hocket_named_buffer &buffer : buffers) {
    std::string_view name = buffer.name;
    if (name != "dq" && name != "dk" && name != "dv")
      continue;
    ASSERT_EQ(hocket_copy_from_device(device, found.data(), buffer.buffer.address, 256), HOCKET_SUCCESS);
    EXPECT_EQ(found, name == "dv" ? row : zeros) << name;
  }
  for (const hocket_named_buffer &buffer : buffers)
    if (std::string_view(buffer.name) == "d_sink") {
      // One key, so that all rows are alike: LSE and the sink are 0, delta is the sum of squares of the row.
      float ofSink = 0;
      EXPECT_EQ(buffer.buffer.bytes, sizeof(ofSink));
      ASSERT_EQ(hocket_copy_from_device(device, &ofSink, buffer.buffer.address, sizeof(ofSink)), HOCKET_SUCCESS);
      EXPECT_EQ(ofSink, -64.0f * (1 + 4));
    }
  EXPECT_EQ(std::count_if(buffers.begin(), buffers.end(),
                          [](const hocket_named_buffer &buffer) { return std::string_view(buffer.name) == "d_sink"; }),
            1);
  EXPECT_EQ(hocket_plan_release(plan), HOCKET_SUCCESS);
  EXPECT_EQ(hocket_planner_release(planner), HOCKET_SUCCESS);
  EXPECT_EQ(hocket_device_release(device), HOCKET_SUCCESS);
}

namespace {
class AttentionMisuse : public testing::Test {
protected:
  void SetUp() override {
    hocket_register_simulator();
    hocket_forward_problem_init(&problem);
    ASSERT_EQ(hocket_device_open("sim", &device, nullptr), HOCKET_SUCCESS);
    ASSERT_EQ(hocket_planner_create(nullptr, &planner), HOCKET_SUCCESS) << hocket_last_error();
  }
  void TearDown() override {
    EXPECT_EQ(hocket_planner_release(planner), HOCKET_SUCCESS);
    EXPECT_EQ(hocket_device_release(device), HOCKET_SUCCESS);
  }
  /// Plans `problem`, which must fail, and returns the message.
  std::string planError(hocket_status wanted) {
    hocket_plan none = nullptr;
    EXPECT_EQ(hocket_planner_plan(planner, &problem, &none), wanted);
    EXPECT_EQ(none, nullptr);
    return hocket_last_error();
  }

  hocket_device device = nullptr;
  hocket_planner planner = nullptr;
  hocket_forward_problem problem;
};
} // namespace

TEST_F(AttentionMisuse, MalformedProblems) {
  problem.struct_bytes = 3;
  EXPECT_THAT(planError(HOCKET_INVALID_INPUT), HasSubstr("call hocket_forward_problem_init first"));
  hocket_forward_problem_init(&problem);
  problem.dtype = static_cast<hocket_dtype>(99);
  EXPECT_THAT(planError(HOCKET_INVALID_INPUT), HasSubstr("dtype is 99"));
  hocket_forward_problem_init(&problem);
  problem.layout = static_cast<hocket_layout>(2);
  EXPECT_THAT(planError(HOCKET_INVALID_INPUT), HasSubstr("layout is 2"));
  hocket_forward_problem_init(&problem);
  problem.removed = 1;
  EXPECT_THAT(planError(HOCKET_UNSUPPORTED), HasSubstr("once 'fast_scale', is 1"));
  hocket_forward_problem_init(&problem);
  problem.heads = -1;
  EXPECT_THAT(planError(HOCKET_INVALID_INPUT), HasSubstr("heads is -1"));
  hocket_forward_problem_init(&problem);
  problem.has_scale = 1;
  problem.scale = 1e8;
  EXPECT_THAT(planError(HOCKET_INVALID_INPUT), HasSubstr("at most 46500000 in size"));
  hocket_forward_problem_init(&problem);
  problem.head_dim = problem.head_dim_v = 44;
  EXPECT_THAT(planError(HOCKET_UNSUPPORTED), HasSubstr("head-dim is 44"));
}

TEST_F(AttentionMisuse, Caches) {
  auto refused = [&](const char *message) {
    EXPECT_THAT(planError(HOCKET_INVALID_INPUT), HasSubstr(message));
    hocket_forward_problem_init(&problem);
  };
  hocket_forward_problem_init(&problem);
  problem.page_size = -1;
  refused("page-size is -1, it must be 1 to 65536");
  problem.page_size = 16, problem.seqused_k = 1, problem.page_layout = "dhn";
  refused("page layout 'dhn' is not known; use nhd, hnd or vectorised");
  problem.page_lists = 1;
  refused("page-lists need pages");
  problem.append_rows = -3, problem.seqused_k = 1;
  refused("append is -3, it must be at least 1");
  problem.append_rows = 1;
  refused("say how many that are (used-kv)");
  problem.append_rows = 1, problem.seqused_k = 1, problem.rotary = "whole";
  refused("rotary 'whole' is not known; use none, interleaved or half");
  problem.append_rows = 1, problem.seqused_k = 1, problem.rotary = "half", problem.rotary_dim = 8;
  refused("rotary-dim is 8, it must be a multiple of 16");
  problem.rotary = "half";
  refused("rotary turns new keys; append some");
  problem.cu_seqlens_q = 1, problem.total_q = 0;
  refused("total-q is 0");
  problem.min_seqlen_q = 3;
  refused("min-seqlen-q is 3, expected 0 or, where queries are packed,");
  problem.page_size = 12, problem.seqused_k = 1, problem.page_layout = "vectorised";
  refused("page-size is 12, pages in the vectorised layout want a multiple of 8");
}

TEST_F(AttentionMisuse, WorkLists) {
  auto refused = [&](const char *message) {
    EXPECT_THAT(planError(HOCKET_INVALID_INPUT), HasSubstr(message));
    hocket_forward_problem_init(&problem);
  };
  hocket_forward_problem_init(&problem);
  problem.work_list = 3;
  refused("work_list is 3, expected 0, 1 or 2");
  problem.work_slices = 1;
  refused("slices of a list of work are asked for, but no list");
  problem.work_list = 2, problem.work_slots = 0;
  refused("work-slots is 0, it must be 1 to 65536");
  problem.work_list = 1, problem.num_splits = 2;
  refused("leave num-splits out");
}

TEST_F(AttentionMisuse, Modifications) {
  auto wanted = [&](const char *message, hocket_status status = HOCKET_INVALID_INPUT) {
    EXPECT_THAT(planError(status), HasSubstr(message));
    hocket_forward_problem_init(&problem);
  };
  problem.modification_count = 1;
  wanted("modifications is null and has 1 entries");
  hocket_modification nameless = {}, unknown = {"windows", nullptr}, malformed = {"mine", "attn.mask_mod @m("};
  hocket_modification window = {"window", nullptr};
  problem.modifications = &nameless, problem.modification_count = 1;
  wanted("the name of modification 0 is null");
  problem.modifications = &unknown, problem.modification_count = 1;
  wanted("no modification 'windows' is shipped", HOCKET_NOT_FOUND);
  problem.modifications = &malformed, problem.modification_count = 1;
  wanted("modification 'mine' cannot be read");
  problem.modifications = &window, problem.modification_count = 1;
  wanted("modification 'window' takes the number 'window_left'");
  hocket_number sides[] = {{"window_left", 4}, {"window_right", -2}};
  problem.modifications = &window, problem.modification_count = 1;
  problem.numbers = sides, problem.number_count = 2;
  wanted("modification 'window' is given window_right -2, expected keys from 0 behind the diagonal, or -1 for no limit");
  hocket_modification loops = {"mine", "attn.score_mod @m(%s: f32, %b: i32, %h: i32, %q: i32, %k: i32) {\n"
                                       "  %c = arith.constant 1 : i32\n"
                                       "  %r = scf.for %i = %c to %k step %c iter_args(%a = %s) -> (f32) : i32 {\n"
                                       "    scf.yield %a : f32\n  }\n  attn.yield %r : f32\n}"};
  problem.modifications = &loops, problem.modification_count = 1;
  wanted("'scf.for' op may not stand in a modification");
  hocket_modification bias = {"bias_fp16", nullptr};
  int64_t wrong[] = {1, 1, 7, 64};
  hocket_extents ofBias = {"bias", wrong, 4};
  problem.modifications = &bias, problem.modification_count = 1;
  problem.extents = &ofBias, problem.extent_count = 1;
  wanted("'bias' is 1 x 1 x 7 x 64, modification 'bias_fp16' reads");
  hocket_number twice[] = {{"a", 1}, {"a", 2}}, unnamed = {};
  problem.numbers = twice, problem.number_count = 2;
  wanted("number 'a' is given twice");
  problem.numbers = &unnamed, problem.number_count = 1;
  wanted("the name of number 0 is null");
  hocket_extents empty = {"bias", nullptr, 4};
  problem.extents = &empty, problem.extent_count = 1;
  wanted("extents of 'bias' is null and has 4 entries");
  problem.dropout = 1, problem.dropout_probability = 1;
  wanted("dropout");
  problem.block_queries = 256;
  wanted("block");
}

/// Lists say which keys are seen: of two blocks the second.
TEST_F(AttentionMisuse, BlockListsAndBias) {
  problem.dtype = HOCKET_FP16;
  problem.seq_kv = 128;
  problem.block_queries = 256, problem.block_keys = 64;
  hocket_modification bias = {"bias_fp16", nullptr};
  int64_t extents[] = {1, 1, 1, 128};
  hocket_extents ofBias = {"bias", extents, 4};
  problem.modifications = &bias, problem.modification_count = 1;
  problem.extents = &ofBias, problem.extent_count = 1;
  hocket_plan plan = nullptr;
  ASSERT_EQ(hocket_planner_plan(planner, &problem, &plan), HOCKET_SUCCESS) << hocket_last_error();
  std::vector<uint16_t> rows(128 * 128, 0x3c00), one(128, 0), bent(128, 0); // 1 in fp16
  std::fill(rows.begin() + 64 * 128, rows.end(), uint16_t(0x4000));        // 2
  const int32_t count = 1, indices[] = {1, 0};
  std::map<std::string, std::pair<const void *, size_t>> contents = {
      {"q", {one.data(), 256}},       {"k", {rows.data(), rows.size() * 2}}, {"v", {rows.data(), rows.size() * 2}},
      {"bias", {bent.data(), 256}}, {"kv_num_blocks", {&count, 4}},        {"kv_indices", {indices, 8}}};
  std::vector<hocket_named_buffer> buffers;
  uint64_t output = 0;
  for (const char *name : {"q", "k", "v", "o", "bias", "kv_num_blocks", "kv_indices"}) {
    uint64_t bytes = 0, address = 0;
    ASSERT_EQ(hocket_plan_buffer_bytes(plan, name, &bytes), HOCKET_SUCCESS) << hocket_last_error();
    ASSERT_EQ(hocket_allocate(device, bytes, &address), HOCKET_SUCCESS);
    if (auto content = contents.find(name); content != contents.end()) {
      ASSERT_EQ(bytes, content->second.second) << name;
      ASSERT_EQ(hocket_copy_to_device(device, address, content->second.first, bytes), HOCKET_SUCCESS);
    } else {
      output = address;
    }
    buffers.push_back({name, {address, bytes}});
  }
  ASSERT_EQ(hocket_plan_run_named(plan, device, buffers.data(), buffers.size(), nullptr), HOCKET_SUCCESS)
      << hocket_last_error();
  std::vector<uint16_t> o(128);
  ASSERT_EQ(hocket_copy_from_device(device, o.data(), output, 256), HOCKET_SUCCESS);
  EXPECT_EQ(o, std::vector<uint16_t>(128, 0x4000));
  ASSERT_EQ(hocket_plan_unload(plan, device), HOCKET_SUCCESS);
  ASSERT_EQ(hocket_plan_release(plan), HOCKET_SUCCESS);
}

/// A struct as a program has it that was compiled when it had `bytes`: nothing behind is its own.
static std::vector<char> ofSize(hocket_forward_problem problem, uint32_t bytes) {
  problem.struct_bytes = bytes;
  std::vector<char> memory(bytes);
  std::memcpy(memory.data(), &problem, std::min<size_t>(bytes, sizeof(problem)));
  return memory;
}

/// What planning says of it: the first kernel's name, or the error.
static std::string planned(hocket_planner planner, const std::vector<char> &memory) {
  hocket_plan plan = nullptr;
  const char *name = nullptr;
  if (hocket_planner_plan(planner, reinterpret_cast<const hocket_forward_problem *>(memory.data()),
                          &plan) != HOCKET_SUCCESS)
    return hocket_last_error();
  EXPECT_EQ(hocket_plan_kernel(plan, 0, &name), HOCKET_SUCCESS);
  std::string text = name;
  EXPECT_EQ(hocket_plan_release(plan), HOCKET_SUCCESS);
  return text;
}

TEST_F(AttentionMisuse, StructsOfOtherVersions) {
  constexpr uint32_t first = offsetof(hocket_forward_problem, mask);
  std::string kernel = planned(planner, ofSize(problem, sizeof(problem)));
  EXPECT_THAT(kernel, HasSubstr("fmha_fwd"));
  EXPECT_EQ(planned(planner, ofSize(problem, first)), kernel);
  EXPECT_THAT(planned(planner, ofSize(problem, first - 8)),
              HasSubstr("struct_bytes of the problem is " + std::to_string(first - 8) +
                        ", expected " + std::to_string(first) + " to " +
                        std::to_string(sizeof(problem))));
  std::vector<char> newer = ofSize(problem, sizeof(problem) + 24);
  EXPECT_EQ(planned(planner, newer), kernel) << "what is newer asks for nothing";
  newer[sizeof(problem) + 9] = 1;
  EXPECT_THAT(planned(planner, newer),
              HasSubstr("this version of Hocket knows " + std::to_string(sizeof(problem)) +
                        ", and byte " + std::to_string(sizeof(problem) + 9) +
                        " asks for something newer; update Hocket"));
  // What an older struct lacks has its default, whatever lies behind it.
  problem.mask = "full";
  EXPECT_EQ(planned(planner, ofSize(problem, first)), kernel);
  EXPECT_THAT(planned(planner, ofSize(problem, sizeof(problem))),
              HasSubstr("mask 'full' is unknown; known are none, causal"));
}

TEST_F(AttentionMisuse, MaskAndCausalAreTwoWordsForOneThing) {
  problem.mask = "none";
  problem.causal = 1;
  EXPECT_THAT(planError(HOCKET_INVALID_INPUT), HasSubstr("mask is 'none' and causal is set"));
  problem.head_dim = 44; // refused with the whole problem
  problem.mask = "causal";
  EXPECT_THAT(planError(HOCKET_UNSUPPORTED), HasSubstr("causal"));
  problem.causal = 0;
  EXPECT_THAT(planError(HOCKET_UNSUPPORTED), HasSubstr("causal"));
  problem.mask = nullptr;
  EXPECT_THAT(planError(HOCKET_UNSUPPORTED), testing::Not(HasSubstr("causal")));
}

TEST_F(AttentionMisuse, NamedBuffers) {
  hocket_plan plan = nullptr;
  ASSERT_EQ(hocket_planner_plan(planner, &problem, &plan), HOCKET_SUCCESS) << hocket_last_error();
  size_t count = 0;
  ASSERT_EQ(hocket_plan_buffers(plan, &count), HOCKET_SUCCESS);
  std::string names;
  std::vector<hocket_named_buffer> buffers;
  for (size_t i = 0; i < count; ++i) {
    const char *name = nullptr;
    uint64_t bytes = 0;
    ASSERT_EQ(hocket_plan_buffer_name(plan, i, &name), HOCKET_SUCCESS);
    ASSERT_EQ(hocket_plan_buffer_bytes(plan, name, &bytes), HOCKET_SUCCESS);
    names += std::string(name) + " ";
    hocket_named_buffer &buffer = buffers.emplace_back(name, hocket_buffer{0, bytes});
    ASSERT_EQ(hocket_allocate(device, bytes, &buffer.buffer.address), HOCKET_SUCCESS);
  }
  EXPECT_EQ(names, "q k v o ");
  for (const char *name : {"lse", "workspace"}) { // not wanted, not needed: there is nothing to allocate
    uint64_t bytes = 1;
    EXPECT_EQ(hocket_plan_buffer_bytes(plan, name, &bytes), HOCKET_SUCCESS);
    EXPECT_EQ(bytes, 0u);
  }
  double seconds = -1;
  EXPECT_EQ(hocket_plan_run_named(plan, device, buffers.data(), buffers.size(), &seconds),
            HOCKET_SUCCESS)
      << hocket_last_error();
  EXPECT_GE(seconds, 0);
  auto error = [&](size_t given) {
    EXPECT_EQ(hocket_plan_run_named(plan, device, buffers.data(), given, nullptr),
              HOCKET_INVALID_INPUT);
    return std::string(hocket_last_error());
  };
  EXPECT_THAT(error(3), HasSubstr("buffer 'o' is null"));
  buffers[3].name = "k";
  EXPECT_EQ(error(4), "buffer 'k' is given twice");
  buffers[3].name = "out";
  EXPECT_EQ(error(4), "there is no buffer 'out'; known are q, k, v, o, lse, workspace");
  buffers[3].name = nullptr;
  EXPECT_EQ(error(4), "the name of buffer 3 is null");
  EXPECT_EQ(hocket_plan_run_named(plan, device, nullptr, 4, nullptr), HOCKET_INVALID_INPUT);
  EXPECT_THAT(hocket_last_error(), HasSubstr("parameter 'buffers' is null"));
  EXPECT_EQ(hocket_plan_run_named_on(plan, device, buffers.data(), 3, nullptr),
            HOCKET_INVALID_INPUT);
  EXPECT_THAT(hocket_last_error(), HasSubstr("stream handle is null"));
  const char *name = nullptr;
  EXPECT_EQ(hocket_plan_buffer_name(plan, 6, &name), HOCKET_INVALID_INPUT);
  EXPECT_EQ(std::string(hocket_last_error()), "buffer 6 does not exist, the plan has 4");
  EXPECT_EQ(hocket_plan_unload(plan, device), HOCKET_SUCCESS);
  EXPECT_EQ(hocket_plan_release(plan), HOCKET_SUCCESS);
}

TEST_F(AttentionMisuse, NullPointers) {
  EXPECT_EQ(hocket_planner_create(nullptr, nullptr), HOCKET_INVALID_INPUT);
  EXPECT_THAT(hocket_last_error(), HasSubstr("parameter 'planner' is null"));
  hocket_plan plan = nullptr;
  EXPECT_EQ(hocket_planner_plan(planner, nullptr, &plan), HOCKET_INVALID_INPUT);
  EXPECT_THAT(hocket_last_error(), HasSubstr("parameter 'problem' is null"));
  EXPECT_EQ(hocket_planner_plan(planner, &problem, nullptr), HOCKET_INVALID_INPUT);
  EXPECT_THAT(hocket_last_error(), HasSubstr("parameter 'plan' is null"));
  hocket_forward_problem_init(nullptr);
}

TEST_F(AttentionMisuse, HandlesThatAreNone) {
  uint64_t bytes;
  EXPECT_EQ(hocket_plan_workspace(nullptr, &bytes), HOCKET_INVALID_INPUT);
  EXPECT_THAT(hocket_last_error(), HasSubstr("plan handle is null"));
  EXPECT_EQ(hocket_plan_release(reinterpret_cast<hocket_plan>(uintptr_t(99999))),
            HOCKET_INVALID_INPUT);
  hocket_plan plan = nullptr;
  ASSERT_EQ(hocket_planner_plan(planner, &problem, &plan), HOCKET_SUCCESS) << hocket_last_error();
  // A device or a planner given as a plan is not taken for one of the plans.
  for (void *other : {static_cast<void *>(planner), static_cast<void *>(device)}) {
    auto foreign = static_cast<hocket_plan>(other);
    EXPECT_EQ(hocket_plan_workspace(foreign, &bytes), HOCKET_INVALID_INPUT);
    EXPECT_THAT(hocket_last_error(), HasSubstr("plan handle is not valid; it is a handle of kind"));
    EXPECT_EQ(hocket_plan_release(foreign), HOCKET_INVALID_INPUT);
  }
  hocket_forward_buffers buffers = {};
  EXPECT_EQ(hocket_plan_run(plan, nullptr, &buffers, nullptr), HOCKET_INVALID_INPUT);
  EXPECT_THAT(hocket_last_error(), HasSubstr("device handle is null"));
  EXPECT_EQ(hocket_plan_run(plan, device, nullptr, nullptr), HOCKET_INVALID_INPUT);
  EXPECT_THAT(hocket_last_error(), HasSubstr("parameter 'buffers' is null"));
  EXPECT_EQ(hocket_plan_run(plan, device, &buffers, nullptr), HOCKET_INVALID_INPUT);
  EXPECT_THAT(hocket_last_error(), HasSubstr("buffer 'q' is null, 256 bytes"));
  EXPECT_EQ(hocket_plan_run_on(plan, device, &buffers, nullptr), HOCKET_INVALID_INPUT);
  EXPECT_THAT(hocket_last_error(), HasSubstr("stream handle is null"));
  const char *name = nullptr;
  EXPECT_EQ(hocket_plan_kernel(plan, 1, &name), HOCKET_INVALID_INPUT);
  EXPECT_THAT(hocket_last_error(), HasSubstr("launch 1 does not exist, the plan has 1"));
  EXPECT_EQ(hocket_plan_buffer_bytes(plan, "p", &bytes), HOCKET_INVALID_INPUT);
  EXPECT_THAT(hocket_last_error(), HasSubstr("buffer 'p' is unknown"));
  EXPECT_EQ(hocket_plan_release(plan), HOCKET_SUCCESS);
  EXPECT_EQ(hocket_plan_run(plan, device, &buffers, nullptr), HOCKET_INVALID_INPUT);
  EXPECT_THAT(hocket_last_error(), HasSubstr("plan handle is not valid; it was released"));
}

TEST_F(AttentionMisuse, PlannerOptions) {
  hocket_planner_options options = {};
  hocket_planner other = nullptr;
  options.architecture = "gfx1";
  EXPECT_EQ(hocket_planner_create(&options, &other), HOCKET_UNSUPPORTED) << hocket_last_error();
  options.architecture = nullptr;
  options.bundle_count = 1;
  EXPECT_EQ(hocket_planner_create(&options, &other), HOCKET_INVALID_INPUT);
  EXPECT_THAT(hocket_last_error(), HasSubstr("bundle 0 of 1 is null"));
  const char *bundle = "/nowhere";
  options.bundles = &bundle;
  EXPECT_EQ(hocket_planner_create(&options, &other), HOCKET_NOT_FOUND);
  options.bundle_count = 0;
  options.no_compile = 1;
  ASSERT_EQ(hocket_planner_create(&options, &other), HOCKET_SUCCESS);
  hocket_plan plan = nullptr;
  EXPECT_EQ(hocket_planner_plan(other, &problem, &plan), HOCKET_NOT_FOUND);
  EXPECT_EQ(hocket_planner_release(other), HOCKET_SUCCESS);
}

TEST_F(AttentionMisuse, APlannerSaysThatItsCacheIsNotUsed) {
  hocket::test::TemporaryDirectory directory;
  ASSERT_TRUE(directory.ok());
  std::string path = directory.path();
  ASSERT_FALSE(llvm::sys::fs::setPermissions(path, llvm::sys::fs::all_all));
  hocket_planner_options options = {};
  options.cache_directory = path.c_str();
  hocket_planner careful = nullptr;
  ASSERT_EQ(hocket_planner_create(&options, &careful), HOCKET_SUCCESS);
  const char *note = nullptr;
  EXPECT_EQ(hocket_planner_note(careful, nullptr), HOCKET_INVALID_INPUT);
  ASSERT_EQ(hocket_planner_note(careful, &note), HOCKET_SUCCESS);
  EXPECT_STREQ(note, "");
  hocket_plan plan = nullptr;
  ASSERT_EQ(hocket_planner_plan(careful, &problem, &plan), HOCKET_SUCCESS) << hocket_last_error();
  ASSERT_EQ(hocket_planner_note(careful, &note), HOCKET_SUCCESS);
  EXPECT_THAT(note, HasSubstr("others can write to it (mode 777); kernels are compiled"));
  EXPECT_EQ(hocket_plan_release(plan), HOCKET_SUCCESS);
  EXPECT_EQ(hocket_planner_release(careful), HOCKET_SUCCESS);
}
