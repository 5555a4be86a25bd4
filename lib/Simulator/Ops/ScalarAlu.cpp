// SOP1, SOP2, SOPC and SOPK arithmetic (CDNA3 ISA 5 and 12.1 to 12.4).
#include "Families.h"
#include "Scalar.h"

#include <bit>

using namespace hocket::sim;

using u32 = uint32_t;
using u64 = uint64_t;
using i32 = int32_t;
using i64 = int64_t;

static u32 addWithCarry(u32 &scc, u32 a, u32 b, u32 carry) {
  u64 sum = u64(a) + b + carry;
  scc = sum >> 32 != 0;
  return static_cast<u32>(sum);
}

static u32 subtractWithBorrow(u32 &scc, u32 a, u32 b, u32 borrow) {
  scc = u64(b) + borrow > a;
  return a - b - borrow;
}

/// Result of a logic operation: SCC says whether it is not zero.
template <class T> static T nonzero(u32 &scc, T value) {
  scc = value != 0;
  return value;
}

template <class T> static T bitFieldMask(u32 width, u32 offset) {
  constexpr u32 limit = sizeof(T) * 8 - 1;
  return ((T(1) << (width & limit)) - 1) << (offset & limit);
}

/// Field of `value`: offset in the low bits of `control`, width in [22:16].
template <class T> static T bitFieldExtract(T value, u32 control) {
  constexpr u32 bits = sizeof(T) * 8;
  u32 offset = control & (bits - 1), width = control >> 16 & 127;
  if (width == 0)
    return 0;
  T shifted = value >> offset; // arithmetic for signed T
  if (width >= bits)
    return shifted;
  using U = std::make_unsigned_t<T>;
  u32 gap = bits - width;
  return static_cast<T>(static_cast<U>(shifted) << gap) >> gap;
}

static void registerAddSubtract(OpTable &table) {
  table.add("s_add_u32", scalar<[](u32 &scc, u32 a, u32 b) { return addWithCarry(scc, a, b, 0); }>);
  table.add("s_addc_u32",
            scalar<[](u32 &scc, u32 a, u32 b) { return addWithCarry(scc, a, b, scc); }>);
  table.add("s_sub_u32",
            scalar<[](u32 &scc, u32 a, u32 b) { return subtractWithBorrow(scc, a, b, 0); }>);
  table.add("s_subb_u32",
            scalar<[](u32 &scc, u32 a, u32 b) { return subtractWithBorrow(scc, a, b, scc); }>);
  table.add("s_add_i32", scalar<[](u32 &scc, i32 a, i32 b) {
              i32 r;
              scc = __builtin_add_overflow(a, b, &r);
              return r;
            }>);
  table.add("s_sub_i32", scalar<[](u32 &scc, i32 a, i32 b) {
              i32 r;
              scc = __builtin_sub_overflow(a, b, &r);
              return r;
            }>);
  table.add("s_mul_i32", scalar<[](u32 &, u32 a, u32 b) { return a * b; }>);
  table.add("s_mul_hi_u32",
            scalar<[](u32 &, u32 a, u32 b) { return static_cast<u32>(u64(a) * b >> 32); }>);
  table.add("s_mul_hi_i32",
            scalar<[](u32 &, i32 a, i32 b) { return static_cast<i32>(i64(a) * b >> 32); }>);
  table.add("s_absdiff_i32", scalar<[](u32 &scc, i32 a, i32 b) {
              u32 d = a > b ? u32(a) - u32(b) : u32(b) - u32(a);
              return nonzero(scc, d);
            }>);
  table.add("s_abs_i32",
            scalar<[](u32 &scc, i32 a) { return nonzero(scc, a < 0 ? 0u - u32(a) : u32(a)); }>);
  auto shiftAdd = [&]<unsigned N>(const char *name) {
    table.add(name, scalar<[](u32 &scc, u32 a, u32 b) {
                u64 sum = (u64(a) << N) + b;
                scc = sum >> 32 != 0;
                return static_cast<u32>(sum);
              }>);
  };
  shiftAdd.operator()<1>("s_lshl1_add_u32");
  shiftAdd.operator()<2>("s_lshl2_add_u32");
  shiftAdd.operator()<3>("s_lshl3_add_u32");
  shiftAdd.operator()<4>("s_lshl4_add_u32");
}

