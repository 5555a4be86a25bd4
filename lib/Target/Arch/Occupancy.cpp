// Occupancy from registers, LDS and wave slots (docs/Hardware.md 1.1). Scalar registers never limit
// it on the chips known here.
#include "Target/Arch/Occupancy.h"

#include <algorithm>
#include <string>

using namespace hocket;

static unsigned roundUp(unsigned value, unsigned unit) { return (value + unit - 1) / unit * unit; }

std::string_view hocket::name(OccupancyLimit limit) {
  switch (limit) {
  case OccupancyLimit::WaveSlots:
    return "wave slots";
  case OccupancyLimit::Registers:
    return "registers";
  case OccupancyLimit::Lds:
    return "LDS";
  }
  return "";
}

unsigned hocket::allocatedVgprs(const ArchInfo &arch, unsigned vgprs, unsigned agprs) {
  unsigned architectural = agprs ? roundUp(vgprs, arch.registers.accumOffsetGranule) : vgprs;
  return std::max(roundUp(architectural + agprs, arch.registers.vgprGranule),
                  arch.registers.vgprGranule);
}

unsigned hocket::allocatedLds(const ArchInfo &arch, unsigned bytes) {
  return roundUp(bytes, arch.lds.granule);
}

unsigned hocket::maxVgprsFor(const ArchInfo &arch, unsigned wavesPerSimd) {
  if (wavesPerSimd == 0 || wavesPerSimd > arch.waves.maxWavesPerSimd)
    return 0;
  unsigned share = arch.registers.vgprsPerSimd / wavesPerSimd;
  return share / arch.registers.vgprGranule * arch.registers.vgprGranule;
}

unsigned hocket::maxLdsFor(const ArchInfo &arch, unsigned workgroups) {
  if (workgroups == 0)
    return 0;
  unsigned share = arch.lds.bytesPerCu / workgroups;
  return std::min(share / arch.lds.granule * arch.lds.granule, arch.lds.bytesPerWorkgroup);
}

static Status checkLimits(const ArchInfo &arch, const KernelResources &kernel) {
  auto tooMany = [&](std::string_view what, unsigned found, unsigned limit) {
    return unsupported("kernel needs " + std::to_string(found) + " " + std::string(what) + ", " +
                       std::string(arch.name) + " has " + std::to_string(limit));
  };
  if (kernel.workgroupSize == 0)
    return invalidInput("kernel has workgroups of 0 work-items");
  if (kernel.workgroupSize > arch.waves.maxWorkgroupSize)
    return tooMany("work-items in a workgroup", kernel.workgroupSize, arch.waves.maxWorkgroupSize);
  if (kernel.vgprs > arch.registers.maxArchVgprs)
    return tooMany("VGPRs", kernel.vgprs, arch.registers.maxArchVgprs);
  if (kernel.agprs > arch.registers.maxAccVgprs)
    return tooMany("AccVGPRs", kernel.agprs, arch.registers.maxAccVgprs);
  if (kernel.ldsBytes > arch.lds.bytesPerWorkgroup)
    return tooMany("bytes of LDS", kernel.ldsBytes, arch.lds.bytesPerWorkgroup);
  return Status::success();
}

Result<Occupancy> hocket::occupancy(const ArchInfo &arch, const KernelResources &kernel) {
  if (Status status = checkLimits(arch, kernel); !status)
    return status.error();
  unsigned simds = arch.waves.simdsPerCu;
  unsigned waves = roundUp(kernel.workgroupSize, arch.waves.waveSize) / arch.waves.waveSize;
  // A workgroup's waves are spread over the SIMDs, so one SIMD must hold its share of them.
  unsigned share = (waves + simds - 1) / simds;
  unsigned byRegisters =
      arch.registers.vgprsPerSimd / allocatedVgprs(arch, kernel.vgprs, kernel.agprs);
  if (share > byRegisters)
    return unsupported(
        "workgroup of " + std::to_string(waves) + " waves needs " + std::to_string(share) +
        " on one SIMD, with " + std::to_string(allocatedVgprs(arch, kernel.vgprs, kernel.agprs)) +
        " registers each only " + std::to_string(byRegisters) + " fit; use at most " +
        std::to_string(maxVgprsFor(arch, share)) + " registers or fewer waves");

  Occupancy result;
  unsigned perSimd = std::min(byRegisters, arch.waves.maxWavesPerSimd);
  result.limit = byRegisters < arch.waves.maxWavesPerSimd ? OccupancyLimit::Registers
                                                          : OccupancyLimit::WaveSlots;
  result.workgroupsPerCu = perSimd * simds / waves;
  if (kernel.ldsBytes) {
    unsigned byLds = arch.lds.bytesPerCu / allocatedLds(arch, kernel.ldsBytes);
    if (byLds < result.workgroupsPerCu) {
      result.workgroupsPerCu = byLds;
      result.limit = OccupancyLimit::Lds;
    }
  }
  result.wavesPerSimd = (result.workgroupsPerCu * waves + simds - 1) / simds;
  return result;
}
