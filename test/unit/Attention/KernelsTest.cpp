// The registry: how it is read, what it chooses, and what it says when it takes nothing.
#include "hocket/Attention/Kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::attention;
using testing::HasSubstr;

/// An entry with `changes` ("\"waves\": 4") in place of the defaults of the same key.
static std::string entryText(const std::string &name, int priority, const std::string &pays,
                             const std::string &more = R"("head_dims": [[128, 128]])") {
  return R"({"name": ")" + name + R"(", "summary": "s", "arch": ["gfx950"], "dtypes": ["bf16"],
    "masks": ["none", "causal"], "lse": [false, true], "max_sequence": 4096, "stride_multiple": 8,
    "schedule": "sequential", "waves": 8, "kv_tile": 64, "block_order": "linear", "priority": )" +
         std::to_string(priority) + R"(, "pays": ")" + pays + R"(", "because": "b", )" + more + "}";
}

static Result<KernelRegistry> parse(const std::string &kernels, const std::string &profiles = "") {
  return KernelRegistry::parse(R"({"hocket_registry": 1, "kernels": [)" + kernels +
                                   R"(], "profiles": [)" + profiles + "]}",
                               "test");
}

/// `parse`, with costs: `"NAME": [...]` of each kernel that has some.
static Result<KernelRegistry> parseTimed(const std::string &kernels, const std::string &costs) {
  Result<KernelRegistry> registry = parse(kernels);
  if (!registry.ok())
    return registry;
  Status added = registry->addCosts(R"({"hocket_costs": 1, "kernels": {)" + costs + "}}", "test");
  return added.ok() ? registry : added.error();
}

static KernelRegistry two() {
  Result<KernelRegistry> registry =
      parse(entryText("slow", 0, "1") + "," + entryText("fast", 10, "seq_kv >= 512"));
  EXPECT_TRUE(registry.ok()) << registry.error().message;
  return *registry;
}

static std::string errorOf(const Result<KernelRegistry> &registry) {
  return registry.ok() ? "no error" : registry.error().message;
}

TEST(Kernels, TheShippedRegistryIsWellFormed) {
  const Result<KernelRegistry> &registry = KernelRegistry::shipped();
  ASSERT_TRUE(registry.ok()) << registry.error().message;
  ASSERT_FALSE(registry->kernels().empty());
  // Whatever any kernel takes, one takes that always pays: choosing does not depend on thresholds
  // that nobody meets.
  for (const KernelEntry &entry : registry->kernels())
    for (const KernelVariant &variant : entry.variants()) {
      bool always = false;
      ForwardProblem problem = exampleOf(variant);
      problem.tuning.numSplits = entry.role == KernelRole::Whole ? 1 : 2;
      for (const KernelEntry &other : registry->kernels())
        always |= other.role == entry.role && other.pays.text() == "1" &&
                  brokenRules(other, problem, "gfx950").empty();
      EXPECT_TRUE(always) << entry.variantName(variant);
    }
}