static void registerMinMax(OpTable &table) {
  table.add("s_min_i32", scalar<[](u32 &scc, i32 a, i32 b) { return scc = a < b, a < b ? a : b; }>);
  table.add("s_min_u32", scalar<[](u32 &scc, u32 a, u32 b) { return scc = a < b, a < b ? a : b; }>);
  table.add("s_max_i32", scalar<[](u32 &scc, i32 a, i32 b) { return scc = a > b, a > b ? a : b; }>);
  table.add("s_max_u32", scalar<[](u32 &scc, u32 a, u32 b) { return scc = a > b, a > b ? a : b; }>);
  table.add("s_cselect_b32", scalar<[](u32 &scc, u32 a, u32 b) { return scc ? a : b; }>);
  table.add("s_cselect_b64", scalar<[](u32 &scc, u64 a, u64 b) { return scc ? a : b; }>);
}

/// The eight two-operand logic functions, by name.
template <class T> static void registerLogic(OpTable &table, bool wide) {
  auto add = [&](const char *narrow, const char *wideName, ExecuteFunction execute) {
    table.add(wide ? wideName : narrow, execute);
  };
  add("s_and_b32", "s_and_b64", scalar<[](u32 &c, T a, T b) { return nonzero<T>(c, a & b); }>);
  add("s_or_b32", "s_or_b64", scalar<[](u32 &c, T a, T b) { return nonzero<T>(c, a | b); }>);
  add("s_xor_b32", "s_xor_b64", scalar<[](u32 &c, T a, T b) { return nonzero<T>(c, a ^ b); }>);
  add("s_andn2_b32", "s_andn2_b64", scalar<[](u32 &c, T a, T b) { return nonzero<T>(c, a & ~b); }>);
  add("s_orn2_b32", "s_orn2_b64", scalar<[](u32 &c, T a, T b) { return nonzero<T>(c, a | ~b); }>);
  add("s_nand_b32", "s_nand_b64", scalar<[](u32 &c, T a, T b) { return nonzero<T>(c, ~(a & b)); }>);
  add("s_nor_b32", "s_nor_b64", scalar<[](u32 &c, T a, T b) { return nonzero<T>(c, ~(a | b)); }>);
  add("s_xnor_b32", "s_xnor_b64", scalar<[](u32 &c, T a, T b) { return nonzero<T>(c, ~(a ^ b)); }>);
  add("s_not_b32", "s_not_b64", scalar<[](u32 &c, T a) { return nonzero<T>(c, ~a); }>);
  add("s_mov_b32", "s_mov_b64", scalar<[](u32 &, T a) { return a; }>);
  constexpr u32 last = sizeof(T) * 8 - 1;
  add("s_lshl_b32", "s_lshl_b64",
      scalar<[](u32 &c, T a, u32 n) { return nonzero<T>(c, a << (n & last)); }>);
  add("s_lshr_b32", "s_lshr_b64",
      scalar<[](u32 &c, T a, u32 n) { return nonzero<T>(c, a >> (n & last)); }>);
  using S = std::make_signed_t<T>;
  add("s_ashr_i32", "s_ashr_i64",
      scalar<[](u32 &c, S a, u32 n) { return nonzero<S>(c, a >> (n & last)); }>);
  add("s_bfm_b32", "s_bfm_b64", scalar<[](u32 &, u32 a, u32 b) { return bitFieldMask<T>(a, b); }>);
  add("s_bfe_u32", "s_bfe_u64",
      scalar<[](u32 &c, T a, u32 b) { return nonzero<T>(c, bitFieldExtract<T>(a, b)); }>);
  add("s_bfe_i32", "s_bfe_i64",
      scalar<[](u32 &c, S a, u32 b) { return nonzero<S>(c, bitFieldExtract<S>(a, b)); }>);
  add("s_bcnt0_i32_b32", "s_bcnt0_i32_b64",
      scalar<[](u32 &c, T a) { return nonzero<u32>(c, std::popcount(static_cast<T>(~a))); }>);
  add("s_bcnt1_i32_b32", "s_bcnt1_i32_b64",
      scalar<[](u32 &c, T a) { return nonzero<u32>(c, std::popcount(a)); }>);
  add("s_ff0_i32_b32", "s_ff0_i32_b64",
      scalar<[](u32 &, T a) { return ~a == 0 ? -1 : std::countr_one(a); }>);
  add("s_ff1_i32_b32", "s_ff1_i32_b64",
      scalar<[](u32 &, T a) { return a == 0 ? -1 : std::countr_zero(a); }>);
  add("s_flbit_i32_b32", "s_flbit_i32_b64",
      scalar<[](u32 &, T a) { return a == 0 ? -1 : std::countl_zero(a); }>);
  add("s_flbit_i32", "s_flbit_i32_i64", scalar<[](u32 &, S a) {
        T signless = static_cast<T>(a < 0 ? ~a : a);
        return signless == 0 ? -1 : std::countl_zero(signless);
      }>);
  add("s_wqm_b32", "s_wqm_b64", scalar<[](u32 &c, T a) {
        T result = 0;
        for (unsigned i = 0; i < sizeof(T) * 8; i += 4)
          if (a >> i & 15)
            result |= T(15) << i;
        return nonzero<T>(c, result);
      }>);
  add("s_quadmask_b32", "s_quadmask_b64", scalar<[](u32 &c, T a) {
        T result = 0;
        for (unsigned i = 0; i < sizeof(T) * 2; ++i)
          if (a >> (4 * i) & 15)
            result |= T(1) << i;
        return nonzero<T>(c, result);
      }>);
  add("s_brev_b32", "s_brev_b64", scalar<[](u32 &, T a) {
        T result = 0;
        for (unsigned i = 0; i <= last; ++i)
          result |= (a >> i & 1) << (last - i);
        return result;
      }>);
}

