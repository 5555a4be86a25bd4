// Running and judging a kernel, with a device of the test's own: it computes attention on the host,
// rightly or with one fault at a time, so that every check of `runForward` is seen to fire.
#include "Verify/Attention/RunForward.h"

#include "llvm/Support/JSON.h"
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

using namespace hocket;
using namespace hocket::attention;
using runtime::DeviceAddress;

namespace {
enum class Fault {
  None,
  WrongScale,
  SkipsARow,
  WritesNan,
  WritesBehindO,
  WritesInFrontOfO,
  WritesBetweenRows,
  ChangesAnInput,
  DependsOnTheSeed,
  FailsToRun,
  WritesBehindTheWorkspace,
};

struct FakeKernel final : runtime::Kernel {
  explicit FakeKernel(runtime::KernelInfo info) : kernelInfo(std::move(info)) {}
  const runtime::KernelInfo &info() const override { return kernelInfo; }
  runtime::KernelInfo kernelInfo;
};

struct FakeModule final : runtime::Module {
  std::vector<std::string> kernelNames() const override { return {"attention"}; }
  Result<std::shared_ptr<runtime::Kernel>> kernel(std::string_view name) override {
    if (name != "attention")
      return notFound("no kernel '" + std::string(name) + "'");
    runtime::KernelInfo info;
    info.name = "attention";
    info.kernargSize = 48;
    for (uint32_t i = 0; i != 6; ++i)
      info.arguments.push_back({"", "global_buffer", 8 * i, 8});
    return std::shared_ptr<runtime::Kernel>(std::make_shared<FakeKernel>(info));
  }
};

/// Sparse memory of pages, and a launch that is the reference computation with `fault`.
class FakeDevice final : public runtime::Device {
public:
  FakeDevice(const ForwardProblem &problem, Fault fault) : problem(problem), fault(fault) {
    deviceProperties.name = "fake";
    deviceProperties.architecture = "gfx950";
  }
  std::string_view kind() const override { return "sim"; }
  const runtime::DeviceProperties &properties() const override { return deviceProperties; }
  Result<DeviceAddress> allocate(uint64_t bytes, uint64_t alignment, std::string_view) override {
    DeviceAddress address = next;
    next += (bytes + 4096 + alignment) / alignment * alignment;
    live[address] = bytes;
    return address;
  }
  Status free(DeviceAddress address) override {
    return live.erase(address) ? Status::success() : Status(invalidInput("double free"));
  }
  Status copyToDevice(DeviceAddress to, std::span<const std::byte> from) override {
    for (size_t i = 0; i != from.size(); ++i)
      at(to + i) = from[i];
    return Status::success();
  }
  Status copyFromDevice(std::span<std::byte> to, DeviceAddress from) override {
    for (size_t i = 0; i != to.size(); ++i)
      to[i] = at(from + i);
    return Status::success();
  }
  Status fill(DeviceAddress, uint8_t, uint64_t) override { return Status::success(); }
  Result<std::shared_ptr<runtime::Module>> loadModule(std::span<const std::byte>,
                                                      std::string_view) override {
    return std::shared_ptr<runtime::Module>(std::make_shared<FakeModule>());
  }
  Result<runtime::LaunchReport> launch(runtime::Kernel &, const runtime::LaunchShape &,
                                       std::span<const std::byte> kernarg) override;
  Status synchronize() override { return Status::success(); }
  void setSimulationOptions(const runtime::SimulationOptions &options) override {
    seed = options.seed;
  }
  size_t liveAllocations() const { return live.size(); }

private:
  std::byte &at(DeviceAddress address) {
    std::vector<std::byte> &page = pages[address >> 12];
    page.resize(4096);
    return page[address & 4095];
  }
  template <typename T> void store(DeviceAddress address, T value) {
    (void)copyToDevice(address, std::as_bytes(std::span(&value, 1))).ok();
  }
  verify::TypedArray gather(const char *name, DeviceAddress base);
  void applyFault(const uint64_t (&pointers)[6]);

  ForwardProblem problem;
  Fault fault;
  uint64_t seed = 0;
  runtime::DeviceProperties deviceProperties;
  DeviceAddress next = 1 << 20;
  std::map<DeviceAddress, uint64_t> live;
  std::map<uint64_t, std::vector<std::byte>> pages;
};
} // namespace

static uint64_t offsetOf(const ForwardProblem &problem, const char *name, int64_t row) {
  manifest::TensorSpec tensor = problem.tensor(name);
  int64_t heads = tensor.dimensions[1].extent, sequence = tensor.dimensions[2].extent;
  TensorStrides strides = stridesOf(tensor);
  int64_t group = row / sequence;
  return 2 * (group / heads * strides.batch + group % heads * strides.head +
              row % sequence * strides.sequence);
}