/// docs/notes/2026-11-23-work-items.md and 2026-11-26-joined-items.md have what they are predicted at.
TEST(Kernels, ThresholdsOfTheShippedRegistry) {
  struct Case {
    int64_t batch, heads, kvHeads, seqQ, seqKv, headDim;
    bool causal;
    const char *name;
  };
  const Case cases[] = {
      {4, 16, 16, 2048, 128, 128, false, "fmha_fwd_lone_wave_streamed_windows"},
      {4, 16, 16, 2048, 384, 128, false, "fmha_fwd_dual_wave_items"},
      {4, 16, 16, 2048, 512, 128, false, "fmha_fwd_dual_wave_items"},
      {8, 64, 64, 512, 512, 128, false, "fmha_fwd_dual_wave_items"},
      {4, 64, 64, 1024, 1024, 64, false, "fmha_fwd_ping_pong_small_heads"},
      {4, 16, 16, 2048, 2048, 128, false, "fmha_fwd_dual_wave_items"},
      {1, 9, 9, 2048, 2048, 128, false, "fmha_fwd_lone_wave_spread"},
      {1, 16, 16, 2048, 2048, 128, false, "fmha_fwd_lone_wave_spread"},
      {1, 16, 16, 2048, 2048, 128, true, "fmha_fwd_lone_wave_spread"},
      {1, 24, 24, 2048, 2048, 128, true, "fmha_fwd_lone_wave_spread"},
      {1, 32, 32, 2048, 2048, 128, true, "fmha_fwd_lone_wave_streamed"},
      {1, 64, 64, 1024, 1024, 128, true, "fmha_fwd_lone_wave_streamed"},
      {1, 64, 64, 4096, 4096, 128, true, "fmha_fwd_dual_wave_items"},
      {4, 16, 16, 2048, 160, 128, true, "fmha_fwd_both_products"},
      {2, 8, 2, 9, 9, 128, false, "fmha_fwd_small_tiles"},
      {8, 32, 8, 1, 128, 128, false, "fmha_fwd_group_rows"},
      {2, 32, 32, 128, 32, 256, false, "fmha_fwd_small_tiles"},
      {16, 32, 32, 256, 65, 256, false, "fmha_fwd_streamed_twice"},
      {1, 16, 16, 4096, 4096, 192, false, "fmha_fwd_products_apart"},
      {1, 64, 64, 2048, 2048, 192, true, "fmha_fwd_products_apart"},
      {1, 16, 16, 1024, 1024, 192, false, "fmha_fwd_read_ahead"},
      {1, 16, 16, 1024, 1024, 256, false, "fmha_fwd_lone_wave_large_heads"},
      {1, 64, 64, 2048, 2048, 256, true, "fmha_fwd_streamed_twice_causal"},
      {1, 16, 16, 4096, 4096, 256, true, "fmha_fwd_lone_wave_large_heads"},
      {16, 32, 32, 256, 80, 160, false, "fmha_fwd_any_head"},
  };
  for (const Case &c : cases) {
    ForwardProblem problem;
    problem.batch = c.batch, problem.heads = c.heads, problem.kvHeads = c.kvHeads;
    problem.seqQ = c.seqQ, problem.seqKv = c.seqKv;
    problem.headDim = problem.headDimV = c.headDim;
    problem.visibility = c.causal ? Visibility::causal() : Visibility();
    problem.tuning.numSplits = 1;
    auto chosen = KernelRegistry::shipped()->select(problem, "gfx950");
    ASSERT_TRUE(chosen.ok()) << chosen.error().message;
    EXPECT_EQ((*chosen)->name, c.name) << problem.describe();
  }
}

TEST(Kernels, JoinedItemsTakeNoLists) {
  for (const KernelEntry &entry : KernelRegistry::shipped()->kernels()) {
    if (!entry.tuning.joinItems)
      continue;
    ForwardProblem problem = exampleOf(entry.variants().front());
    problem.tuning.numSplits = 1;
    EXPECT_TRUE(brokenRules(entry, problem, "gfx950").empty()) << entry.name;
    problem.lists.usedKv = true;
    std::vector<BrokenRule> broken = brokenRules(entry, problem, "gfx950");
    ASSERT_EQ(broken.size(), 1u) << entry.name;
    EXPECT_EQ(broken[0].text,
              "a list of sequences or of work is there, this kernel takes none, since its items join");
  }
}

/// docs/notes/2026-11-24-windows.md has what they are predicted at.
TEST(Kernels, ThresholdsOfWindows) {
  struct Case {
    int64_t heads, seq;
    double left, right;
    const char *name;
  };
  const Case cases[] = {
      {16, 16384, 1024, 0, "fmha_fwd_lone_wave_streamed_windows"},
      {8, 8192, 512, 512, "fmha_fwd_lone_wave_streamed_windows"},
      {16, 8192, 128, 0, "fmha_fwd_double_buffer_w4"},
      {16, 8192, 6000, 0, "fmha_fwd_both_products"},
      {16, 8192, 1024, -1, "fmha_fwd_both_products"}, // no window that bounds what a row sees
      {4, 8192, 1024, 0, "fmha_fwd_lone_wave"},
  };
  for (const Case &c : cases) {
    ForwardProblem problem;
    problem.heads = problem.kvHeads = c.heads;
    problem.seqQ = problem.seqKv = c.seq;
    problem.modifications.push_back({.name = "window", .isMask = true});
    problem.numbers = {{"window_left", c.left}, {"window_right", c.right}};
    auto chosen = KernelRegistry::shipped()->select(problem, "gfx950");
    ASSERT_TRUE(chosen.ok()) << chosen.error().message;
    EXPECT_EQ((*chosen)->name, c.name) << c.heads << " heads, window " << c.left << ", " << c.right;
  }
}

