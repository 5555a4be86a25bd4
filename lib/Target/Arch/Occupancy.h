// How many waves and workgroups fit on a compute unit, and what keeps more from fitting.
#pragma once

#include "Target/Arch/ArchInfo.h"

namespace hocket {

/// What one kernel needs.
struct KernelResources {
  unsigned vgprs = 0;         ///< architectural, of one work-item
  unsigned agprs = 0;         ///< accumulation registers
  unsigned ldsBytes = 0;      ///< of one workgroup, static and dynamic
  unsigned workgroupSize = 1; ///< work-items
};

enum class OccupancyLimit { WaveSlots, Registers, Lds };
std::string_view name(OccupancyLimit limit);

struct Occupancy {
  unsigned wavesPerSimd = 0; ///< on the fullest SIMD
  unsigned workgroupsPerCu = 0;
  OccupancyLimit limit = OccupancyLimit::WaveSlots;
};

/// Registers that one wave takes of its SIMD: the architectural part rounded up where accumulation
/// registers follow it, the sum to the allocation granule.
unsigned allocatedVgprs(const ArchInfo &arch, unsigned vgprs, unsigned agprs);
/// LDS that a workgroup takes, rounded up to the granule.
unsigned allocatedLds(const ArchInfo &arch, unsigned bytes);
/// Registers that a wave may use so that `wavesPerSimd` waves fit; 0 if more than the chip can
/// hold.
unsigned maxVgprsFor(const ArchInfo &arch, unsigned wavesPerSimd);
/// LDS that a workgroup may use so that `workgroups` fit on a compute unit.
unsigned maxLdsFor(const ArchInfo &arch, unsigned workgroups);

/// The occupancy of a kernel. Errors: more registers, LDS or work-items than one workgroup may
/// have, or not even one workgroup fits.
Result<Occupancy> occupancy(const ArchInfo &arch, const KernelResources &kernel);

} // namespace hocket