verify::TypedArray FakeDevice::gather(const char *name, DeviceAddress base) {
  manifest::TensorSpec tensor = problem.tensor(name);
  verify::TypedArray dense(tensor.type, size_t(tensor.elements()));
  for (int64_t row = 0; row != tensor.rows(); ++row)
    (void)copyFromDevice(dense.bytes().subspan(row * tensor.rowBytes(), tensor.rowBytes()),
                         base + offsetOf(problem, name, row))
        .ok();
  return dense;
}

void FakeDevice::applyFault(const uint64_t (&pointers)[6]) {
  uint64_t o = pointers[3];
  switch (fault) {
  case Fault::WritesNan:
    return store<uint16_t>(o + offsetOf(problem, "o", 5), 0x7fc0);
  case Fault::WritesBehindO:
    return store<uint16_t>(o + problem.tensor("o").spanBytes() + 100, 0);
  case Fault::WritesInFrontOfO:
    return store<uint16_t>(o - 2, 0);
  case Fault::WritesBetweenRows:
    return store<uint16_t>(o + offsetOf(problem, "o", 5) + 2 * problem.valueHeadDim(), 0);
  case Fault::ChangesAnInput:
    return store<uint16_t>(pointers[1] + 64, 0x1234);
  case Fault::DependsOnTheSeed:
    // Within the tolerance, but not the same bits.
    return store<uint16_t>(o, static_cast<uint16_t>(gather("o", o).bits(0) ^ (seed & 1)));
  case Fault::WritesBehindTheWorkspace:
    return store<uint16_t>(pointers[5] + 100, 0);
  default:
    return;
  }
}

Result<runtime::LaunchReport> FakeDevice::launch(runtime::Kernel &, const runtime::LaunchShape &,
                                                 std::span<const std::byte> kernarg) {
  if (fault == Fault::FailsToRun)
    return executionError("kernel 'attention' hangs");
  uint64_t pointers[6];
  std::memcpy(pointers, kernarg.data(), sizeof(pointers));
  ForwardInputs inputs{gather("q", pointers[0]), gather("k", pointers[1]),
                       gather("v", pointers[2])};
  ForwardProblem computed = problem;
  if (fault == Fault::WrongScale)
    computed.scale = 1.05 * problem.effectiveScale();
  ForwardReference result = computeReference(computed, inputs, chooseRows(problem, 1 << 20, 0), 1);
  for (size_t row = 0; row != result.rows.size(); ++row) {
    if (fault == Fault::SkipsARow && row == 7)
      continue;
    for (int64_t d = 0; d != problem.valueHeadDim(); ++d)
      store(pointers[3] + offsetOf(problem, "o", row) + 2 * d,
            static_cast<uint16_t>(encode(problem.dtype.o, result.o[row * problem.valueHeadDim() + d])));
    if (problem.wantLse)
      store(pointers[4] + 4 * row, static_cast<float>(result.lse[row]));
  }
  applyFault(pointers);
  return runtime::LaunchReport{1e-3, 1234, 5, {}, {}, {}};
}

static manifest::Manifest makeManifest() {
  manifest::Manifest manifest;
  manifest.kernel = "attention";
  manifest.target = "gfx950";
  manifest.kernargSize = 48;
  manifest.workspace = *manifest::Expression::parse("50 * 2");
  const char *names[] = {"q", "k", "v", "o", "lse", "workspace"};
  for (uint32_t i = 0; i != 6; ++i)
    manifest.arguments.push_back({names[i], 8 * i, manifest::ArgumentType::Pointer,
                                  *manifest::Expression::parse(names[i]), i < 4 ? 16u : 1u});
  return manifest;
}

static ForwardProblem makeProblem() {
  ForwardProblem problem;
  problem.heads = 2;
  problem.seqQ = 20;
  problem.seqKv = 30;
  problem.wantLse = true;
  return problem;
}

static Result<ForwardReport> run(Fault fault, const ForwardProblem &problem = makeProblem(),
                                 const manifest::Manifest &manifest = makeManifest()) {
  FakeDevice device(problem, fault);
  ForwardOptions options;
  options.interleavings = 2;
  Result<ForwardReport> report = runForward(device, {}, manifest, problem, options);
  EXPECT_EQ(device.liveAllocations(), 0u) << "memory is given back";
  return report;
}

static std::string failuresOf(Fault fault, const ForwardProblem &problem = makeProblem()) {
  Result<ForwardReport> report = run(fault, problem);
  if (!report.ok())
    return "error: " + report.error().message;
  std::string text;
  for (const std::string &failure : report->failures)
    text += failure + "\n";
  return text;
}