/// Instructions that read their destination: conditional moves and bit sets.
static void registerReadModifyWrite(OpTable &table) {
  table.add("s_cmov_b32", [](Wave &w, const Instruction &in) {
    if (w.scc)
      writeScalar(w, in.destination, readScalar<u32>(w, in.source[0]));
  });
  table.add("s_cmov_b64", [](Wave &w, const Instruction &in) {
    if (w.scc)
      writeScalar(w, in.destination, readScalar<u64>(w, in.source[0]));
  });
  table.add("s_bitset0_b32", [](Wave &w, const Instruction &in) {
    w.sgpr[in.destination] &= ~(1u << (readScalar<u32>(w, in.source[0]) & 31));
  });
  table.add("s_bitset1_b32", [](Wave &w, const Instruction &in) {
    w.sgpr[in.destination] |= 1u << (readScalar<u32>(w, in.source[0]) & 31);
  });
  table.add("s_bitset0_b64", [](Wave &w, const Instruction &in) {
    u64 bit = u64(1) << (readScalar<u32>(w, in.source[0]) & 63);
    w.setPair(in.destination, w.pair(in.destination) & ~bit);
  });
  table.add("s_bitset1_b64", [](Wave &w, const Instruction &in) {
    u64 bit = u64(1) << (readScalar<u32>(w, in.source[0]) & 63);
    w.setPair(in.destination, w.pair(in.destination) | bit);
  });
  table.add("s_movrels_b32", [](Wave &w, const Instruction &in) {
    w.sgpr[in.destination] = w.sgpr[(in.source[0].reg + w.m0()) & 127];
  });
  table.add("s_movrels_b64", [](Wave &w, const Instruction &in) {
    w.setPair(in.destination, w.pair((in.source[0].reg + w.m0()) & 127));
  });
  table.add("s_movreld_b32", [](Wave &w, const Instruction &in) {
    w.sgpr[(in.destination + w.m0()) & 127] = readScalar<u32>(w, in.source[0]);
  });
  table.add("s_movreld_b64", [](Wave &w, const Instruction &in) {
    w.setPair((in.destination + w.m0()) & 127, readScalar<u64>(w, in.source[0]));
  });
}

