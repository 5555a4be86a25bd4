// Loading of code objects and launches, on a file assembled here byte by byte from a good one.
#include "KernelFile.h"

#include "Simulator/Simulator.h"

#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::sim;
using namespace hocket::sim::test;
using testing::AllOf;
using testing::HasSubstr;

static Result<std::shared_ptr<const CodeObject>> loadBytes(const std::string &bytes) {
  return CodeObject::load(std::as_bytes(std::span(bytes)), "file.hsaco");
}

static std::string loadError(const std::string &bytes) {
  auto loaded = loadBytes(bytes);
  return loaded ? "" : loaded.error().message;
}

TEST(CodeObject, Loads) {
  auto object = loadBytes(makeKernelFile({}));
  ASSERT_TRUE(object.ok()) << object.error().message;
  EXPECT_EQ((*object)->architecture(), "gfx950");
  ASSERT_EQ((*object)->kernels().size(), 1u);
  const runtime::KernelInfo &kernel = (*object)->kernels()[0];
  EXPECT_EQ(kernel.name, "k");
  EXPECT_EQ(kernel.kernargSize, 64u);
  EXPECT_EQ(kernel.staticLds, 128u);
  EXPECT_EQ(kernel.maxWorkgroupSize, 256u);
  ASSERT_EQ(kernel.arguments.size(), 4u);
  EXPECT_EQ(kernel.arguments[0].kind, "global_buffer");
  EXPECT_EQ(*(*object)->kernelIndex("k"), 0u);
  EXPECT_THAT((*object)->kernelIndex("other").error().message,
              AllOf(HasSubstr("no kernel 'other'"), HasSubstr("it has 'k'")));
}

TEST(CodeObject, CountsAccumulationRegistersThatMetadataDoNotName) {
  KernelFile file;
  file.vgprs = 384;
  file.accumOffset = 256;
  auto object = loadBytes(makeKernelFile(file));
  ASSERT_TRUE(object.ok()) << object.error().message;
  EXPECT_EQ((*object)->kernels()[0].vgprs, 384u);
  EXPECT_EQ((*object)->kernels()[0].agprs, 128u);
}

/// Metadata written by hand may say 4 bytes of a device address; its 8 bytes are passed all the
/// same, unless another argument is in them.
TEST(CodeObject, PointersOfFourBytesAreAddresses) {
  KernelFile file;
  file.pointerSize = 4;
  auto object = loadBytes(makeKernelFile(file));
  ASSERT_TRUE(object.ok()) << object.error().message;
  EXPECT_EQ((*object)->kernels()[0].arguments[0].size, 8u);
  file.numberAt = 4;
  object = loadBytes(makeKernelFile(file));
  ASSERT_TRUE(object.ok()) << object.error().message;
  EXPECT_EQ((*object)->kernels()[0].arguments[0].size, 4u);
}

TEST(CodeObject, RefusesWhatIsNone) {
  std::string good = makeKernelFile({});
  EXPECT_THAT(loadError(""), HasSubstr("0 bytes"));
  EXPECT_THAT(loadError(std::string(100, 'x')), HasSubstr("ELF magic"));
  auto patched = [&](size_t at, char value) {
    std::string bytes = good;
    bytes[at] = value;
    return bytes;
  };
  EXPECT_THAT(loadError(patched(4, 1)), HasSubstr("not a 64-bit"));
  EXPECT_THAT(loadError(patched(7, 0)), HasSubstr("OS ABI is 0"));
  EXPECT_THAT(loadError(patched(8, 0)), HasSubstr("ABI version byte 0"));
  EXPECT_THAT(loadError(patched(16, 1)), HasSubstr("ELF type is 1"));
  EXPECT_THAT(loadError(patched(18, 62)), HasSubstr("machine 62"));
  EXPECT_THAT(loadError(patched(48, 0x41)), HasSubstr("executes gfx950 (0x4f) and gfx942 (0x4c)"));
  EXPECT_EQ(loadBytes(patched(48, 0x41)).error().kind, ErrorKind::Unsupported);
}

TEST(CodeObject, EveryTruncationIsAnError) {
  std::string good = makeKernelFile({});
  for (size_t size = 0; size < good.size(); size += 7)
    EXPECT_FALSE(loadBytes(good.substr(0, size)).ok()) << size;
}

TEST(CodeObject, CorruptBytesDoNotCrash) {
  std::string good = makeKernelFile({});
  uint64_t state = 12345;
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = good;
    for (int i = 0; i < 4; ++i) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      bytes[(state >> 33) % bytes.size()] = static_cast<char>(state >> 25);
    }
    (void)loadBytes(bytes).ok();
  }
}

/// The note's descriptor stands at a multiple of the segment's alignment, where 0 and 1 mean 4.
TEST(CodeObject, TakesEveryAlignmentOfNotes) {
  const std::string good = makeKernelFile({});
  auto read = [&](size_t at, auto value) {
    std::memcpy(&value, good.data() + at, sizeof(value));
    return value;
  };
  const size_t headers = read(32, uint64_t()), count = read(56, uint16_t());
  size_t note = 0;
  for (size_t header = headers; header != headers + 56 * count; header += 56)
    if (read(header, uint32_t()) == 4) // PT_NOTE
      note = header;
  ASSERT_NE(note, 0u);
  auto withAlignment = [&](uint64_t alignment) {
    std::string bytes = good;
    std::memcpy(bytes.data() + note + 48, &alignment, sizeof(alignment));
    return bytes;
  };
  for (uint64_t alignment : {0, 1, 4})
    EXPECT_EQ(loadError(withAlignment(alignment)), "") << alignment;
  EXPECT_THAT(loadError(withAlignment(48)), HasSubstr("alignment (48) is not 4 or 8"));
}