TEST(RunForward, PassesARightKernel) {
  Result<ForwardReport> report = run(Fault::None);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_THAT(report->failures, testing::IsEmpty());
  EXPECT_TRUE(report->verified);
  EXPECT_EQ(report->launches.size(), 2u);
  EXPECT_EQ(report->errors.rowsChecked, 40);
  EXPECT_EQ(report->workspaceBytes, 100u);
}

TEST(RunForward, PassesInEveryLayout) {
  ForwardProblem problem = makeProblem();
  problem.batch = 2;
  problem.layout = Layout::BHSD;
  EXPECT_EQ(failuresOf(Fault::None, problem), "");
  problem.strides["o"] = TensorStrides{int64_t(1) << 32, 1000, 140}; // far apart, with holes
  problem.strides["k"] = TensorStrides{0, 128, 0};                   // broadcast
  EXPECT_EQ(failuresOf(Fault::None, problem), "");
  problem.visibility = Visibility::causal();
  problem.seqKv = 5;
  EXPECT_EQ(failuresOf(Fault::None, problem), "");
}

TEST(RunForward, FindsEveryFault) {
  EXPECT_THAT(failuresOf(Fault::WrongScale),
              testing::HasSubstr("relative error of the whole tensor"));
  EXPECT_THAT(failuresOf(Fault::SkipsARow),
              testing::HasSubstr("129 output elements were not written"));
  EXPECT_THAT(failuresOf(Fault::WritesNan), testing::HasSubstr("1 output elements are NaN"));
  EXPECT_THAT(
      failuresOf(Fault::WritesBehindO),
      testing::HasSubstr("2 bytes around tensor 'o' were written (interleaving seed 0), the "
                         "first 100 bytes behind its end"));
  EXPECT_THAT(failuresOf(Fault::WritesInFrontOfO),
              testing::HasSubstr("the first 2 bytes in front of it"));
  EXPECT_THAT(failuresOf(Fault::ChangesAnInput),
              testing::HasSubstr("input tensor 'k' was overwritten"));
  EXPECT_THAT(failuresOf(Fault::DependsOnTheSeed),
              testing::HasSubstr("interleaving seed 1 gives another result than seed 0"));
  EXPECT_THAT(failuresOf(Fault::WritesBehindTheWorkspace),
              testing::HasSubstr("bytes around tensor 'workspace' were written"));
  EXPECT_EQ(failuresOf(Fault::FailsToRun), "error: kernel 'attention' hangs (interleaving seed 0)");
  ForwardProblem strided = makeProblem();
  strided.strides["o"] = TensorStrides{0, 200, 8000};
  EXPECT_THAT(failuresOf(Fault::WritesBetweenRows, strided), testing::HasSubstr(", between rows"));
}

TEST(RunForward, RefusesBeforeItRuns) {
  ForwardProblem problem = makeProblem();
  problem.seqQ = 0;
  EXPECT_EQ(failuresOf(Fault::None, problem), "error: seq-q is 0, it must be at least 1");

  manifest::Manifest manifest = makeManifest();
  manifest.target = "gfx942";
  Result<ForwardReport> report = run(Fault::None, makeProblem(), manifest);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().message,
            "manifest of kernel 'attention' is for gfx942, device 'fake' is a "
            "gfx950; compile for that target");
  manifest = makeManifest();
  manifest.requirements.push_back({*manifest::Expression::parse("causal == 1"), "only causal"});
  report = run(Fault::None, makeProblem(), manifest);
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.error().message,
              testing::HasSubstr("does not take this problem: only causal"));
  manifest = makeManifest();
  manifest.arguments.pop_back();
  report = run(Fault::None, makeProblem(), manifest);
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.error().message, testing::HasSubstr("at offset 40 of kernel 'attention'"));
  manifest = makeManifest();
  manifest.arguments[0].value = *manifest::Expression::parse("q + 2");
  report = run(Fault::None, makeProblem(), manifest);
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.error().message, testing::HasSubstr("which is not a multiple of 16"));
}

TEST(RunForward, WritesJsonAndText) {
  Result<ForwardReport> report = run(Fault::WritesNan);
  ASSERT_TRUE(report.ok());
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(toJson(*report));
  ASSERT_TRUE(static_cast<bool>(json)) << llvm::toString(json.takeError());
  const llvm::json::Object &root = *json->getAsObject();
  EXPECT_EQ(root.getBoolean("passed"), false);
  EXPECT_EQ(root.getObject("problem")->getInteger("seq_q"), 20);
  EXPECT_EQ(root.getArray("launches")->size(), 2u);
  EXPECT_EQ(root.getObject("errors")->getInteger("nan_elements"), 1);
  EXPECT_THAT(toText(*report), testing::HasSubstr("result        WRONG"));
  EXPECT_THAT(toText(*report), testing::HasSubstr("bf16 B1 H2/1 Sq20 Skv30 D128 bshd"));
}
