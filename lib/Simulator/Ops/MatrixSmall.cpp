// MFMA on 8-, 6- and 4-bit floats: the fp8/bf8 forms, and f8f6f4 with and without block scales
// (docs/Hardware.md 2.1, 2.2).
//
// A scale is a power of two for 32 consecutive k of a row or column. It multiplies the elements as
// they are unpacked, which is exact; only a scale that could take an element out of f32's range
// sends the whole instruction the slow way, product by product. Which lane holds a scale is
// inferred, not documented: row or column l % size, block l / size.
#include "Families.h"
#include "Matrix.h"
#include "SmallFloatTables.h"

namespace hocket::sim::HOCKET_SIM_ISA {

/// Eight bytes a lane: k = 8 * (lane / Size) + byte.
template <unsigned Size>
static void unpackBytes(const u32 (*operand)[waveSize], const f32 *table, f32 (*to)[Size]) {
  for (unsigned lane = 0; lane < waveSize; ++lane)
    for (unsigned byte = 0; byte < 8; ++byte)
      to[8 * (lane / Size) + byte][lane % Size] =
          table[operand[byte / 4][lane] >> (8 * (byte % 4)) & 0xff];
}

static bool refuseControls(Wave &wave, const Instruction &in) {
  if (!(in.cbsz | in.abid | in.blgp))
    return false;
  failWave(wave, in, "has a cbsz, abid or blgp that it does not have a meaning for");
  return true;
}

/// v_mfma_f32_<Size>x<Size>x<K>_<A>_<B>.
template <unsigned Size, SmallCode A, SmallCode B>
static void byteMatrix(Wave &wave, const Instruction &in) {
  if (refuseControls(wave, in))
    return;
  constexpr unsigned depth = 8 * waveSize / Size;
  alignas(64) f32 rows[depth][Size], columns[depth][Size];
  const DecodeTables &tables = decodeTables();
  unpackBytes<Size>(&wave.vgpr[in.source[0].reg], tables.value[unsigned(A)], rows);
  unpackBytes<Size>(&wave.vgpr[in.source[1].reg], tables.value[unsigned(B)], columns);
  placeAccumulator(wave, in, Size * Size / waveSize, operandType<f32>);
  multiplyBlock<Size>(&wave.vgpr[in.destination], rows, columns, depth);
}

/// 32 elements a lane. 8-bit ones are in two runs of 16 k, narrower ones in one of 32.
template <unsigned Size>
static void unpackMixed(const u32 (*operand)[waveSize], unsigned format, f32 (*to)[Size]) {
  constexpr unsigned groups = waveSize / Size;
  const DecodeTables &tables = decodeTables();
  unsigned bits = tables.bits[format];
  for (unsigned lane = 0; lane < waveSize; ++lane) {
    unsigned group = lane / Size;
    for (unsigned e = 0; e < 32; ++e) {
      unsigned bit = e * bits, word = bit / 32;
      u64 pair = operand[word][lane];
      if (bit % 32 + bits > 32)
        pair |= u64(operand[word + 1][lane]) << 32;
      u32 element = static_cast<u32>(pair >> (bit % 32)) & ((1u << bits) - 1);
      unsigned k = bits == 8 ? 16 * groups * (e / 16) + 16 * group + e % 16 : 32 * group + e;
      to[k][lane % Size] = tables.value[format][element];
    }
  }
}

/// The scale exponents of one operand, [k / 32][row or column]; 128 stands for NaN.
template <unsigned Size> struct Scales {
  int exponent[waveSize / Size][Size];
};

/// Scale operand `index` of the prefix, which has its own word pair in front of the MFMA's.
static const u32 *scaleWords(const Wave &wave, const Instruction &in, unsigned index,
                             LaneWords &buffer) {
  unsigned field = in.words[1] >> (9 * index) & 0x1ff;
  Operand operand;
  operand.reg = static_cast<uint16_t>(field >= 256 ? field - 256 : field);
  operand.kind = field >= 256                   ? OperandKind::Vgpr
                 : field < 128                  ? OperandKind::Sgpr
                 : field <= 208                 ? OperandKind::Constant
                 : field >= 240 && field <= 248 ? OperandKind::InlineFloat
                                                : OperandKind::Special;
  operand.value = field <= 192 ? field - 128 : static_cast<u32>(192 - static_cast<int>(field));
  return readPlain(wave, operand, 0, operandType<f32>, buffer);
}

template <unsigned Size>
static void readScales(const Wave &wave, const Instruction &in, unsigned index,
                       Scales<Size> &scales) {
  LaneWords buffer;
  const u32 *words = scaleWords(wave, in, index, buffer);
  // op_sel and op_sel_hi of the prefix choose the byte.
  unsigned byte = (in.words[0] >> (11 + index) & 1) + 2 * (in.words[1] >> (27 + index) & 1);
  for (unsigned lane = 0; lane < waveSize; ++lane)
    scales.exponent[lane / Size][lane % Size] =
        static_cast<int>(words[lane] >> (8 * byte) & 0xff) - 127;
}

/// Whether multiplying by the scales is exact: the largest element is below 2^16.
template <unsigned Size> static bool canScale(const Scales<Size> &scales) {
  for (const auto &block : scales.exponent)
    for (int exponent : block)
      if (exponent > 111)
        return false;
  return true;
}

template <unsigned Size>
static void applyScales(const Scales<Size> &scales, f32 (*elements)[Size]) {
  for (unsigned k = 0; k < 32 * waveSize / Size; ++k)
    for (unsigned i = 0; i < Size; ++i)
      elements[k][i] *= static_cast<f32>(powerOfTwo(scales.exponent[k / 32][i]));
}

/// c plus a product known as f64, rounded to f32.
static f32 addProduct(f32 c, f64 product) {
  f32 narrow = static_cast<f32>(product);
  return static_cast<f64>(narrow) == product ? c + narrow : static_cast<f32>(c + product);
}

template <unsigned Size>
static void multiplySlowly(Registers d, const f32 (*a)[Size], const f32 (*b)[Size],
                           const Scales<Size> &scalesA, const Scales<Size> &scalesB) {
  constexpr int notANumber = 128;
  for (unsigned i = 0; i < Size; ++i)
    for (unsigned j = 0; j < Size; ++j) {
      u32 *where = reinterpret_cast<u32 *>(d) + rowOffset<Size>(i) + j;
      f32 sum = bitCast<f32>(*where);
      for (unsigned k = 0; k < 32 * waveSize / Size; ++k) {
        int left = scalesA.exponent[k / 32][i], right = scalesB.exponent[k / 32][j];
        f64 product = static_cast<f64>(a[k][i]) * static_cast<f64>(b[k][j]);
        bool bad = left == notANumber || right == notANumber;
        sum = bad ? bitCast<f32>(0x7fc00000u) : addProduct(sum, product * powerOfTwo(left + right));
      }
      *where = bitCast<u32>(sum);
    }
  canonicaliseNaNs(d, Size * Size / waveSize);
}

/// v_mfma_f32_..._f8f6f4 and v_mfma_scale_f32_..._f8f6f4.
template <unsigned Size, bool Scaled> static void mixedMatrix(Wave &wave, const Instruction &in) {
  if (in.cbsz > 4 || in.blgp > 4) {
    failWave(wave, in, "has a cbsz or blgp that names no format");
    return;
  }
  constexpr unsigned depth = 32 * waveSize / Size;
  alignas(64) f32 rows[depth][Size], columns[depth][Size];
  unpackMixed<Size>(&wave.vgpr[in.source[0].reg], in.cbsz, rows);
  unpackMixed<Size>(&wave.vgpr[in.source[1].reg], in.blgp, columns);
  Registers d = &wave.vgpr[in.destination];
  if constexpr (Scaled) {
    Scales<Size> scalesA, scalesB;
    readScales<Size>(wave, in, 0, scalesA);
    readScales<Size>(wave, in, 1, scalesB);
    placeAccumulator(wave, in, Size * Size / waveSize, operandType<f32>);
    // Elements are scaled in place, so both sides must pass before the first is touched.
    if (!canScale<Size>(scalesA) || !canScale<Size>(scalesB))
      return multiplySlowly<Size>(d, rows, columns, scalesA, scalesB);
    applyScales<Size>(scalesA, rows);
    applyScales<Size>(scalesB, columns);
  } else {
    placeAccumulator(wave, in, Size * Size / waveSize, operandType<f32>);
  }
  multiplyBlock<Size>(d, rows, columns, depth);
}

/// Both shapes of one pair of formats, `A2` and `B2` on chips with fnuz formats.
template <SmallCode A, SmallCode B, SmallCode A2, SmallCode B2>
static void registerBytes(OpTable &table, const char *wide, const char *narrow) {
  table.add(wide, byteMatrix<32, A, B>);
  table.add(narrow, byteMatrix<16, A, B>);
  table.addFnuz(wide, byteMatrix<32, A2, B2>);
  table.addFnuz(narrow, byteMatrix<16, A2, B2>);
}

void registerMatrixSmall(OpTable &table) {
  registerBytes<SmallCode::Fp8, SmallCode::Fp8, SmallCode::Fp8Fnuz, SmallCode::Fp8Fnuz>(
      table, "v_mfma_f32_32x32x16_fp8_fp8", "v_mfma_f32_16x16x32_fp8_fp8");
  registerBytes<SmallCode::Fp8, SmallCode::Bf8, SmallCode::Fp8Fnuz, SmallCode::Bf8Fnuz>(
      table, "v_mfma_f32_32x32x16_fp8_bf8", "v_mfma_f32_16x16x32_fp8_bf8");
  registerBytes<SmallCode::Bf8, SmallCode::Fp8, SmallCode::Bf8Fnuz, SmallCode::Fp8Fnuz>(
      table, "v_mfma_f32_32x32x16_bf8_fp8", "v_mfma_f32_16x16x32_bf8_fp8");
  registerBytes<SmallCode::Bf8, SmallCode::Bf8, SmallCode::Bf8Fnuz, SmallCode::Bf8Fnuz>(
      table, "v_mfma_f32_32x32x16_bf8_bf8", "v_mfma_f32_16x16x32_bf8_bf8");
  table.add("v_mfma_f32_32x32x64_f8f6f4", mixedMatrix<32, false>);
  table.add("v_mfma_f32_16x16x128_f8f6f4", mixedMatrix<16, false>);
  table.add("v_mfma_scale_f32_32x32x64_f8f6f4", mixedMatrix<32, true>);
  table.add("v_mfma_scale_f32_16x16x128_f8f6f4", mixedMatrix<16, true>);
}

} // namespace hocket::sim::HOCKET_SIM_ISA