TEST(CodeObject, ChecksMetadataAndDescriptor) {
  KernelFile file;
  file.waveSize = 32;
  EXPECT_THAT(loadError(makeKernelFile(file)), HasSubstr("wavefront size 32"));
  file = {};
  file.kernargSize = 20;
  EXPECT_THAT(loadError(makeKernelFile(file)), HasSubstr("the kernarg segment has 20"));
  file = {};
  file.symbol = "nothing.kd";
  EXPECT_THAT(loadError(makeKernelFile(file)), HasSubstr("descriptor symbol 'nothing.kd'"));
  file = {};
  file.entryOffset = 1 << 20;
  EXPECT_THAT(loadError(makeKernelFile(file)), HasSubstr("is not in its executable segment"));
  file = {};
  file.properties = 1 << 10 | 8;
  EXPECT_THAT(loadError(makeKernelFile(file)), HasSubstr("wave32"));
}

namespace {
class Launch : public testing::Test {
protected:
  Result<runtime::LaunchReport> run(const KernelFile &file, runtime::LaunchShape shape,
                                    LaunchOptions options = {}) {
    auto object = loadBytes(makeKernelFile(file));
    if (!object)
      return object.error();
    program = std::move(*Program::load(memory, *object));
    out = *memory.allocate(65536, 256, "out");
    uint64_t arguments[2] = {out, 5};
    return launch(*program, 0, shape, std::as_bytes(std::span(arguments)), options);
  }
  uint32_t word(uint64_t index) {
    uint32_t value = 0;
    EXPECT_TRUE(memory.read(std::as_writable_bytes(std::span(&value, 1)), out + 4 * index).ok());
    return value;
  }
  Memory memory;
  std::unique_ptr<Program> program;
  uint64_t out = 0;
};
} // namespace

TEST_F(Launch, WritesFromEveryWorkItem) {
  for (unsigned threads : {1u, 2u, 4u}) {
    auto report = run({}, {{3, 2, 1}, {100, 1, 1}}, {.threads = threads});
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_EQ(report->workgroups, 6u);
    // Two waves of each workgroup, each with the kernel's instructions.
    EXPECT_EQ(report->waveInstructions, 12 * kernelInstructions);
    // out[(y * 3 + x) * 128 + item] = n + hidden_block_count_x
    for (unsigned group = 0; group < 6; ++group) {
      EXPECT_EQ(word(group * 128), 8u);
      EXPECT_EQ(word(group * 128 + 99), 8u);
      EXPECT_EQ(word(group * 128 + 100), 0u);
    }
  }
}

TEST_F(Launch, ChecksTheShape) {
  auto error = [&](runtime::LaunchShape shape) { return run({}, shape).error().message; };
  EXPECT_THAT(error({{0, 1, 1}, {1, 1, 1}}), HasSubstr("the grid (0, 1, 1) is empty"));
  EXPECT_THAT(error({{1, 1, 1}, {1, 0, 1}}), HasSubstr("the block (1, 0, 1) is empty"));
  EXPECT_THAT(error({{1, 1, 1}, {257, 1, 1}}), HasSubstr("more work-items than the 256"));
  EXPECT_THAT(error({{1u << 31, 1, 1}, {2, 1, 1}}), HasSubstr("2^32"));
  EXPECT_THAT(error({{1, 1, 1}, {64, 1, 1}, 163840}), HasSubstr("163968 bytes of LDS"));
}

TEST_F(Launch, UnknownHiddenArgumentIsNamed) {
  KernelFile file;
  file.hiddenKind = "hidden_surprise";
  EXPECT_THAT(run(file, {}).error().message, HasSubstr("unknown kind 'hidden_surprise'"));
}

TEST_F(Launch, RefusesWhatTheSimulatorLacks) {
  KernelFile file;
  file.properties = 8 | 1;
  EXPECT_THAT(run(file, {}).error().message, HasSubstr("private segment buffer"));
  file.properties = 8 | 1 << 5;
  EXPECT_THAT(run(file, {}).error().message, HasSubstr("flat scratch address"));
}

TEST_F(Launch, ReportsTheLowestFailingWorkgroup) {
  for (unsigned threads : {1u, 2u, 4u}) {
    // Workgroups beyond 127 write past the buffer of 65536 bytes.
    auto report = run({}, {{300, 1, 1}, {64, 1, 1}}, {.threads = threads});
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.error().kind, ErrorKind::Execution);
    EXPECT_THAT(report.error().message,
                AllOf(HasSubstr("kernel 'k'"), HasSubstr("workgroup 128, 0, 0"),
                      HasSubstr("past the end of the allocation 'out'")));
  }
}

TEST_F(Launch, GivesItsMemoryBack) {
  ASSERT_TRUE(run({}, {}).ok());
  uint64_t live = memory.liveBytes();
  uint64_t arguments[2] = {out, 5};
  ASSERT_TRUE(launch(*program, 0, {}, std::as_bytes(std::span(arguments))).ok());
  EXPECT_EQ(memory.liveBytes(), live);
}
