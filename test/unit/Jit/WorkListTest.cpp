// Lists of work: made on the host and by a kernel, whole and in slices, over all kinds of sequences.
//
// HOCKET_RANDOM_WORK=N draws more problems than the suite does, HOCKET_TEST_SEED=N others.
#include "FindingsOnZeros.h"

#include "../Kernels/Draw.h"
#include "../Kernels/DrawSequences.h"
#include "Reference/ScoreInterpreter.h"
#include "Verify/Attention/RunForward.h"
#include "hocket/Attention/ForwardPlan.h"
#include "hocket/Attention/LaunchesInFront.h"
#include "hocket/Jit/Jit.h"
#include "hocket/Pipelines/ForwardKernel.h"
#include "hocket/Pipelines/Modifications.h"
#include "hocket/Simulator/RuntimeDevice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <queue>

using namespace hocket;
using namespace hocket::attention;
using testing::HasSubstr;

static constexpr uint64_t kDefaultCount = 8, kDefaultSeed = 20261123;

/// What asks for the heads, the queries and the keys of rows, each differently.
static void modify(ForwardProblem &problem, Draw &draw) {
  problem.sink = draw.oneIn(4);
  if (draw.oneIn(4)) {
    problem.numbers["soft_cap"] = 30;
    problem.modifications.push_back(*shippedModification("soft_cap"));
  }
  if (draw.oneIn(5))
    problem.modifications.push_back(*shippedModification("alibi"));
  if (draw.oneIn(5))
    problem.modifications.push_back(
        *shippedModification(problem.dtype == ElementType::BF16 ? "bias_bf16" : "bias_fp16"));
  if (draw.oneIn(5))
    problem.modifications.push_back(*shippedModification("documents"));
}

static ForwardProblem drawProblem(Draw &draw) {
  ForwardProblem problem;
  problem.dtype = draw.of({ElementType::BF16, ElementType::F16});
  problem.batch = draw.between(1, 6);
  problem.kvHeads = draw.between(1, 3);
  problem.heads = problem.kvHeads * draw.of<int64_t>({1, 2, 3, 5, 8, 40});
  problem.headDim = problem.headDimV = draw.of<int64_t>({64, 128, 128});
  problem.seqQ = draw.oneIn(2) ? draw.between(1, 6) : draw.between(1, 400);
  problem.seqKv = draw.between(1, 900);
  problem.layout = draw.of({Layout::BSHD, Layout::BHSD});
  problem.wantLse = draw.oneIn(2);
  if (draw.oneIn(2))
    problem.visibility = Visibility::causal();
  if (!draw.oneIn(6))
    addSequences(problem, draw);
  if (problem.lists.any() && draw.oneIn(3))
    addPages(problem, draw);
  problem.work.slices = draw.oneIn(2);
  modify(problem, draw);
  problem.workSlots = draw.of<int64_t>({1, 3, 8, 40, 256});
  problem.work.list = draw.of({WorkLists::Given, WorkLists::Made});
  if (problem.work.list == WorkLists::Given)
    problem.known.lists["work_list"] = makeWorkList(problem);
  return problem;
}

TEST(WorkLists, AreFollowed) {
  uint64_t count = fromEnvironment("HOCKET_RANDOM_WORK", kDefaultCount);
  uint64_t first = fromEnvironment("HOCKET_TEST_SEED", kDefaultSeed);
  for (uint64_t seed = first; seed != first + count; ++seed) {
    Draw draw(seed);
    ForwardProblem problem = drawProblem(draw);
    SCOPED_TRACE("HOCKET_TEST_SEED=" + std::to_string(seed) + ": " + problem.describe());
    jit::PlannerOptions chip;
    chip.architecture = draw.of<std::string>({"gfx950", "gfx950", "gfx942"});
    auto planner = jit::makePlanner(chip);
    ASSERT_TRUE(planner.ok()) << planner.error().message;
    auto plan = (*planner)->plan(problem);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_EQ((*plan)->launches().size(), 1u + (problem.work.list == WorkLists::Made) + problem.work.slices);
    ForwardOptions options;
    options.check = true;
    options.seed = seed;
    options.interleavings = interleavingsWanted();
    options.scoreRules = reference::interpretModifications;
    auto device = sim::createDevice(nullptr, chip.architecture);
    auto report = runForward(*device, (*plan)->launches(), (*plan)->problem(), options);
    ASSERT_TRUE(report.ok()) << report.error().message;
    ASSERT_TRUE(report->passed()) << toText(*report);
  }
}

