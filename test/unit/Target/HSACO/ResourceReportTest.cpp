// The report reads linked bytes; occupancy follows the register and LDS tables.
#include "Target/HSACO/ResourceReport.h"

#include "TestKernels.h"

#include <gmock/gmock.h>

using namespace hocket;
using namespace hocket::hsaco;
using namespace hocket::hsaco::testing_kernels;
using amdgpu::InstructionClass;

static Result<ResourceReport> reportText(const std::string &text) {
  Result<llvm::SmallVector<char, 0>> linked = compileText(text);
  if (!linked)
    return linked.error();
  return readReport({linked->data(), linked->size()});
}

/// A kernel that keeps `values` floats of every lane alive with `budget` registers to hold them.
static std::string pressureKernel(unsigned values, unsigned budget) {
  std::string loads, stores;
  for (unsigned i = 0; i < values; ++i) {
    const std::string n = std::to_string(i);
    loads += "  %p" + n + " = getelementptr i32, ptr addrspace(1) %q, i32 " +
             std::to_string(64 * i) + "\n  %v" + n + " = load volatile i32, ptr addrspace(1) %p" +
             n + "\n";
    stores += "  store volatile i32 %v" + n + ", ptr addrspace(1) %p" + n + "\n";
  }
  return "declare i32 @llvm.amdgcn.workitem.id.x()\n"
         "define amdgpu_kernel void @pressure(ptr addrspace(1) %p) #0 {\n"
         "  %id = call i32 @llvm.amdgcn.workitem.id.x()\n"
         "  %q = getelementptr i32, ptr addrspace(1) %p, i32 %id\n" +
         loads + stores +
         "  ret void\n}\nattributes #0 = { \"amdgpu-flat-work-group-size\"=\"64,64\" "
         "\"amdgpu-agpr-alloc\"=\"0\" \"amdgpu-num-vgpr\"=\"" +
         std::to_string(budget) + "\" }\n";
}

TEST(ResourceReport, ReadsWhatTheKernelUses) {
  Result<ResourceReport> report = reportText(scaleKernel(3));
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->cpu, "gfx950");
  ASSERT_EQ(report->kernels.size(), 1u);
  const KernelReport &kernel = report->kernels.front();
  EXPECT_EQ(kernel.name, "scale3");
  EXPECT_EQ(kernel.ldsBytes, 1024u);
  EXPECT_EQ(kernel.workgroupSize, 64u);
  EXPECT_EQ(kernel.kernargBytes, 8u);
  EXPECT_EQ(kernel.agpr, 0u);
  EXPECT_GT(kernel.vgpr, 0u);
  EXPECT_EQ(kernel.scratchBytes, 0u);
  EXPECT_EQ(kernel.classes[InstructionClass::VmemLoad], 1u);
  EXPECT_EQ(kernel.classes[InstructionClass::VmemStore], 1u);
  EXPECT_EQ(kernel.classes[InstructionClass::LdsWrite], 1u);
  EXPECT_EQ(kernel.classes[InstructionClass::Branch], 1u);
  EXPECT_TRUE(checkSpills(*report, Spills::None).ok());
}

TEST(ResourceReport, PrintsATableAndJson) {
  Result<ResourceReport> report = reportText(scaleKernel(0));
  ASSERT_TRUE(report.ok());
  std::string text;
  llvm::raw_string_ostream stream(text);
  printReport(*report, stream);
  EXPECT_THAT(text, testing::HasSubstr("kernel 'scale0'\n"));
  EXPECT_THAT(text, testing::HasSubstr("  LDS           256 bytes\n"));
  EXPECT_THAT(text, testing::HasSubstr("    vmem_load        1\n"));

  const llvm::json::Value json = toJson(*report);
  EXPECT_EQ(json.getAsObject()->getString("target"), llvm::StringRef("gfx950"));
  const llvm::json::Object *kernel = json.getAsObject()->getArray("kernels")->front().getAsObject();
  EXPECT_EQ(kernel->getInteger("lds_bytes"), 256);
  EXPECT_EQ(kernel->getObject("instructions")->getInteger("vmem_load"), 1);
  EXPECT_EQ(kernel->getObject("instructions")->getInteger("total"),
            int64_t(report->kernels.front().classes.total()));
}

TEST(ResourceReport, ASpillIsAnErrorUnlessAllowed) {
  Result<ResourceReport> report = reportText(pressureKernel(64, 24));
  ASSERT_TRUE(report.ok()) << report.error().message;
  const KernelReport &kernel = report->kernels.front();
  ASSERT_GT(kernel.vgprSpills, 0u);
  Status checked = checkSpills(*report, Spills::None);
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().kind, ErrorKind::Unsupported);
  EXPECT_EQ(checked.error().message,
            "kernel 'pressure' spills " + std::to_string(kernel.vgprSpills) +
                " vector and 0 scalar registers and uses " + std::to_string(kernel.scratchBytes) +
                " bytes of scratch with " + std::to_string(kernel.vgpr) +
                " VGPRs and 0 AGPRs, none is allowed; each wave may have all 512 registers of a SIMD: use smaller "
                "tiles, or allow it with hocketc's '--allow-spills'");
  EXPECT_TRUE(checkSpills(*report, Spills::Any).ok());
  EXPECT_FALSE(checkSpills(*report, Spills::ToRegisters).ok());
}

