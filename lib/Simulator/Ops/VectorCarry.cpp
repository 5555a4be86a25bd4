// Vector additions with carry in and out, and the multiply-adds with a 64-bit sum.
//
// The carry mask goes to VCC (or the SGPR pair of the VOP3 form); bits of inactive lanes are zero.
#include "Families.h"
#include "Masks.h"

namespace hocket::sim::HOCKET_SIM_ISA {

/// A result with its carry.
struct Carried {
  u32 value;
  bool carry;
};

static HOCKET_SIM_INLINE Carried addWith(u32 a, u32 b, u32 carry) {
  u64 sum = u64(a) + b + carry;
  return {static_cast<u32>(sum), sum >> 32 != 0};
}
static HOCKET_SIM_INLINE Carried subtractWith(u32 a, u32 b, u32 borrow) {
  return {a - b - borrow, u64(b) + borrow > a};
}

/// `F(a, b, carry)`; `CarryIn`: the carry comes from the mask operand, else it is 0. With clamp the
/// result saturates (`OnCarry`: the value then).
template <auto F, bool CarryIn, u32 OnCarry>
static void carryLanes(Wave &wave, const Instruction &in) {
  detail::GeneralSource<u32> a(wave, in, 0), b(wave, in, 1);
  u64 carryIn = CarryIn ? maskOperand(wave, in) : 0;
  LaneWords result, high, carry;
  HOCKET_LANE_LOOP
  for (unsigned i = 0; i < 64; ++i) {
    Carried r = F(a[i], b[i], static_cast<u32>(carryIn >> i & 1));
    result.lane[i] = r.value;
    carry.lane[i] = r.carry ? ~0u : 0u;
  }
  if (in.clamp)
    for (unsigned i = 0; i < 64; ++i)
      result.lane[i] = carry.lane[i] ? OnCarry : result.lane[i];
  u64 mask = writeMaskGeneral(wave, in);
  u64 carries = maskOfSigns(carry) & wave.exec();
  writeGeneral(wave, in, operandType<u32>, result, high, mask, false);
  wave.setPair(in.scalarDestination, carries);
}

/// D = S0 * S1 + S2 on 64 bits with carry out.
template <class T, class Wide> static void multiplyAddWide(Wave &wave, const Instruction &in) {
  detail::PlainSource<T> a(wave, in, 0), b(wave, in, 1);
  detail::PlainSource<Wide> c(wave, in, 2);
  LaneWords low, high, carry;
  for (unsigned i = 0; i < 64; ++i) {
    Wide product = static_cast<Wide>(a[i]) * static_cast<Wide>(b[i]), sum;
    bool overflow = __builtin_add_overflow(product, c[i], &sum);
    low.lane[i] = lowWord(sum);
    high.lane[i] = highWord(sum);
    carry.lane[i] = overflow ? ~0u : 0u;
  }
  u64 exec = wave.exec();
  blend(wave.vgpr[in.destination], low.lane, exec);
  blend(wave.vgpr[in.destination + 1], high.lane, exec);
  wave.setPair(in.scalarDestination, maskOfSigns(carry) & exec);
}

void registerVectorCarry(OpTable &table) {
  constexpr auto add = [](u32 a, u32 b, u32 c) { return addWith(a, b, c); };
  constexpr auto subtract = [](u32 a, u32 b, u32 c) { return subtractWith(a, b, c); };
  constexpr auto reversed = [](u32 a, u32 b, u32 c) { return subtractWith(b, a, c); };
  table.add("v_add_co_u32", carryLanes<add, false, ~0u>);
  table.add("v_addc_co_u32", carryLanes<add, true, ~0u>);
  table.add("v_sub_co_u32", carryLanes<subtract, false, 0>);
  table.add("v_subb_co_u32", carryLanes<subtract, true, 0>);
  table.add("v_subrev_co_u32", carryLanes<reversed, false, 0>);
  table.add("v_subbrev_co_u32", carryLanes<reversed, true, 0>);
  table.add("v_mad_u64_u32", multiplyAddWide<u32, u64>, false);
  table.add("v_mad_i64_i32", multiplyAddWide<i32, i64>, false);
}

} // namespace hocket::sim::HOCKET_SIM_ISA