/// What a kernel of four waves computes.
static ForwardOutputs outputsOf(const ForwardProblem &problem) {
  CompileOptions compile;
  compile.schedule = "double_buffer";
  compile.waves = 4;
  auto kernel = compileForward(problem, compile);
  EXPECT_TRUE(kernel.ok()) << kernel.error().message;
  ForwardOutputs outputs;
  if (!kernel.ok())
    return outputs;
  ForwardOptions options;
  options.save = [&](const ForwardInputs &, const ForwardOutputs &found) {
    outputs = found;
    return Status::success();
  };
  auto device = sim::createDevice();
  auto report = runForward(*device, std::as_bytes(std::span(kernel->codeObject)), kernel->manifest, problem, options);
  EXPECT_TRUE(report.ok()) << report.error().message;
  return outputs;
}

static ForwardProblem unevenProblem() {
  ForwardProblem problem;
  problem.batch = 5;
  problem.heads = 6, problem.kvHeads = 2;
  problem.seqQ = 300, problem.seqKv = 500;
  problem.visibility = Visibility::causal();
  problem.wantLse = true;
  problem.lists.packedQ = problem.lists.usedKv = true;
  problem.totalQ = 432;
  problem.known.lists = {{"cu_seqlens_q", {0, 300, 300, 301, 304, 432}}, {"seqused_k", {300, 40, 500, 77, 450}}};
  problem.work.list = WorkLists::Given;
  problem.known.lists["work_list"] = makeWorkList(problem);
  return problem;
}

TEST(WorkLists, GiveWhatIsComputedWithoutToTheBit) {
  ForwardProblem listed = unevenProblem(), plain = listed;
  plain.work = {};
  plain.known.lists.erase("work_list");
  ForwardOutputs a = outputsOf(listed), b = outputsOf(plain);
  ASSERT_FALSE(a.o.empty());
  EXPECT_EQ(a.o, b.o);
  ASSERT_EQ(a.lse.size(), b.lse.size());
  EXPECT_EQ(0, std::memcmp(a.lse.data(), b.lse.data(), a.lse.size() * sizeof(float)));
}

/// What takes so many of the list's units: tiles, and five for each entry.
struct Measured {
  double end = 0;   ///< when the last of the slots is done that take entries in the list's order
  double mean = 0;  ///< of what all slots take
  double uncut = 0; ///< of what they took if nothing were cut
  int64_t parts = 0;
  double imbalance() const { return end / mean; }
  double ofUncut() const { return end / uncut; }
};

/// How many of an entry's `tiles` are its slice's.
static int64_t tilesOfSlice(int64_t tiles, const int32_t *fields) {
  int64_t cut = fields[kWorkCut], parts = cut / kWorkParts;
  if (cut == 0)
    return tiles;
  auto before = [&](int64_t part) { return std::clamp<int64_t>(part, 0, parts) * tiles / parts; };
  int64_t end = cut % kWorkParts + 1 + std::max(fields[kWorkSlice], 0) * kWorkParts;
  return before(end) - before(end - kWorkParts);
}

