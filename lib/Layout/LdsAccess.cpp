// Counts, for each phase of an LDS instruction, the distinct dwords that its busiest bank serves.
#include "Layout/LdsAccess.h"
#include "Layout/Wave.h"

#include <algorithm>
#include <array>
#include <bit>

using namespace hocket;

std::string_view hocket::name(LdsInstruction instruction) {
  switch (instruction) {
  case LdsInstruction::ReadB32:
    return "ds_read_b32";
  case LdsInstruction::ReadB64:
    return "ds_read_b64";
  case LdsInstruction::ReadB96:
    return "ds_read_b96";
  case LdsInstruction::ReadB128:
    return "ds_read_b128";
  case LdsInstruction::ReadTransposed:
    return "ds_read_b64_tr";
  case LdsInstruction::WriteB32:
    return "ds_write_b32";
  case LdsInstruction::WriteB64:
    return "ds_write_b64";
  case LdsInstruction::WriteB96:
    return "ds_write_b96";
  case LdsInstruction::WriteB128:
    return "ds_write_b128";
  }
  return "";
}

unsigned hocket::bytesPerLane(LdsInstruction instruction) {
  switch (instruction) {
  case LdsInstruction::ReadB32:
  case LdsInstruction::WriteB32:
    return 4;
  case LdsInstruction::ReadB64:
  case LdsInstruction::ReadTransposed:
  case LdsInstruction::WriteB64:
    return 8;
  case LdsInstruction::ReadB96:
  case LdsInstruction::WriteB96:
    return 12;
  case LdsInstruction::ReadB128:
  case LdsInstruction::WriteB128:
    return 16;
  }
  return 0;
}

namespace {

/// The distinct dwords that each bank is asked for.
class BankLoads {
public:
  explicit BankLoads(unsigned banks) : banks(banks) { first.fill(None); }

  void want(uint32_t dword) {
    unsigned bank = dword % banks;
    for (uint16_t i = first[bank]; i != None; i = next[i])
      if (dwords[i] == dword)
        return;
    dwords[used] = dword;
    next[used] = first[bank];
    first[bank] = used++;
    busiest = std::max<unsigned>(busiest, ++load[bank]);
  }

  unsigned busiest = 1; ///< a phase takes a cycle even if no lane is active

private:
  static constexpr uint16_t None = UINT16_MAX;
  static constexpr unsigned MaxDwords = kWaveLanes * 5; // 16 bytes touch at most five

  unsigned banks;
  uint16_t used = 0;
  std::array<uint16_t, 64> first;
  std::array<uint16_t, 64> load = {};
  std::array<uint16_t, MaxDwords> next;
  std::array<uint32_t, MaxDwords> dwords;
};

} // namespace

static unsigned phaseCycles(uint64_t phase, unsigned banks, unsigned bytes,
                            std::span<const uint32_t> addresses) {
  BankLoads loads(banks);
  for (; phase; phase &= phase - 1) {
    uint32_t address = addresses[std::countr_zero(phase)];
    for (uint32_t dword = address / 4; dword <= (address + bytes - 1) / 4; ++dword)
      loads.want(dword);
  }
  return loads.busiest;
}

std::vector<unsigned> hocket::ldsPhaseCycles(const LdsAccessRule &rule, unsigned bytes,
                                             std::span<const uint32_t> addresses,
                                             uint64_t activeLanes) {
  std::vector<unsigned> cycles;
  for (uint64_t phase : rule.phases)
    cycles.push_back(phaseCycles(phase & activeLanes, rule.banks, bytes, addresses));
  return cycles;
}

LdsCost hocket::ldsCost(const LdsAccessRule &rule, unsigned bytes,
                        std::span<const uint32_t> addresses, uint64_t activeLanes) {
  LdsCost cost;
  for (uint64_t phase : rule.phases)
    cost += {phaseCycles(phase & activeLanes, rule.banks, bytes, addresses), 1};
  return cost;
}