TEST(Kernels, WhatIsWrittenReadsBackAsTheSameChoices) {
  const KernelRegistry &registry = *KernelRegistry::shipped();
  // Variants are added for readers; without them it is a registry again.
  EXPECT_THAT(registry.toJson(), HasSubstr("\"variants\""));
  for (const KernelEntry &entry : registry.kernels()) {
    EXPECT_THAT(registry.toJson(), HasSubstr("\"" + entry.name + "\""));
    EXPECT_TRUE(registry.find(entry.name).ok());
  }
}

// Of thousands of queries a kernel whose rows are heads would fetch all keys for four at a time.
TEST(Kernels, WhoStandsInHasRowsOfTheSameKind) {
  ForwardProblem problem;
  problem.headDim = problem.headDimV = 128;
  problem.heads = 64, problem.kvHeads = 8;
  problem.seqQ = problem.seqKv = 4096;
  problem.lists = {.usedKv = true, .pageSize = 64};
  problem.numPages = problem.tablePages = 64;
  Result<KernelChoice> choice = KernelRegistry::shipped()->choose(problem, "gfx950");
  ASSERT_TRUE(choice.ok() && choice->kernel);
  ASSERT_FALSE(choice->kernel->tuning.groupRows);
  auto others = KernelRegistry::shipped()->alternatives(*choice->kernel, problem, "gfx950");
  bool grouped = false;
  for (const KernelEntry *entry : others) {
    EXPECT_TRUE(!grouped || entry->tuning.groupRows) << entry->name;
    grouped |= entry->tuning.groupRows;
  }
  EXPECT_TRUE(grouped);
}

TEST(Kernels, TheHighestPriorityThatPaysIsChosen) {
  KernelRegistry registry = two();
  ForwardProblem problem;
  problem.seqKv = 512;
  ASSERT_TRUE(registry.select(problem, "gfx950").ok());
  EXPECT_EQ((*registry.select(problem, "gfx950"))->name, "fast");
  problem.seqKv = 511;
  EXPECT_EQ((*registry.select(problem, "gfx950"))->name, "slow");
}

/// Costs of kernel `name` for heads of 128 that grow by so many cycles for each tile of 64 keys.
static std::string costText(const std::string &name, int firstTile, int perTile) {
  std::string cycles = "[" + std::to_string(firstTile) + ", " + std::to_string(firstTile + perTile) + "]";
  return "\"" + name + "\": [{\"arch\": \"gfx950\", \"head_dims\": [128, 128], \"rows\": 128, \"keys\": 64, "
         "\"resident\": 1, \"alone\": " +
         cycles + ", \"shared\": " + cycles + "}]";
}

TEST(Kernels, WhereCostsTellTheFastestIsChosenWhateverItsPriority) {
  Result<KernelRegistry> registry =
      parseTimed(entryText("starts_fast", 0, "1") + "," + entryText("goes_fast", 10, "1"),
                 costText("starts_fast", 10000, 4000) + "," + costText("goes_fast", 20000, 1000));
  ASSERT_TRUE(registry.ok()) << registry.error().message;
  ForwardProblem problem;
  problem.tuning.numSplits = 1;
  problem.seqQ = 128, problem.seqKv = 64;
  EXPECT_EQ((*registry->select(problem, "gfx950"))->name, "starts_fast");
  Result<KernelChoice> choice = registry->choose(problem, "gfx950");
  EXPECT_THAT(choice->explain(problem), HasSubstr("chosen: expected to take"));
  problem.seqKv = 64 * 64;
  EXPECT_EQ((*registry->select(problem, "gfx950"))->name, "goes_fast");
  // Lengths of their own decide what is computed: the rule does.
  problem.seqKv = 64, problem.lists.usedKv = true;
  EXPECT_THAT(registry->choose(problem, "gfx950")->explain(problem), ::testing::Not(HasSubstr("expected")));
}