static Measured measure(const ForwardProblem &problem) {
  std::vector<int32_t> list = makeWorkList(problem);
  std::priority_queue<double, std::vector<double>, std::greater<>> slots;
  for (int64_t i = 0; i != problem.workSlots; ++i)
    slots.push(0);
  Measured found;
  found.parts = list[kWorkSliceCount];
  double part = 1 / double(problem.workSlots);
  for (int32_t turn = 0; turn != list[kWorkCount]; ++turn) {
    int32_t entry = list[(turn + 1) * kWorkFields + kWorkEntry];
    const int32_t *fields = &list[(entry + 1) * kWorkFields];
    Lengths lengths = problem.lengthsOf(fields[kWorkSequence]);
    int64_t keys = lengths.kv;
    if (problem.visibility.laterRowsSeeMore()) {
      int64_t parts = (problem.heads / problem.kvHeads + kWorkHeadsOfPart - 1) / kWorkHeadsOfPart;
      int64_t ofGroup = (fields[kWorkRow] + kWorkQueries + parts - 1) / parts;
      int64_t behind = fields[kWorkHead] < 0 ? ofGroup : fields[kWorkRow] + kWorkRows;
      keys = std::clamp<int64_t>(std::min(behind, lengths.q) + keys - lengths.q, 0, keys);
    }
    double tiles = double(tilesOfSlice((keys + 63) / 64, fields)), takes = tiles + 5;
    for (int64_t head = 0; head != problem.kvHeads; ++head) {
      double done = slots.top() + takes;
      slots.pop();
      slots.push(done);
      found.mean += takes * part, found.end = std::max(found.end, done);
      found.uncut += (tiles + (fields[kWorkSlice] <= 0 ? 5.0 : 0.0)) * part;
    }
  }
  return found;
}

/// Sequences with these numbers of queries and keys, packed, of 64 heads on `kvHeads`.
static ForwardProblem listed(const std::vector<std::pair<int64_t, int64_t>> &sequences, int64_t kvHeads,
                             int64_t slots) {
  ForwardProblem problem;
  problem.batch = static_cast<int64_t>(sequences.size());
  problem.heads = 64, problem.kvHeads = kvHeads;
  problem.visibility = Visibility::causal();
  problem.lists.packedQ = problem.lists.usedKv = true;
  std::vector<int32_t> starts = {0}, used;
  for (auto [queries, keys] : sequences) {
    starts.push_back(starts.back() + static_cast<int32_t>(queries));
    used.push_back(static_cast<int32_t>(keys));
    problem.seqQ = std::max(problem.seqQ, queries);
    problem.seqKv = std::max(problem.seqKv, keys);
  }
  problem.totalQ = starts.back();
  problem.known.lists = {{"cu_seqlens_q", starts}, {"seqused_k", used}};
  problem.work = {WorkLists::Given, /*slices=*/true};
  problem.workSlots = slots;
  return problem;
}

using Sequences = std::vector<std::pair<int64_t, int64_t>>;

// Lengths as of a server: what is longest does not decide when all ends.
TEST(WorkLists, KeepAllSlotsBusy) {
  Draw draw(7);
  double sum = 0;
  constexpr int kBatches = 60;
  for (int i = 0; i != kBatches; ++i) {
    Sequences sequences;
    int64_t count = draw.between(40, 90), prefills = draw.between(0, 8);
    for (int64_t sequence = 0; sequence != count; ++sequence) {
      int64_t prompt = draw.between(512, 4096), cached = draw.between(1024, 16384);
      sequences.emplace_back(sequence < prefills ? prompt : 1, sequence < prefills ? prompt : cached);
    }
    ForwardProblem problem = listed(sequences, 8, draw.of<int64_t>({256, 512}));
    Measured found = measure(problem);
    EXPECT_LE(found.imbalance(), 1.10) << problem.describe();
    EXPECT_LE(found.ofUncut(), 1.10) << problem.describe();
    sum += found.ofUncut();
  }
  EXPECT_LE(sum / kBatches, 1.03);
}

