// Reads resources and instruction counts from a code object and prints them.
#include "Target/HSACO/ResourceReport.h"

#include "Target/AMDGPU/CodeObjectFile.h"
#include "Target/AMDGPU/Disassembler.h"

#include "llvm/Support/FormatVariadic.h"

namespace hocket::hsaco {

using amdgpu::InstructionClass;

/// From what the kernel uses. The descriptor may allocate more: where LDS keeps waves away anyway,
/// LLVM takes as many registers as nobody else could have.
static Result<Occupancy> occupancyOf(const KernelReport &kernel, llvm::StringRef cpu) {
  Result<const ArchInfo *> arch = findArch(std::string_view(cpu));
  if (!arch)
    return arch.error();
  KernelResources resources;
  resources.vgprs = kernel.vgpr;
  resources.agprs = kernel.agpr;
  resources.ldsBytes = unsigned(std::min<uint64_t>(kernel.ldsBytes, UINT32_MAX));
  resources.workgroupSize = kernel.workgroupSize;
  return occupancy(**arch, resources);
}

static Result<KernelReport> reportKernel(const amdgpu::KernelCode &kernel,
                                         const amdgpu::Disassembler &disassembler,
                                         amdgpu::OpcodeTable &opcodes) {
  KernelReport report;
  report.name = kernel.name;
  report.agpr = kernel.agprs;
  report.vgpr = kernel.vgprs - std::min(kernel.vgprs, kernel.agprs);
  report.sgpr = kernel.sgprs;
  report.vgprSpills = kernel.vgprSpills;
  report.sgprSpills = kernel.sgprSpills;
  report.scratchBytes = kernel.scratchBytes;
  report.dynamicStack = kernel.dynamicStack;
  report.ldsBytes = kernel.ldsBytes;
  report.kernargBytes = kernel.kernargBytes;
  report.workgroupSize = kernel.maxWorkgroupSize;
  report.occupancy = occupancyOf(report, disassembler.target().cpu());
  report.codeBytes = kernel.code.size();
  Result<std::vector<amdgpu::Instruction>> code =
      disassembler.decodeAll(kernel.code, kernel.address);
  if (!code)
    return invalidInput("kernel '" + kernel.name + "': " + code.error().message);
  for (const amdgpu::Instruction &instruction : *code)
    ++report.classes[opcodes.kind(instruction.opcode())];
  return report;
}

Result<ResourceReport> readReport(llvm::StringRef codeObject, llvm::StringRef name) {
  Result<std::vector<amdgpu::KernelCode>> kernels = amdgpu::readKernels(codeObject, name);
  if (!kernels)
    return kernels.error();
  ResourceReport report;
  report.cpu = amdgpu::processorOf(codeObject);
  Result<std::shared_ptr<const amdgpu::McTarget>> target = amdgpu::McTarget::create(report.cpu);
  if (!target)
    return target.error();
  const amdgpu::Disassembler disassembler(*target);
  amdgpu::OpcodeTable opcodes((*target)->instructions());
  for (const amdgpu::KernelCode &kernel : *kernels) {
    Result<KernelReport> read = reportKernel(kernel, disassembler, opcodes);
    if (!read)
      return read.error();
    report.kernels.push_back(*std::move(read));
  }
  return report;
}

static void printKernel(const KernelReport &kernel, llvm::raw_ostream &stream) {
  stream << llvm::formatv("kernel '{0}'\n", kernel.name);
  stream << llvm::formatv("  registers     VGPR {0}  AGPR {1}  SGPR {2}\n", kernel.vgpr,
                          kernel.agpr, kernel.sgpr);
  stream << llvm::formatv("  spills        VGPR {0}  SGPR {1}  scratch {2} bytes{3}\n",
                          kernel.vgprSpills, kernel.sgprSpills, kernel.scratchBytes,
                          kernel.dynamicStack ? " and a dynamic stack" : "");
  stream << llvm::formatv("  LDS           {0} bytes\n", kernel.ldsBytes);
  stream << llvm::formatv("  workgroup     {0} work-items\n", kernel.workgroupSize);
  if (kernel.occupancy)
    stream << llvm::formatv("  occupancy     {0} waves per SIMD, {1} workgroups per compute unit "
                            "(limited by {2})\n",
                            kernel.occupancy->wavesPerSimd, kernel.occupancy->workgroupsPerCu,
                            llvm::StringRef(name(kernel.occupancy->limit)));
  else
    stream << llvm::formatv("  occupancy     none: {0}\n", kernel.occupancy.error().message);
  stream << llvm::formatv("  code          {0} bytes, {1} instructions\n", kernel.codeBytes,
                          kernel.classes.total());
  for (unsigned i = 0; i < amdgpu::kInstructionClasses; ++i) {
    const auto kind = InstructionClass(i);
    if (kernel.classes[kind])
      stream << llvm::formatv("    {0,-12}{1,6}\n", amdgpu::className(kind), kernel.classes[kind]);
  }
}

void printReport(const ResourceReport &report, llvm::raw_ostream &stream) {
  stream << llvm::formatv("target {0}\n", report.cpu);
  for (const KernelReport &kernel : report.kernels)
    printKernel(kernel, stream);
}

static llvm::json::Value toJson(const KernelReport &kernel) {
  llvm::json::Object instructions;
  for (unsigned i = 0; i < amdgpu::kInstructionClasses; ++i)
    instructions[amdgpu::className(InstructionClass(i))] = kernel.classes[InstructionClass(i)];
  instructions["total"] = kernel.classes.total();
  llvm::json::Value waves = nullptr;
  if (kernel.occupancy)
    waves = kernel.occupancy->wavesPerSimd;
  return llvm::json::Object{{"name", kernel.name},
                            {"vgpr", kernel.vgpr},
                            {"agpr", kernel.agpr},
                            {"sgpr", kernel.sgpr},
                            {"vgpr_spills", kernel.vgprSpills},
                            {"sgpr_spills", kernel.sgprSpills},
                            {"scratch_bytes", int64_t(kernel.scratchBytes)},
                            {"dynamic_stack", kernel.dynamicStack},
                            {"lds_bytes", int64_t(kernel.ldsBytes)},
                            {"kernarg_bytes", int64_t(kernel.kernargBytes)},
                            {"workgroup_size", kernel.workgroupSize},
                            {"waves_per_simd", waves},
                            {"code_bytes", int64_t(kernel.codeBytes)},
                            {"instructions", std::move(instructions)}};
}

llvm::json::Value toJson(const ResourceReport &report) {
  llvm::json::Array kernels;
  for (const KernelReport &kernel : report.kernels)
    kernels.push_back(toJson(kernel));
  return llvm::json::Object{{"target", report.cpu}, {"kernels", std::move(kernels)}};
}

/// "1 wave", "2 waves".
static std::string counted(int64_t number, const char *noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

/// What limits the registers of `kernel`, of which `workgroups` are to share a compute unit, and what to do about it.
static std::string whySpills(const KernelReport &kernel, llvm::StringRef cpu, int64_t workgroups) {
  const std::string allow = ", or allow it with hocketc's '--allow-spills'";
  Result<const ArchInfo *> found = findArch(cpu);
  if (!found.ok() || kernel.workgroupSize == 0)
    return "use smaller tiles" + allow;
  const ArchInfo &arch = **found;
  if (kernel.vgprSpills == 0 && kernel.sgprSpills != 0)
    return "a wave has " + std::to_string(arch.registers.addressableSgprs) +
           " scalar registers: capture fewer numbers and tensors, or let hocketc's '--scalars-in-lanes' put them "
           "into lanes of vector registers" + allow;
  int64_t waves = llvm::divideCeil(kernel.workgroupSize, arch.waves.waveSize);
  int64_t perSimd = llvm::divideCeil(waves * workgroups, arch.waves.simdsPerCu);
  std::string whole = std::to_string(arch.registers.vgprsPerSimd) + " registers of a SIMD";
  if (perSimd == 1)
    return "each wave may have all " + whole + ": use smaller tiles" + allow;
  std::string less = waves > arch.waves.simdsPerCu ? ", fewer waves" : "";
  if (workgroups > 1)
    less += ", fewer workgroups on a unit";
  return counted(waves, "wave") + " x " + counted(workgroups, "workgroup") + " on a compute unit are " +
         counted(perSimd, "wave") + " on a SIMD, each of which may have " +
         std::to_string(maxVgprsFor(arch, static_cast<unsigned>(perSimd))) + " of the " + whole + ": use smaller tiles" +
         less + allow;
}

Status checkSpills(const ResourceReport &report, Spills allowed, const SharedUnits &shared) {
  if (allowed == Spills::Any)
    return Status::success();
  auto workgroupsOf = [&](const std::string &kernel) -> int64_t {
    auto found = shared.find(kernel);
    return found == shared.end() ? 1 : found->second;
  };
  std::string message;
  llvm::raw_string_ostream stream(message);
  for (const KernelReport &kernel : report.kernels) {
    const bool spills = kernel.vgprSpills + kernel.sgprSpills != 0;
    const bool clean = kernel.scratchBytes == 0 && !kernel.dynamicStack &&
                       (!spills || allowed == Spills::ToRegisters);
    if (clean)
      continue;
    if (!message.empty())
      stream << '\n';
    stream << llvm::formatv("kernel '{0}' spills {1} vector and {2} scalar registers and uses {3} "
                            "bytes of scratch{4} with {5} VGPRs and {6} AGPRs, none is allowed; {7}",
                            kernel.name, kernel.vgprSpills, kernel.sgprSpills, kernel.scratchBytes,
                            kernel.dynamicStack ? " and a dynamic stack" : "", kernel.vgpr, kernel.agpr,
                            whySpills(kernel, report.cpu, workgroupsOf(kernel.name)));
  }
  return message.empty() ? Status::success() : Status(unsupported(message));
}

} // namespace hocket::hsaco
