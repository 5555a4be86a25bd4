// Reading metadata: what is there, and that no damage to a file gets past as anything but an error.
#include "hocket/Runtime/CodeObjectInfo.h"
#include "TestSupport.h"
#include "Simulator/CodeObject.h"

#include <random>

using namespace hocket;
using namespace hocket::runtime;

TEST(CodeObjectInfo, ReadsKernelsAndArguments) {
  std::vector<std::byte> bytes = testCodeObject();
  ASSERT_FALSE(bytes.empty());
  auto info = readCodeObjectInfo(bytes, "fill.co");
  ASSERT_TRUE(info.ok()) << info.error().message;
  EXPECT_EQ(info->architecture, "gfx950");
  EXPECT_GE(info->version, 5u);
  EXPECT_THAT(info->kernelNames(), testing::ElementsAre("fill", "sizes"));
  auto kernel = info->find("fill");
  ASSERT_TRUE(kernel.ok());
  EXPECT_EQ((*kernel)->kernargSize, 16u);
  EXPECT_EQ((*kernel)->explicitKernargSize(), 16u);
  ASSERT_EQ((*kernel)->arguments.size(), 3u);
  EXPECT_EQ((*kernel)->arguments[2].offset, 12u);
  auto sizes = info->find("sizes");
  ASSERT_TRUE(sizes.ok());
  EXPECT_EQ((*sizes)->explicitKernargSize(), 8u);
  EXPECT_GT((*sizes)->kernargSize, 8u);
}

/// AMD's hand-written code objects do not name their target: the ELF header does.
TEST(CodeObjectInfo, TakesTheProcessorFromTheHeader) {
  std::vector<std::byte> bytes = testCodeObject();
  const std::string key = "amdhsa.target";
  auto same = [](std::byte a, char b) { return a == std::byte(b); };
  auto at = std::search(bytes.begin(), bytes.end(), key.begin(), key.end(), same);
  ASSERT_NE(at, bytes.end());
  *at = std::byte('x');
  auto info = readCodeObjectInfo(bytes, "fill.co");
  ASSERT_TRUE(info.ok()) << info.error().message;
  EXPECT_EQ(info->target, "");
  EXPECT_EQ(info->architecture, "gfx950");
}

TEST(CodeObjectInfo, AgreesWithTheSimulatorsReader) {
  std::vector<std::byte> bytes = testCodeObject();
  auto mine = readCodeObjectInfo(bytes, "fill.co");
  auto other = sim::CodeObject::load(bytes, "fill.co");
  ASSERT_TRUE(mine.ok() && other.ok());
  ASSERT_EQ(mine->kernels.size(), (*other)->kernels().size());
  for (size_t i = 0; i != mine->kernels.size(); ++i) {
    const KernelInfo &a = mine->kernels[i], &b = (*other)->kernels()[i];
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.kernargSize, b.kernargSize);
    EXPECT_EQ(a.vgprs, b.vgprs);
    EXPECT_EQ(a.maxWorkgroupSize, b.maxWorkgroupSize);
    ASSERT_EQ(a.arguments.size(), b.arguments.size());
    for (size_t j = 0; j != a.arguments.size(); ++j) {
      EXPECT_EQ(a.arguments[j].kind, b.arguments[j].kind);
      EXPECT_EQ(a.arguments[j].offset, b.arguments[j].offset);
    }
  }
}

TEST(CodeObjectInfo, ListsKernelsWhenOneIsMissing) {
  auto info = readCodeObjectInfo(testCodeObject(), "fill.co");
  ASSERT_TRUE(info.ok());
  expectError(info->find("full"),
              "code object 'fill.co' has no kernel 'full'; it has 'fill', 'sizes'");
}

TEST(CodeObjectInfo, RefusesWhatIsNoCodeObject) {
  std::vector<std::byte> text(100, std::byte('x'));
  expectError(readCodeObjectInfo(text, "a.txt"), "'a.txt' is not a code object");
  expectError(readCodeObjectInfo({}, "empty"), "'empty' is not a code object");
  std::vector<std::byte> other = testCodeObject();
  other[18] = std::byte(62);
  expectError(readCodeObjectInfo(other, "x86"), "another machine (e_machine 62)");
  other = testCodeObject();
  other[7] = std::byte(0);
  expectError(readCodeObjectInfo(other, "pal"), "not for the HSA ABI");
}

TEST(CodeObjectInfo, RefusesEveryTruncation) {
  std::vector<std::byte> bytes = testCodeObject();
  for (size_t size = 0; size < bytes.size(); size += 7)
    EXPECT_FALSE(readCodeObjectInfo(std::span(bytes).first(size), "cut").ok()) << size;
}

TEST(CodeObjectInfo, SurvivesFlippedBytes) {
  const unsigned seed = 20240607;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::vector<std::byte> bytes = testCodeObject();
  std::mt19937 random(seed);
  // The sanitizers judge; whether a flip is noticed depends on where it hits.
  for (int round = 0; round != 4000; ++round) {
    std::vector<std::byte> damaged = bytes;
    for (int flip = 0; flip != 3; ++flip)
      damaged[random() % std::min<size_t>(damaged.size(), 2400)] ^= std::byte(1 << random() % 8);
    (void)readCodeObjectInfo(damaged, "damaged").ok();
  }
}