static void registerConversions(OpTable &table) {
  table.add("s_sext_i32_i8", scalar<[](u32 &, u32 a) { return i32(static_cast<int8_t>(a)); }>);
  table.add("s_sext_i32_i16", scalar<[](u32 &, u32 a) { return i32(static_cast<int16_t>(a)); }>);
  table.add("s_pack_ll_b32_b16",
            scalar<[](u32 &, u32 a, u32 b) { return (a & 0xffff) | b << 16; }>);
  table.add("s_pack_lh_b32_b16",
            scalar<[](u32 &, u32 a, u32 b) { return (a & 0xffff) | (b & 0xffff0000); }>);
  table.add("s_pack_hh_b32_b16",
            scalar<[](u32 &, u32 a, u32 b) { return a >> 16 | (b & 0xffff0000); }>);
  table.add("s_bitreplicate_b64_b32", scalar<[](u32 &, u32 a) {
              u64 result = 0;
              for (unsigned i = 0; i < 32; ++i)
                result |= u64(a >> i & 1 ? 3 : 0) << (2 * i);
              return result;
            }>);
}

/// s_OP_saveexec_b64: D = EXEC, EXEC = OP(S0, EXEC), SCC = EXEC != 0.
template <auto F> static void saveExec(Wave &wave, const Instruction &in) {
  u64 source = readScalar<u64>(wave, in.source[0]), exec = wave.exec();
  wave.setPair(in.destination, exec);
  wave.setExec(nonzero<u64>(wave.scc, F(source, exec)));
}

/// s_OP_wrexec_b64: EXEC = D = OP(S0, EXEC).
template <auto F> static void writeExec(Wave &wave, const Instruction &in) {
  u64 value = nonzero<u64>(wave.scc, F(readScalar<u64>(wave, in.source[0]), wave.exec()));
  wave.setExec(value);
  wave.setPair(in.destination, value);
}

static void registerSaveExec(OpTable &table) {
  table.add("s_and_saveexec_b64", saveExec<[](u64 s, u64 e) { return s & e; }>);
  table.add("s_or_saveexec_b64", saveExec<[](u64 s, u64 e) { return s | e; }>);
  table.add("s_xor_saveexec_b64", saveExec<[](u64 s, u64 e) { return s ^ e; }>);
  table.add("s_andn2_saveexec_b64", saveExec<[](u64 s, u64 e) { return s & ~e; }>);
  table.add("s_orn2_saveexec_b64", saveExec<[](u64 s, u64 e) { return s | ~e; }>);
  table.add("s_nand_saveexec_b64", saveExec<[](u64 s, u64 e) { return ~(s & e); }>);
  table.add("s_nor_saveexec_b64", saveExec<[](u64 s, u64 e) { return ~(s | e); }>);
  table.add("s_xnor_saveexec_b64", saveExec<[](u64 s, u64 e) { return ~(s ^ e); }>);
  table.add("s_andn1_saveexec_b64", saveExec<[](u64 s, u64 e) { return ~s & e; }>);
  table.add("s_orn1_saveexec_b64", saveExec<[](u64 s, u64 e) { return ~s | e; }>);
  table.add("s_andn1_wrexec_b64", writeExec<[](u64 s, u64 e) { return ~s & e; }>);
  table.add("s_andn2_wrexec_b64", writeExec<[](u64 s, u64 e) { return s & ~e; }>);
}

static void registerCompares(OpTable &table) {
  table.add("s_cmp_eq_i32", scalar<[](u32 &scc, i32 a, i32 b) { scc = a == b; }>);
  table.add("s_cmp_lg_i32", scalar<[](u32 &scc, i32 a, i32 b) { scc = a != b; }>);
  table.add("s_cmp_gt_i32", scalar<[](u32 &scc, i32 a, i32 b) { scc = a > b; }>);
  table.add("s_cmp_ge_i32", scalar<[](u32 &scc, i32 a, i32 b) { scc = a >= b; }>);
  table.add("s_cmp_lt_i32", scalar<[](u32 &scc, i32 a, i32 b) { scc = a < b; }>);
  table.add("s_cmp_le_i32", scalar<[](u32 &scc, i32 a, i32 b) { scc = a <= b; }>);
  table.add("s_cmp_eq_u32", scalar<[](u32 &scc, u32 a, u32 b) { scc = a == b; }>);
  table.add("s_cmp_lg_u32", scalar<[](u32 &scc, u32 a, u32 b) { scc = a != b; }>);
  table.add("s_cmp_gt_u32", scalar<[](u32 &scc, u32 a, u32 b) { scc = a > b; }>);
  table.add("s_cmp_ge_u32", scalar<[](u32 &scc, u32 a, u32 b) { scc = a >= b; }>);
  table.add("s_cmp_lt_u32", scalar<[](u32 &scc, u32 a, u32 b) { scc = a < b; }>);
  table.add("s_cmp_le_u32", scalar<[](u32 &scc, u32 a, u32 b) { scc = a <= b; }>);
  table.add("s_cmp_eq_u64", scalar<[](u32 &scc, u64 a, u64 b) { scc = a == b; }>);
  table.add("s_cmp_lg_u64", scalar<[](u32 &scc, u64 a, u64 b) { scc = a != b; }>);
  table.add("s_bitcmp0_b32",
            scalar<[](u32 &scc, u32 a, u32 b) { scc = (a >> (b & 31) & 1) == 0; }>);
  table.add("s_bitcmp1_b32",
            scalar<[](u32 &scc, u32 a, u32 b) { scc = (a >> (b & 31) & 1) == 1; }>);
  table.add("s_bitcmp0_b64",
            scalar<[](u32 &scc, u64 a, u32 b) { scc = (a >> (b & 63) & 1) == 0; }>);
  table.add("s_bitcmp1_b64",
            scalar<[](u32 &scc, u64 a, u32 b) { scc = (a >> (b & 63) & 1) == 1; }>);
}