TEST(Kernels, TheLowestPriorityServesWhereNothingPays) {
  Result<KernelRegistry> registry = parse(entryText("a", 2, "0") + "," + entryText("b", 1, "0"));
  ASSERT_TRUE(registry.ok());
  EXPECT_EQ((*registry->select({}, "gfx950"))->name, "b");
}

TEST(Kernels, ExplanationsNameTheRuleOfEveryKernel) {
  KernelRegistry registry = two();
  ForwardProblem problem;
  problem.seqKv = 100;
  Result<KernelChoice> choice = registry.choose(problem, "gfx950");
  ASSERT_TRUE(choice.ok());
  std::string text = choice->explain(problem);
  EXPECT_THAT(text, HasSubstr("    fast  takes it, but does not pay: seq_kv >= 512 does not hold\n"));
  EXPECT_THAT(text, HasSubstr("  * slow  chosen: of those that pay"));
  choice = registry.choose(problem, "gfx942");
  ASSERT_TRUE(choice.ok());
  EXPECT_THAT(choice->explain(problem), HasSubstr("    (and 2 for other types, another chip, or another number of slices)\n"));
}

TEST(Kernels, ARefusalIsOneLineWithProblemRuleAndNearestProblem) {
  ForwardProblem problem;
  problem.dtype = ElementType::F16;
  problem.headDim = problem.headDimV = 96;
  problem.seqQ = 10;
  Result<const KernelEntry *> entry = two().select(problem, "gfx950");
  ASSERT_FALSE(entry.ok());
  EXPECT_EQ(entry.error().kind, ErrorKind::Unsupported);
  EXPECT_EQ(entry.error().message,
            "no kernel takes the problem 'fp16 B1 H1 Sq10 Skv1 D96 bshd' on gfx950: dtype is fp16, "
            "this kernel takes bf16; head-dim is 96, this kernel takes 128; the nearest supported "
            "problem is 'bf16 B1 H1 Sq10 Skv1 D128 bshd'");
}

TEST(Kernels, AMalformedProblemIsRefusedWithItsField) {
  ForwardProblem problem;
  problem.heads = 6;
  problem.kvHeads = 4;
  Result<const KernelEntry *> entry = two().select(problem, "gfx950");
  ASSERT_FALSE(entry.ok());
  EXPECT_EQ(entry.error().kind, ErrorKind::InvalidInput);
  EXPECT_THAT(entry.error().message, HasSubstr("heads (6) is not a multiple of kv-heads (4)"));
  EXPECT_THAT(entry.error().message, HasSubstr("the problem is 'bf16 B1 H6/4"));
}

TEST(Kernels, AnotherArchitectureHasNoNearestProblem) {
  Result<const KernelEntry *> entry = two().select({}, "gfx942");
  ASSERT_FALSE(entry.ok());
  EXPECT_THAT(entry.error().message, HasSubstr("arch is gfx942, this kernel takes gfx950; no "
                                               "problem near it is supported there"));
}

namespace {
constexpr MaskKind kNobodysMask{.name = "nobodys", .left = 3};

struct RuleCase {
  const char *field;
  void (*spoil)(ForwardProblem &);
};
} // namespace

