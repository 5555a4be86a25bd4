// Which host instruction set the lane loops use, chosen once at start by what the CPU reports.
//
// Sources with lane loops are compiled three times: HOCKET_SIM_ISA is then the namespace of the
// copy (`baseline`, `avx2`, `avx512`) and the compiler may use that instruction set in it; once
// where HOCKET_SIMULATOR_ISAS is `native`. What such a
// source includes from elsewhere must be declarations, data or HOCKET_SIM_INLINE functions: an
// ordinary inline function could be emitted with AVX-512 in one copy and then be the one that the
// linker keeps for all. The copies give the same bits (test/unit/Simulator/HostIsaTest.cpp).
#pragma once

#define HOCKET_SIM_INLINE inline __attribute__((always_inline))

namespace hocket::sim {

class OpTable;

enum class HostIsa { Baseline, Avx2, Avx512 };

/// The best that this CPU and build have, else Baseline; or what `forceHostIsa` said.
HostIsa hostIsa();
/// Whether this build has the copy for `isa` and this CPU can run it.
bool hostHasIsa(HostIsa isa);
/// For tests: code objects loaded from now on use `isa`, which the CPU must have.
void forceHostIsa(HostIsa isa);

/// All instructions, with lane loops for `isa`. Built once.
const OpTable &opTable(HostIsa isa);

} // namespace hocket::sim