static i32 signedImmediate(const Instruction &in) { return static_cast<int16_t>(in.immediate); }

template <auto F> static void compareSigned(Wave &w, const Instruction &in) {
  w.scc = F(static_cast<i32>(w.sgpr[in.destination]), signedImmediate(in));
}
template <auto F> static void compareUnsigned(Wave &w, const Instruction &in) {
  w.scc = F(w.sgpr[in.destination], u32(in.immediate));
}

static void registerImmediates(OpTable &table) {
  table.add("s_movk_i32", [](Wave &w, const Instruction &in) {
    w.sgpr[in.destination] = static_cast<u32>(signedImmediate(in));
  });
  table.add("s_cmovk_i32", [](Wave &w, const Instruction &in) {
    if (w.scc)
      w.sgpr[in.destination] = static_cast<u32>(signedImmediate(in));
  });
  table.add("s_addk_i32", [](Wave &w, const Instruction &in) {
    i32 r;
    w.scc =
        __builtin_add_overflow(static_cast<i32>(w.sgpr[in.destination]), signedImmediate(in), &r);
    w.sgpr[in.destination] = static_cast<u32>(r);
  });
  table.add("s_mulk_i32", [](Wave &w, const Instruction &in) {
    w.sgpr[in.destination] *= static_cast<u32>(signedImmediate(in));
  });
  table.add("s_cmpk_eq_i32", compareSigned<[](i32 a, i32 b) { return a == b; }>);
  table.add("s_cmpk_lg_i32", compareSigned<[](i32 a, i32 b) { return a != b; }>);
  table.add("s_cmpk_gt_i32", compareSigned<[](i32 a, i32 b) { return a > b; }>);
  table.add("s_cmpk_ge_i32", compareSigned<[](i32 a, i32 b) { return a >= b; }>);
  table.add("s_cmpk_lt_i32", compareSigned<[](i32 a, i32 b) { return a < b; }>);
  table.add("s_cmpk_le_i32", compareSigned<[](i32 a, i32 b) { return a <= b; }>);
  table.add("s_cmpk_eq_u32", compareUnsigned<[](u32 a, u32 b) { return a == b; }>);
  table.add("s_cmpk_lg_u32", compareUnsigned<[](u32 a, u32 b) { return a != b; }>);
  table.add("s_cmpk_gt_u32", compareUnsigned<[](u32 a, u32 b) { return a > b; }>);
  table.add("s_cmpk_ge_u32", compareUnsigned<[](u32 a, u32 b) { return a >= b; }>);
  table.add("s_cmpk_lt_u32", compareUnsigned<[](u32 a, u32 b) { return a < b; }>);
  table.add("s_cmpk_le_u32", compareUnsigned<[](u32 a, u32 b) { return a <= b; }>);
}

void hocket::sim::registerScalarAlu(OpTable &table) {
  registerAddSubtract(table);
  registerMinMax(table);
  registerLogic<u32>(table, false);
  registerLogic<u64>(table, true);
  registerReadModifyWrite(table);
  registerConversions(table);
  registerSaveExec(table);
  registerCompares(table);
  registerImmediates(table);
}
