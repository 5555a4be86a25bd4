// Chooses the copy of the lane loops, and fills one instruction table for each.
#include "HostIsa.h"

#include "OpTable.h"
#include "Ops/Families.h"

#include <atomic>
#include <mutex>

using namespace hocket::sim;

/// Whether this build has the copy (HOCKET_SIMULATOR_ISAS of lib/Simulator/CMakeLists.txt).
static bool isBuilt(HostIsa isa) {
  switch (isa) {
  case HostIsa::Baseline:
    return HOCKET_SIM_HAS_BASELINE;
  case HostIsa::Avx2:
    return HOCKET_SIM_HAS_AVX2;
  case HostIsa::Avx512:
    return HOCKET_SIM_HAS_AVX512;
  }
  return false;
}

/// Whether the CPU has the instruction set. The builtin asks the operating system as well whether it
/// saves the wide registers.
static bool cpuHas(HostIsa isa) {
  if (isa == HostIsa::Baseline)
    return true;
#if defined(__x86_64__)
  __builtin_cpu_init();
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (isa == HostIsa::Avx2)
    return avx2;
  return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#else
  return false;
#endif
}

bool hocket::sim::hostHasIsa(HostIsa isa) { return isBuilt(isa) && cpuHas(isa); }

static HostIsa bestIsa() {
  for (HostIsa isa : {HostIsa::Avx512, HostIsa::Avx2})
    if (hostHasIsa(isa))
      return isa;
  return HostIsa::Baseline;
}

static std::atomic<HostIsa> &chosenIsa() {
  static std::atomic<HostIsa> chosen = bestIsa();
  return chosen;
}

HostIsa hocket::sim::hostIsa() { return chosenIsa(); }
void hocket::sim::forceHostIsa(HostIsa isa) { chosenIsa() = isa; }

#define HOCKET_SIM_CALL(name) register##name(table);

static OpTable makeTable(HostIsa isa) {
  OpTable table;
  registerScalarAlu(table);
  registerScalarControl(table);
  registerScalarMemory(table);
  registerScalarStore(table);
#if HOCKET_SIM_HAS_BASELINE
  if (isa == HostIsa::Baseline) {
    using namespace baseline;
    HOCKET_SIM_LANE_FAMILIES(HOCKET_SIM_CALL)
  }
#endif
#if HOCKET_SIM_HAS_AVX2
  if (isa == HostIsa::Avx2) {
    using namespace avx2;
    HOCKET_SIM_LANE_FAMILIES(HOCKET_SIM_CALL)
  }
#endif
#if HOCKET_SIM_HAS_AVX512
  if (isa == HostIsa::Avx512) {
    using namespace avx512;
    HOCKET_SIM_LANE_FAMILIES(HOCKET_SIM_CALL)
  }
#endif
  return table;
}

const OpTable &hocket::sim::opTable(HostIsa isa) {
  static std::once_flag once[3];
  static OpTable tables[3];
  unsigned index = static_cast<unsigned>(isa);
  std::call_once(once[index], [&] { tables[index] = makeTable(isa); });
  return tables[index];
}