/// Sequences of one kind: of even lengths, of lengths as often between 64 and 128 as between 64k and 128k, all alike, one
/// that is far longer, prompts.
static Sequences drawSequences(Draw &draw) {
  Sequences sequences;
  int64_t count = draw.between(2, 96), kind = draw.between(0, 4), alike = draw.between(512, 65536);
  for (int64_t sequence = 0; sequence != count; ++sequence) {
    int64_t octave = int64_t(64) << draw.between(0, 10), queries = draw.between(64, 8192);
    int64_t keys[] = {draw.between(1, 32768), draw.between(octave, 2 * octave), alike,
                      sequence == count / 3 ? draw.between(16384, 131072) : draw.between(256, 2048), queries};
    sequences.emplace_back(kind == 4 ? queries : 1, keys[kind]);
  }
  return sequences;
}

// Of batches of all kinds hardly one waits for what comes last, by what slots get if nothing is cut, and none long.
TEST(WorkLists, EndTogether) {
  Draw draw(13);
  int batches = 0, late = 0;
  double sum = 0;
  while (batches != 400) {
    ForwardProblem problem = listed(drawSequences(draw), draw.of<int64_t>({1, 2, 4, 8}), draw.of<int64_t>({256, 512}));
    Measured found = measure(problem);
    ASSERT_LE(found.parts, mostWorkParts(problem)) << problem.describe();
    Status status = validateWorkList(problem, makeWorkList(problem));
    ASSERT_TRUE(status.ok()) << status.error().message << problem.describe();
    // Five tiles an entry are much of fewer.
    if (found.uncut < 96)
      continue;
    ++batches, late += found.ofUncut() > 1.10, sum += found.ofUncut();
    EXPECT_LE(found.ofUncut(), 1.20) << problem.describe();
  }
  EXPECT_LE(late, batches / 100);
  EXPECT_LE(sum / batches, 1.03);
}

// Numbers of sequences that fill no whole rounds, and one that is longer than all others.
TEST(WorkLists, CutWhatWouldBeWaitedFor) {
  auto endOfShare = [](const Sequences &sequences, int64_t slots) { return measure(listed(sequences, 8, slots)).ofUncut(); };
  auto alike = [](size_t count, int64_t keys) { return Sequences(count, {1, keys}); };
  EXPECT_LE(endOfShare(alike(8, 8192), 256), 1.18);
  EXPECT_LE(endOfShare(alike(32, 8192), 256), 1.001);
  EXPECT_LE(endOfShare(alike(32, 8192), 512), 1.09);
  EXPECT_LE(endOfShare(alike(38, 8192), 256), 1.06);
  Sequences one = alike(31, 1024);
  one[7].second = 65536;
  EXPECT_LE(endOfShare(one, 256), 1.12);
}

/// The list that a kernel makes of the lengths of `problem`, alone: nothing else is allocated.
static std::vector<int32_t> madeAlone(const ForwardProblem &problem) {
  DescribedKernel described = kernelsInFront(problem, "gfx950").front();
  auto compiled = compileKernel(described.text, described.name, CompileOptions());
  EXPECT_TRUE(compiled.ok()) << compiled.error().message;
  if (!compiled.ok())
    return {};
  const manifest::Manifest &manifest = compiled->manifest;
  auto device = sim::createDevice();
  std::vector<int32_t> list(static_cast<size_t>((mostWorkEntries(problem) + 1) * kWorkFields));
  manifest::Addresses addresses;
  auto place = [&](const std::string &name, std::span<const int32_t> content) {
    auto address = device->allocate(content.size_bytes(), 16, name);
    EXPECT_TRUE(address.ok() && device->copyToDevice(*address, std::as_bytes(content)).ok());
    addresses[name] = *address;
  };
  for (const auto &[name, numbers] : problem.known.lists)
    place(name, numbers);
  place("work_list", list);
  auto binding = bindLaunch(manifest, problemVariables(problem, &addresses));
  EXPECT_TRUE(binding.ok()) << binding.error().message;
  auto module = device->loadModule(std::as_bytes(std::span(compiled->codeObject)), "list");
  EXPECT_TRUE(module.ok()) << module.error().message;
  if (!binding.ok() || !module.ok())
    return {};
  auto kernel = (*module)->kernel(manifest.kernel);
  EXPECT_TRUE(kernel.ok() && device->launch(**kernel, binding->shape, binding->kernarg).ok());
  EXPECT_TRUE(device->copyFromDevice(std::as_writable_bytes(std::span(list)), addresses["work_list"]).ok());
  return list;
}