// Waves and workgroups share the registers of a SIMD: what takes them away is said, with what would give them back.
TEST(ResourceReport, ASpillNamesTheLimitAndItsCause) {
  ResourceReport report{"gfx950", {KernelReport()}};
  KernelReport &kernel = report.kernels.front();
  kernel.name = "k", kernel.vgprSpills = 3, kernel.vgpr = 128, kernel.sgpr = 106;
  auto message = [&](unsigned workItems, SharedUnits shared = {}) {
    kernel.workgroupSize = workItems;
    Status status = checkSpills(report, Spills::None, shared);
    return status.ok() ? "" : llvm::StringRef(status.error().message).split("none is allowed; ").second.str();
  };
  const std::string allow = ", or allow it with hocketc's '--allow-spills'";
  EXPECT_EQ(message(512), "8 waves x 1 workgroup on a compute unit are 2 waves on a SIMD, each of which may have 256 of "
                          "the 512 registers of a SIMD: use smaller tiles, fewer waves" + allow);
  EXPECT_EQ(message(512, {{"k", 2}}), "8 waves x 2 workgroups on a compute unit are 4 waves on a SIMD, each of which may "
                                      "have 128 of the 512 registers of a SIMD: use smaller tiles, fewer waves, fewer "
                                      "workgroups on a unit" + allow);
  EXPECT_EQ(message(256, {{"k", 3}}), "4 waves x 3 workgroups on a compute unit are 3 waves on a SIMD, each of which may "
                                      "have 168 of the 512 registers of a SIMD: use smaller tiles, fewer workgroups on a "
                                      "unit" + allow);
  EXPECT_EQ(message(256, {{"other", 3}}), "each wave may have all 512 registers of a SIMD: use smaller tiles" + allow);
  kernel.vgprSpills = 0, kernel.sgprSpills = 3;
  EXPECT_EQ(message(512), "a wave has 102 scalar registers: capture fewer numbers and tensors, or let hocketc's "
                          "'--scalars-in-lanes' put them into lanes of vector registers" + allow);
}

TEST(ResourceReport, RegistersOfAnotherKindAreAllowedForThemselves) {
  ResourceReport report;
  report.kernels.emplace_back();
  for (unsigned KernelReport::*spilled : {&KernelReport::sgprSpills, &KernelReport::vgprSpills}) {
    report.kernels.front().*spilled = 2;
    EXPECT_FALSE(checkSpills(report, Spills::None).ok());
    EXPECT_TRUE(checkSpills(report, Spills::ToRegisters).ok());
  }
  report.kernels.front().scratchBytes = 8;
  EXPECT_FALSE(checkSpills(report, Spills::ToRegisters).ok());
}

TEST(ResourceReport, RefusesWhatIsNoCodeObject) {
  Result<ResourceReport> report = readReport("nothing", "x.hsaco");
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.error().message,
              testing::StartsWith("'x.hsaco' is no valid AMDGPU code object: "));
}

TEST(ResourceReport, SaysWhatLimitsOccupancy) {
  std::string text = scaleKernel(0);
  const std::string small = "[256 x i8]";
  text.replace(text.find(small), small.size(), "[81920 x i8]");
  text.replace(text.find("64,64"), 5, "256,256");
  Result<ResourceReport> report = reportText(text);
  ASSERT_TRUE(report.ok()) << report.error().message;
  const Result<Occupancy> &occupancy = report->kernels.front().occupancy;
  ASSERT_TRUE(occupancy.ok()) << occupancy.error().message;
  EXPECT_EQ(occupancy->wavesPerSimd, 2u);
  EXPECT_EQ(occupancy->workgroupsPerCu, 2u);
  EXPECT_EQ(occupancy->limit, OccupancyLimit::Lds);
}

/// A code object of a chip that the arch table does not know: everything but the occupancy.
TEST(ResourceReport, ReadsCodeObjectsOfOtherChips) {
  EmitOptions options;
  options.cpu = "gfx90a";
  Result<Emitted> emitted = emitText(scaleKernel(0), options);
  ASSERT_TRUE(emitted.ok()) << emitted.error().message;
  Result<llvm::SmallVector<char, 0>> linked =
      link({emitted->object.data(), emitted->object.size()});
  ASSERT_TRUE(linked.ok()) << linked.error().message;
  Result<ResourceReport> report = readReport({linked->data(), linked->size()});
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->cpu, "gfx90a");
  EXPECT_EQ(report->kernels.front().ldsBytes, 256u);
  EXPECT_FALSE(report->kernels.front().occupancy.ok());
  std::string text;
  llvm::raw_string_ostream stream(text);
  printReport(*report, stream);
  EXPECT_THAT(text, testing::HasSubstr("  occupancy     none: "));
  EXPECT_EQ(*toJson(*report).getAsObject()->getArray("kernels")->front().getAsObject()->get(
                "waves_per_simd"),
            llvm::json::Value(nullptr));
}