TEST(Kernels, EveryRuleNamesItsFieldAndHasARepair) {
  Result<KernelRegistry> registry =
      parse(entryText("a", 1, "1", R"("head_dims": [[128, 128]], "lse": [false])"));
  ASSERT_TRUE(registry.ok()) << registry.error().message;
  const KernelEntry &entry = registry->kernels().front();
  const RuleCase cases[] = {
      {"dtype", [](ForwardProblem &p) { p.dtype = ElementType::F16; }},
      {"head-dim", [](ForwardProblem &p) { p.headDim = p.headDimV = 64; }},
      {"head-dim-v", [](ForwardProblem &p) { p.headDimV = 64; }},
      {"mask", [](ForwardProblem &p) { p.visibility = Visibility(kNobodysMask); }},
      {"lse", [](ForwardProblem &p) { p.wantLse = true; }},
      {"modifications", [](ForwardProblem &p) { p.sink = true; }},
      {"seq-q", [](ForwardProblem &p) { p.seqQ = 4097; }},
      {"seq-kv", [](ForwardProblem &p) { p.seqKv = 5000; }},
      {"heads", [](ForwardProblem &p) { p.heads = 9'000'000, p.kvHeads = 3; }},
      {"scale", [](ForwardProblem &p) { p.scale = 1e300; }},
      {"the sequence stride of 'k'",
       [](ForwardProblem &p) {
         p.seqKv = 3;
         p.strides["k"] = TensorStrides{1000, 129, 128};
       }},
  };
  for (const RuleCase &item : cases) {
    ForwardProblem problem;
    item.spoil(problem);
    std::vector<BrokenRule> broken = brokenRules(entry, problem, "gfx950");
    ASSERT_EQ(broken.size(), 1u) << item.field;
    EXPECT_EQ(broken[0].field, item.field);
    EXPECT_THAT(broken[0].text, HasSubstr(item.field));
    std::optional<ForwardProblem> nearest = nearestSupported(entry, problem, "gfx950");
    ASSERT_TRUE(nearest) << item.field;
    EXPECT_TRUE(brokenRules(entry, *nearest, "gfx950").empty()) << item.field;
    EXPECT_TRUE(validate(*nearest).ok()) << item.field;
  }
}

TEST(Kernels, OptionsMultiplyVariantsAndNameThem) {
  Result<KernelRegistry> registry =
      parse(entryText("a", 1, "1", R"("head_dims": [[128, 64]], "lse": [false, true])"));
  ASSERT_TRUE(registry.ok()) << registry.error().message;
  std::vector<std::string> names;
  for (const KernelVariant &variant : registry->kernels().front().variants())
    names.push_back(registry->kernels().front().variantName(variant));
  EXPECT_EQ(names, (std::vector<std::string>{
                       "a_d128x64_bf16_none", "a_d128x64_bf16_none_lse",
                       "a_d128x64_bf16_causal", "a_d128x64_bf16_causal_lse"}));
}

TEST(Kernels, ProfilesSelectVariants) {
  Result<KernelRegistry> registry =
      parse(entryText("a", 2, "1") + "," + entryText("b", 1, "1"),
            R"({"name": "p", "summary": "s", "kernels": ["b"], "masks": ["causal"]})");
  ASSERT_TRUE(registry.ok()) << registry.error().message;
  Result<const KernelProfile *> profile = registry->findProfile("p");
  ASSERT_TRUE(profile.ok());
  unsigned count = 0;
  for (const KernelEntry &entry : registry->kernels())
    for (const KernelVariant &variant : entry.variants())
      if ((*profile)->contains(entry, variant)) {
        ++count;
        EXPECT_EQ(entry.name, "b");
        EXPECT_EQ(variant.visibility, Visibility::causal());
      }
  EXPECT_EQ(count, 2u); // with and without LSE
  EXPECT_THAT(registry->findProfile("q").error().message, HasSubstr("no profile 'q'; known are p"));
  EXPECT_THAT(registry->find("c").error().message,
              HasSubstr("no registered kernel 'c'; known are a, b"));
}

