// What one LDS instruction costs: phases, banks, conflicts.
//
// An LDS instruction of 64 lanes is served in phases, each a fixed set of lanes. Within a phase
// every bank delivers one dword a cycle: lanes that want different dwords of one bank wait for each
// other, lanes that want the same dword share it. So a phase takes as many cycles as its busiest
// bank has distinct dwords, and the instruction the sum of its phases (docs/Hardware.md 4.5; the
// sum rule is inferred, not documented). Which lanes form a phase and how many banks take part
// differs by instruction and chip: those tables are the chip's (hocket/Target/Arch), this file only
// counts.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

namespace hocket {

/// The LDS instructions that layouts are chosen for. `ReadTransposed` is ds_read_b64_tr_b*.
enum class LdsInstruction {
  ReadB32,
  ReadB64,
  ReadB96,
  ReadB128,
  ReadTransposed,
  WriteB32,
  WriteB64,
  WriteB96,
  WriteB128,
};

/// The assembler's name, "ds_read_b128"; for `ReadTransposed` "ds_read_b64_tr".
std::string_view name(LdsInstruction instruction);
/// Bytes that one lane moves: 4, 8, 12 or 16.
unsigned bytesPerLane(LdsInstruction instruction);

/// How one kind of instruction is served. Banks are four bytes wide: bank = byte / 4 % banks.
struct LdsAccessRule {
  unsigned banks = 64;
  std::vector<uint64_t> phases; ///< a lane mask for each phase; together they cover all lanes once
};

/// The rules of one chip.
using LdsBankModel = std::map<LdsInstruction, LdsAccessRule>;

/// The cost of one or several instructions, in cycles of the LDS.
struct LdsCost {
  unsigned cycles = 0;
  unsigned ideal = 0; ///< cycles without any conflict

  unsigned conflicts() const { return cycles - ideal; }
  LdsCost &operator+=(const LdsCost &other) {
    cycles += other.cycles;
    ideal += other.ideal;
    return *this;
  }
  bool operator==(const LdsCost &) const = default;
};

/// The cost of an access of `bytes` bytes a lane at the byte addresses `addresses` (one for each of
/// 64 lanes). Lanes not in `activeLanes` do not take part; a phase takes at least one cycle.
LdsCost ldsCost(const LdsAccessRule &rule, unsigned bytes, std::span<const uint32_t> addresses,
                uint64_t activeLanes = ~uint64_t(0));

/// The cycles of each phase, for explanations.
std::vector<unsigned> ldsPhaseCycles(const LdsAccessRule &rule, unsigned bytes,
                                     std::span<const uint32_t> addresses,
                                     uint64_t activeLanes = ~uint64_t(0));

} // namespace hocket