// Sequences of all kinds, more of them than a wave has lanes.
TEST(WorkLists, AreTheHosts) {
  Draw draw(17);
  for (int i = 0; i != 12; ++i) {
    Sequences sequences = drawSequences(draw), more = drawSequences(draw);
    sequences.insert(sequences.end(), more.begin(), more.end());
    ForwardProblem problem = listed(sequences, draw.of<int64_t>({1, 2, 8, 64}), draw.of<int64_t>({17, 256, 512}));
    problem.work = {WorkLists::Made, /*slices=*/!draw.oneIn(4)};
    EXPECT_EQ(madeAlone(problem), makeWorkList(problem)) << problem.describe();
  }
}

// More tiles than f32 tells apart, and than 32 bits: sequences of up to 2^24 tiles, which the kernel adds up in parts.
TEST(WorkLists, AreTheHostsBeyondWhatFloatsTellApart) {
  Draw draw(11);
  for (int i = 0; i != 3; ++i) {
    std::vector<std::pair<int64_t, int64_t>> sequences;
    int64_t tiles = 0;
    for (int64_t sequence = 0; sequence != 70; ++sequence) {
      int64_t queries = draw.oneIn(8) ? draw.between(1, 600) : 1;
      int64_t keys = draw.between(int64_t(1) << 26, int64_t(1) << 30);
      sequences.emplace_back(queries, keys);
      tiles += keys / kWorkKeys;
    }
    ASSERT_GT(tiles, int64_t(1) << 26);
    ForwardProblem problem = listed(sequences, draw.of<int64_t>({1, 2, 8}), draw.of<int64_t>({5, 256, 512}));
    problem.work.list = WorkLists::Made;
    EXPECT_EQ(madeAlone(problem), makeWorkList(problem)) << problem.describe();
  }
}

static std::string complaint(const ForwardProblem &problem) {
  Status status = validate(problem);
  return status.ok() ? "" : status.error().message;
}