TEST(Kernels, MalformedRegistriesAreRefusedByKey) {
  EXPECT_THAT(errorOf(KernelRegistry::parse("{", "test")),
              HasSubstr("kernel registry 'test': not JSON"));
  EXPECT_THAT(errorOf(KernelRegistry::parse("[]", "test")), HasSubstr("expected object"));
  EXPECT_THAT(errorOf(KernelRegistry::parse(
                  R"({"hocket_registry": 2, "kernels": [], "profiles": []})", "test")),
              HasSubstr("version 2, this build reads version 1"));
  EXPECT_THAT(errorOf(parse(entryText("a", 1, "1", R"("head_dims": [[128, 128]], "wave": 3)"))),
              HasSubstr("unknown key at registry.kernels[0].wave"));
  EXPECT_THAT(errorOf(parse(entryText("a", 1, "1", R"("head_dims": [128])"))),
              HasSubstr("expected two integers"));
  EXPECT_THAT(errorOf(parse(entryText("a", 1, "1", R"("head_dims": [])"))),
              HasSubstr("the kernel takes no problem at all"));
  EXPECT_THAT(
      errorOf(parse(entryText("a", 1, "1", R"("head_dims": [[128, 128]], "role": "both")"))),
      HasSubstr("expected \"whole\", \"slices\" or \"combine\" at registry.kernels[0].role"));
  EXPECT_THAT(errorOf(parse(entryText("a", 1, "seq_q +"))), HasSubstr("expected an expression"));
  EXPECT_THAT(errorOf(parse(entryText("a", 1, "1", R"("head_dims": [[128, 128]], "lse": [0])"))),
              HasSubstr("expected true or false at registry.kernels[0].lse[0]"));
  EXPECT_THAT(errorOf(parse(entryText("a", 1, "1", R"("head_dims": [[128, 128]], "lse": true)"))),
              HasSubstr("expected a list at registry.kernels[0].lse"));
  EXPECT_THAT(errorOf(parse(entryText("a", 1, "1", R"("head_dims": [[128, 128]], "lse": [])"))),
              HasSubstr("one of its lists is empty"));
  EXPECT_THAT(errorOf(parse(entryText("a b", 1, "1"))),
              HasSubstr("expected letters, digits and underscores"));
  EXPECT_THAT(errorOf(parse(entryText("a", 1, "1") + "," + entryText("b", 1, "1"))),
              HasSubstr("kernels 'a' and 'b' have the same priority, 1"));
  EXPECT_THAT(errorOf(parse(entryText("a", 1, "1") + "," + entryText("a", 2, "1"))),
              HasSubstr("two kernels are called 'a'"));
  EXPECT_THAT(
      errorOf(parse(entryText("a", 1, "1"), R"({"name": "p", "summary": "s", "kernels": ["z"]})")),
      HasSubstr("profile 'p': no registered kernel 'z'"));
  EXPECT_THAT(
      errorOf(parse(entryText("a", 1, "1"), R"({"name": "p", "summary": "s", "masks": ["full"]})")),
      HasSubstr("registry.profiles[0].masks[0]"));
}

/// What is said of a kernel with one cost, of `head` and `more`.
static std::string errorOfCost(const std::string &more, const std::string &head = R"("arch": "gfx950", "rows": 1, "resident": 1,)") {
  return errorOf(parseTimed(entryText("a", 1, "1", R"("head_dims": [[128, 128]])"),
                            R"("a": [{"head_dims": [128, 128], "keys": 64, )" + head + more + "}]"));
}

