// The C interface: one forward, and every way to misuse it.
#include "TemporaryDirectory.h"

#include "hocket/Attention/CAPI.h"
#include "hocket/Simulator/RuntimeDevice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using testing::HasSubstr;

extern "C" int hocket_test_forward(const uint16_t *row, uint16_t *o, int on_stream);

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
  problem.dtype = static_cast<hocket_dtype>(7);
  EXPECT_THAT(planError(HOCKET_INVALID_INPUT), HasSubstr("dtype is 7"));
  hocket_forward_problem_init(&problem);
  problem.layout = static_cast<hocket_layout>(2);
  EXPECT_THAT(planError(HOCKET_INVALID_INPUT), HasSubstr("layout is 2"));
  hocket_forward_problem_init(&problem);
  problem.heads = -1;
  EXPECT_THAT(planError(HOCKET_INVALID_INPUT), HasSubstr("heads is -1"));
  hocket_forward_problem_init(&problem);
  problem.head_dim = problem.head_dim_v = 44;
  EXPECT_THAT(planError(HOCKET_UNSUPPORTED), HasSubstr("head-dim is 44"));
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