TEST(WorkLists, ThatAreWrongAreRefused) {
  ForwardProblem problem = unevenProblem();
  ASSERT_EQ(complaint(problem), "");
  auto with = [&](int64_t entry, int64_t field, int32_t value) {
    ForwardProblem wrong = problem;
    wrong.known.lists["work_list"][(entry + 1) * kWorkFields + field] = value;
    return complaint(wrong);
  };
  EXPECT_THAT(with(3, kWorkSequence, 5), HasSubstr("has in entry 3 5 for a sequence, expected 0 to 4"));
  EXPECT_THAT(with(0, kWorkRow, -128), HasSubstr("for the first row of an entry"));
  EXPECT_THAT(with(0, kWorkRow, 6), HasSubstr("has in entry 0 the row 6, expected a multiple of"));
  EXPECT_THAT(with(1, kWorkHead, 3), HasSubstr("for a head of a group, or -1 for all, expected -1 to 2"));
  ForwardProblem twice = problem;
  std::vector<int32_t> &list = twice.known.lists["work_list"];
  std::copy_n(list.begin() + kWorkFields, kWorkEntry, list.begin() + 2 * kWorkFields);
  EXPECT_THAT(complaint(twice), HasSubstr("has in entry 1 rows that an entry in front of it has"));
  std::copy_n(list.begin() + kWorkFields, kWorkFields, list.begin() + 2 * kWorkFields);
  EXPECT_THAT(complaint(twice), HasSubstr("for the entry that is next in order, expected each below 14 once"));
  EXPECT_THAT(with(1, kWorkCut, -1), HasSubstr("for how the keys are cut"));
  EXPECT_THAT(with(1, kWorkCut, 2 * kWorkParts), HasSubstr("has in entry 1 2 slices; the first 0 entries are slices"));
  EXPECT_THAT(with(1, kWorkEntry, 14), HasSubstr("has in entry 1 14 for the entry that is next in order, expected each"));
  EXPECT_THAT(with(-1, kWorkCount, 1000), HasSubstr("there is room for"));
  // Without the last entry, wherever it is in order.
  ForwardProblem fewer = problem;
  std::vector<int32_t> &left = fewer.known.lists["work_list"];
  int32_t last = --left[kWorkCount];
  for (int32_t entry = 0; entry != last; ++entry)
    if (int32_t &next = left[(entry + 1) * kWorkFields + kWorkEntry]; next == last)
      next = left[(last + 1) * kWorkFields + kWorkEntry];
  EXPECT_THAT(complaint(fewer), HasSubstr("'work_list' lacks rows of sequence"));
  ForwardProblem split = problem;
  split.tuning.numSplits = 2;
  EXPECT_THAT(complaint(split), HasSubstr("leave num-splits out"));
  // A message has the problem, whatever it is.
  ForwardProblem headless = problem;
  headless.kvHeads = 0, headless.seqQ = INT64_MAX, headless.workSlots = INT64_MAX;
  headless.work = {WorkLists::Made, /*slices=*/true};
  EXPECT_THAT(complaint(headless), HasSubstr("kv-heads is 0, it must be at least 1"));
  EXPECT_THAT(headless.describe(), HasSubstr("H6/0 "));
}

/// With the problem's lengths and this list of work.
static std::string findingOf(const ForwardPlan &plan, const ForwardProblem &problem, const std::vector<int32_t> &list) {
  std::map<std::string, std::vector<int32_t>, std::less<>> lists(problem.known.lists.begin(), problem.known.lists.end());
  lists["work_list"] = list;
  return findingsOnZeros(plan, lists);
}

// What no host has seen reaches nothing outside of tensors, whatever it says, and is found.
TEST(WorkLists, OnTheDeviceReachNothingOutside) {
  ForwardProblem problem = unevenProblem();
  problem.work.slices = true;
  problem.workSlots = 64;
  problem.known.lists["seqused_k"] = {300, 40, 500, 900, 450}; // one that is cut
  problem.seqKv = 900;
  problem.known.lists["work_list"] = makeWorkList(problem);
  auto planner = jit::makePlanner({});
  ASSERT_TRUE(planner.ok()) << planner.error().message;
  auto plan = (*planner)->plan(problem);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  const std::vector<int32_t> right = problem.known.lists["work_list"];
  EXPECT_GT(right[kWorkSliceCount], 0);
  EXPECT_EQ(findingOf(**plan, problem, right), "");
  for (int64_t field = 0; field != kWorkFields; ++field)
    for (int32_t wrong : {-2, 1000000, INT32_MAX, INT32_MIN}) {
      std::vector<int32_t> list = right;
      list[kWorkFields * 2 + field] = wrong;
      // Of a first slice -2 may be true; then the slices of two entries are put together in the same place.
      bool mayBe = field == kWorkSlice && wrong == -2;
      EXPECT_THAT(findingOf(**plan, problem, list), HasSubstr(mayBe ? "global-race in kernel 'fmha_combine" : "'work_list'"))
          << field << " " << wrong;
    }
  for (int32_t wrong : {-1, INT32_MAX, INT32_MIN}) {
    std::vector<int32_t> list = right;
    list[kWorkSliceCount] = wrong;
    findingOf(**plan, problem, list);
    list[kWorkCount] = wrong;
    findingOf(**plan, problem, list);
  }
}