TEST(Kernels, MalformedCostsAreErrorsThatNameTheKey) {
  const std::string curves = R"("alone": [1, 2], "shared": [1, 2])";
  EXPECT_EQ(errorOfCost(curves), "no error");
  EXPECT_THAT(errorOfCost(curves, R"("arch": "gfx950", "rows": 0, "resident": 1,)"),
              HasSubstr("rows, keys and resident must be at least 1 at costs.kernels.a[0]"));
  EXPECT_THAT(errorOfCost(curves, R"("arch": "gfx942", "rows": 1, "resident": 1,)"),
              HasSubstr("expected one of the kernel's at costs.kernels.a[0].arch"));
  EXPECT_THAT(errorOfCost(R"("alone": [1], "shared": [1, 2])"),
              HasSubstr("alone, and shared where several are resident, have the cycles for 2 to 32 numbers of tiles"));
  EXPECT_THAT(errorOfCost(curves + R"(, "skew": [0.1, 1])"), HasSubstr("skew must be at least 0 and less than 1"));
  EXPECT_THAT(errorOfCost(curves + R"(, "tiles": [1, 2, 3])"), HasSubstr("have as many numbers"));
  EXPECT_THAT(errorOfCost(curves + R"(, "alone_later": [1])"), HasSubstr("have as many numbers"));
  EXPECT_THAT(errorOfCost(curves + R"(, "tiles": [2, 2])"), HasSubstr("tiles must be at least 0, and ascend"));
  EXPECT_THAT(errorOfCost(curves + R"(, "tiles": [-1, 2])"), HasSubstr("tiles must be at least 0, and ascend"));
  EXPECT_THAT(errorOfCost(curves + R"(, "part_tile": {"alone": [1], "shared": [1, 2]})"),
              HasSubstr("few_rows has 8 or 12 numbers of each kind"));
  EXPECT_THAT(errorOfCost(curves + R"(, "few_rows": {"alone": [1, 2], "shared": [1, 2]})"),
              HasSubstr("few_rows has 8 or 12 numbers of each kind"));
  EXPECT_EQ(errorOfCost(curves + R"(, "varied": {"memory.bytes=24": 1.2})"), "no error");
  for (const char *varied : {"{\"memory.bytes=24\": 0}", "{\"memory.bytes\": 1.2}"})
    EXPECT_THAT(errorOfCost(curves + ", \"varied\": " + varied),
                HasSubstr("expected numbers above 0 for variations of the cycle model"))
        << varied;
  EXPECT_THAT(errorOfCost(curves + R"(, "cold": 3)"), HasSubstr("unknown key at costs.kernels.a[0].cold"));
  EXPECT_EQ(errorOf(parseTimed(entryText("a", 1, "1"), R"("b": [])")), "kernel costs 'test': no registered kernel 'b'");
  KernelRegistry registry = two();
  EXPECT_THAT(registry.addCosts("[", "t").error().message, HasSubstr("kernel costs 't': not JSON"));
  EXPECT_THAT(registry.addCosts("[]", "t").error().message, HasSubstr("expected object"));
  EXPECT_THAT(registry.addCosts(R"({"hocket_costs": 2, "kernels": {}})", "t").error().message,
              HasSubstr("version 2, this build reads version 1"));
  EXPECT_THAT(registry.addCosts(R"({"hocket_costs": 1, "kernels": []})", "t").error().message,
              HasSubstr("expected an object at costs.kernels"));
}

TEST(Kernels, AnExpressionThatCannotBeEvaluatedIsAnErrorThatNamesTheKernel) {
  Result<KernelRegistry> registry = parse(entryText("a", 1, "window > 0"));
  ASSERT_TRUE(registry.ok());
  Result<const KernelEntry *> entry = registry->select({}, "gfx950");
  ASSERT_FALSE(entry.ok());
  EXPECT_THAT(entry.error().message, HasSubstr("registered kernel 'a': \"pays\": "));
}

/// 512 workgroups on 256 units, two on each: 16 tiles beside 8 in the order of their weight, 16 beside 2 in pairs.
TEST(Kernels, PairedBlocksAreExpectedToTakeLessThanHeavyOnesFirst) {
  const std::string costs = R"([{"arch": "gfx950", "head_dims": [128, 128], "causal": true, "rows": 128, "keys": 64,
      "resident": 2, "alone": [3000, 5000, 9000], "shared": [4000, 7000, 13000]}])";
  auto entry = [](const std::string &name, int priority, const std::string &order) {
    std::string text = entryText(name, priority, "1");
    size_t at = text.find("linear");
    return text.replace(at, std::string("linear").size(), order);
  };
  Result<KernelRegistry> registry = parseTimed(entry("heavy", 1, "heavy_first") + "," + entry("pairs", 0, "paired"),
                                               "\"heavy\": " + costs + ", \"pairs\": " + costs);
  ASSERT_TRUE(registry.ok()) << registry.error().message;
  ForwardProblem problem;
  problem.heads = problem.kvHeads = 64;
  problem.seqQ = problem.seqKv = 1024;
  problem.headDim = problem.headDimV = 128;
  problem.visibility = Visibility::causal();
  problem.tuning.numSplits = 1;
  Result<KernelChoice> choice = registry->choose(problem, "gfx950", 256);
  ASSERT_TRUE(choice.ok()) << choice.error().message;
  ASSERT_EQ(choice->candidates.size(), 2u);
  ASSERT_TRUE(choice->candidates[0].microseconds && choice->candidates[1].microseconds);
  EXPECT_LT(*choice->candidates[1].microseconds, 0.97 * *choice->candidates[0].microseconds);
  EXPECT_EQ(choice->kernel->name, "pairs");
}

static ForwardProblem plainProblem(int64_t heads, int64_t seqQ, int64_t seqKv) {
  ForwardProblem problem;
  problem.heads = problem.kvHeads = heads;
  problem.seqQ = seqQ;
  problem.seqKv = seqKv;
  problem.headDim = problem.headDimV = 128;
  problem.tuning.numSplits = 1;
  return problem;
}

/// The kernel that is chosen of `fast`, which takes 1.3 times as long where memory brings less, and `steady`, which
/// never does and takes `cycles` where the other takes 100,000.
static std::string chosenBeside(int cycles, const std::string &varied) {
  auto cost = [](int each, const std::string &more) {
    return R"([{"arch": "gfx950", "head_dims": [128, 128], "rows": 128, "keys": 64, "resident": 1, "tiles": [1, 2],
        "alone": [)" + std::to_string(each) + ", " + std::to_string(2 * each) + "]" + more + "}]";
  };
  Result<KernelRegistry> registry =
      parseTimed(entryText("fast", 1, "1") + "," + entryText("steady", 0, "1"),
                 "\"fast\": " + cost(100000, varied) + ", \"steady\": " + cost(cycles, ""));
  EXPECT_TRUE(registry.ok()) << registry.error().message;
  Result<KernelChoice> choice = registry->choose(plainProblem(256, 128, 4096), "gfx950", 256);
  EXPECT_TRUE(choice.ok()) << choice.error().message;
  return choice->kernel->name;
}

TEST(Kernels, ARobustKernelIsChosenWhereItIsNearTheFastest) {
  const std::string doubtful = R"(, "varied": {"memory.bytes=24": 1.3})";
  EXPECT_EQ(chosenBeside(102000, doubtful), "steady");
  EXPECT_EQ(chosenBeside(102000, ""), "fast");
  EXPECT_EQ(chosenBeside(102000, R"(, "varied": {"memory.bytes=24": 1.05})"), "fast");
  EXPECT_EQ(chosenBeside(110000, doubtful), "fast") << "robustness may cost 4 %, not 10";
}

/// What the estimate of one kernel with these costs is, of bf16 with heads of 128.
static double expectedOf(const std::string &costs, const ForwardProblem &problem) {
  Result<KernelRegistry> registry = parseTimed(entryText("a", 1, "1"), R"("a": [{"arch": "gfx950",
      "head_dims": [128, 128], "rows": 128, "keys": 64, )" + costs + "}]");
  EXPECT_TRUE(registry.ok()) << registry.error().message;
  Result<KernelChoice> choice = registry->choose(problem, "gfx950", 256);
  EXPECT_TRUE(choice.ok()) << choice.error().message;
  return choice->candidates[0].microseconds.value_or(0);
}

/// Four heads of two blocks: of eight XCDs some get the heavy blocks alone, some the light ones.
TEST(Kernels, XcdsThatGetOtherBlocksAreLookedAtToo) {
  ForwardProblem problem = plainProblem(4, 256, 1024);
  problem.visibility = Visibility::causal();
  const std::string costs = R"("resident": 1, "alone": [10000, 20000, 40000])";
  const double heavy = expectedOf(costs, plainProblem(4, 128, 1024));
  EXPECT_DOUBLE_EQ(expectedOf(costs, problem), heavy);
  // The light block comes behind the heavy one, or, with the order reversed, before it: the first XCD is not enough.
  problem.batch = 2;
  EXPECT_DOUBLE_EQ(expectedOf(costs, problem), heavy);
}

TEST(Kernels, FewRowsAndKeysAreExpectedToTakeLess) {
  const std::string costs = R"("resident": 1, "alone": [20000, 24000],
      "few_rows": {"alone": [8000, 6000, 4000, 2000, 8000, 6000, 4000, 2000]},
      "part_tile": {"alone": [-3000, -3000, 0, 0, -3000, -3000, 0, 0, -1000, -1000, 0, 0]})";
  const double whole = expectedOf(costs, plainProblem(8, 128, 64));
  EXPECT_LT(expectedOf(costs, plainProblem(8, 40, 64)), whole - 2);
  EXPECT_LT(expectedOf(costs, plainProblem(8, 128, 20)), whole - 1);
}
