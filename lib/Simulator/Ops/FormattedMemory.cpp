// Buffer loads and stores that convert: buffer_load_format_*, buffer_store_format_* take the format
// from the descriptor, tbuffer_* from the instruction (CDNA3 ISA 9.1, data and number formats).
//
// An element is in range as a whole or not at all. Loads fill components that the format lacks with
// 0, 0, 0, 1 and then apply the descriptor's dst_sel. Stores ignore components that the format
// lacks; a store of fewer components than the format has is refused, since nothing says what the
// others become. Formats with a 10- or 11-bit float are truncated on the way down.
#include "Access.h"
#include "BufferAccess.h"
#include "Families.h"
#include "FloatMath.h"
#include "Half.h"

namespace hocket::sim::HOCKET_SIM_ISA {

enum class NumberFormat : u8 {
  UnsignedNorm,
  SignedNorm,
  UnsignedScaled,
  SignedScaled,
  UnsignedInteger,
  SignedInteger,
  Reserved,
  Float
};

/// Component widths in bits, from the low bits up. The codes' names have the high bits first.
struct DataFormat {
  u8 count;
  u8 bits[4];
  constexpr unsigned bytes() const { return (unsigned(bits[0]) + bits[1] + bits[2] + bits[3]) / 8; }
};
static constexpr DataFormat dataFormats[16] = {
    {0, {}},
    {1, {8}},
    {1, {16}},
    {2, {8, 8}},
    {1, {32}},
    {2, {16, 16}},
    {3, {11, 11, 10}},    // 10_11_11
    {3, {10, 11, 11}},    // 11_11_10
    {4, {2, 10, 10, 10}}, // 10_10_10_2
    {4, {10, 10, 10, 2}}, // 2_10_10_10
    {4, {8, 8, 8, 8}},
    {2, {32, 32}},
    {4, {16, 16, 16, 16}},
    {3, {32, 32, 32}},
    {4, {32, 32, 32, 32}},
    {0, {}},
};

/// A format as the instruction or the descriptor has it.
struct ElementFormat {
  DataFormat data;
  NumberFormat number;
};

static ElementFormat formatOf(const Wave &wave, const Instruction &in) {
  u32 word = wave.sgpr[in.memory.scalarAddress + 3];
  u32 number = word >> 12 & 7, data = word >> 15 & 15;
  if (in.encoding == Encoding::MTBUF) {
    number = in.words[0] >> 23 & 7;
    data = in.words[0] >> 19 & 15;
  }
  return {dataFormats[data], static_cast<NumberFormat>(number)};
}

static bool refuseFormat(Wave &wave, const Instruction &in, const ElementFormat &format) {
  bool narrowFloat = format.number == NumberFormat::Float && format.data.bits[0] == 8;
  bool tenFloat = format.number == NumberFormat::Float && format.data.count == 4 &&
                  (format.data.bits[0] == 10 || format.data.bits[0] == 2);
  if (in.memory.lds)
    failWave(wave, in, "converts on the way to LDS, which the simulator does not implement");
  else if (format.data.count == 0 || format.number == NumberFormat::Reserved || narrowFloat ||
           tenFloat)
    failWave(wave, in, "uses a buffer format that does not exist");
  else
    return false;
  return true;
}

/// A float of `bits` bits: 32, 16, or an unsigned one of 11 or 10 with 5 exponent bits.
static f32 floatFromBits(u32 raw, unsigned bits) {
  if (bits == 32)
    return bitCast<f32>(raw);
  u32 half = bits == 16 ? raw : raw << (15 - bits);
  return halfToFloat({static_cast<u16>(half)});
}
static u32 floatToBits(f32 value, unsigned bits) {
  if (bits == 32)
    return bitCast<u32>(value);
  u32 half = floatToHalf(value).bits;
  if (bits == 16)
    return half;
  return half & 0x8000 && half <= 0xfc00 ? 0 : (half & 0x7fff) >> (15 - bits);
}

/// What a component of a register is: an f32 or an integer, as 32 bits.
static u32 convertLoaded(u32 raw, unsigned bits, NumberFormat number) {
  u32 highest = bits == 32 ? ~u32(0) : (u32(1) << bits) - 1;
  i32 extended = static_cast<i32>(raw << (32 - bits)) >> (32 - bits);
  f32 value = 0;
  switch (number) {
  case NumberFormat::UnsignedInteger:
    return raw;
  case NumberFormat::SignedInteger:
    return static_cast<u32>(extended);
  case NumberFormat::Float:
    value = floatFromBits(raw, bits);
    break;
  case NumberFormat::UnsignedNorm:
    value = static_cast<f32>(f64(raw) / f64(highest));
    break;
  case NumberFormat::SignedNorm:
    value = static_cast<f32>(f64(extended) / f64(highest >> 1));
    value = value < -1.0f ? -1.0f : value;
    break;
  case NumberFormat::UnsignedScaled:
    value = static_cast<f32>(raw);
    break;
  case NumberFormat::SignedScaled:
    value = static_cast<f32>(extended);
    break;
  case NumberFormat::Reserved:
    break;
  }
  return bitCast<u32>(value);
}

static u32 convertStored(u32 word, unsigned bits, NumberFormat number) {
  u32 highest = bits == 32 ? ~u32(0) : (u32(1) << bits) - 1;
  f64 value = bitCast<f32>(word), top = highest, signedTop = highest >> 1;
  value = value != value ? 0 : value;
  auto within = [&](f64 low, f64 high) { return value < low ? low : value > high ? high : value; };
  auto toBits = [&](f64 integer) { return static_cast<u32>(static_cast<i64>(integer)) & highest; };
  switch (number) {
  case NumberFormat::UnsignedInteger:
  case NumberFormat::SignedInteger:
    return word & highest;
  case NumberFormat::Float:
    return floatToBits(bitCast<f32>(word), bits);
  case NumberFormat::UnsignedNorm:
    return toBits(roundEvenOf(within(0, 1) * top));
  case NumberFormat::SignedNorm:
    return toBits(roundEvenOf(within(-1, 1) * signedTop));
  case NumberFormat::UnsignedScaled:
    return toBits(truncOf(within(0, top)));
  case NumberFormat::SignedScaled:
    return toBits(truncOf(within(-signedTop - 1, signedTop)));
  case NumberFormat::Reserved:
    break;
  }
  return 0;
}

static bool isFloatResult(NumberFormat number) {
  return number != NumberFormat::UnsignedInteger && number != NumberFormat::SignedInteger;
}

/// Component `index` of the element in `raw`.
static u32 extractComponent(const u32 *raw, const DataFormat &data, unsigned index) {
  unsigned first = 0;
  for (unsigned i = 0; i < index; ++i)
    first += data.bits[i];
  u32 word = raw[first / 32] >> (first % 32);
  return data.bits[index] == 32 ? word : word & ((u32(1) << data.bits[index]) - 1);
}
static void insertComponent(u32 *raw, const DataFormat &data, unsigned index, u32 value) {
  unsigned first = 0;
  for (unsigned i = 0; i < index; ++i)
    first += data.bits[i];
  raw[first / 32] |= value << (first % 32);
}

/// How components stand in registers: one each, two halves each, or one in the upper half.
enum class Packing : u8 { Words, Halves, UpperHalf };

static u32 narrowed(u32 word, NumberFormat number) {
  return isFloatResult(number) ? floatToHalf(bitCast<f32>(word)).bits : word & 0xffff;
}
static u32 widened(u32 half, NumberFormat number) {
  if (isFloatResult(number))
    return bitCast<u32>(halfToFloat({static_cast<u16>(half)}));
  return number == NumberFormat::SignedInteger
             ? static_cast<u32>(static_cast<i32>(static_cast<i16>(half)))
             : half;
}

/// The four components that dst_sel chooses from an element in range, or zeros.
static void loadComponents(const ElementFormat &format, u32 select, const u32 *raw, u32 (&to)[4]) {
  u32 one = isFloatResult(format.number) ? 0x3f800000 : 1;
  u32 element[4] = {0, 0, 0, one};
  for (unsigned i = 0; i < format.data.count; ++i)
    element[i] =
        convertLoaded(extractComponent(raw, format.data, i), format.data.bits[i], format.number);
  for (unsigned i = 0; i < 4; ++i) {
    u32 source = select >> (3 * i) & 7;
    to[i] = source == 1 ? one : source >= 4 ? element[source - 4] : 0;
  }
}

template <unsigned Count, Packing Pack> static void landLoadFormat(Wave &wave, PendingOp &op) {
  const Instruction &in = *op.instruction;
  // The descriptor as it was at issue.
  ElementFormat format = {dataFormats[op.data[0][0]], static_cast<NumberFormat>(op.data[0][1])};
  for (u64 left = op.mask; left; left &= left - 1) {
    unsigned lane = __builtin_ctzll(left);
    u32 components[4] = {0, 0, 0, 0};
    if (!op.partial || op.inRange[lane]) {
      u32 raw[4] = {};
      __builtin_memcpy(raw, op.host[lane], format.data.bytes());
      loadComponents(format, op.scalar, raw, components);
    }
    for (unsigned i = 0; i < Count; ++i) {
      u32 &to = wave.vgpr[in.destination + (Pack == Packing::Halves ? i / 2 : i)][lane];
      if constexpr (Pack == Packing::Words)
        to = components[i];
      else if (Pack == Packing::UpperHalf)
        to = (to & 0xffff) | narrowed(components[i], format.number) << 16;
      else if (i % 2 == 0)
        to = (i + 1 == Count && Count == 1 ? to & 0xffff0000 : 0) |
             narrowed(components[i], format.number);
      else
        to |= narrowed(components[i], format.number) << 16;
    }
  }
}

static void landStoreFormat(Wave &, PendingOp &op) {
  for (u64 left = op.mask; left; left &= left - 1) {
    unsigned lane = __builtin_ctzll(left);
    u32 raw[4];
    for (unsigned i = 0; i < 4; ++i)
      raw[i] = op.data[i][lane];
    if (!op.partial || op.inRange[lane])
      __builtin_memcpy(op.host[lane], raw, op.scalar);
  }
}

/// Lanes whose element is not wholly in range are out of range.
static void rangeWholeElements(PendingOp &op, unsigned bytes) {
  unsigned units = bytes < 4 ? 1 : bytes / 4;
  for (unsigned i = 0; op.partial && i < 64; ++i)
    op.inRange[i] = op.inRange[i] == units;
}

static unsigned codeOf(const DataFormat &data) {
  unsigned code = 0;
  while (__builtin_memcmp(&dataFormats[code], &data, sizeof(data)) != 0)
    ++code;
  return code;
}

template <unsigned Count, Packing Pack> static void loadFormat(Wave &wave, const Instruction &in) {
  ElementFormat format = formatOf(wave, in);
  if (refuseFormat(wave, in, format))
    return;
  unsigned bytes = format.data.bytes();
  PendingOp &op = beginPending(wave, in, landLoadFormat<Count, Pack>);
  if (!resolveBuffer(wave, in, op, bytes, "loads"))
    return dropPending(wave, op);
  rangeWholeElements(op, bytes);
  op.scalar = wave.sgpr[in.memory.scalarAddress + 3] & 0xfff;
  op.data[0][0] = codeOf(format.data);
  op.data[0][1] = static_cast<u32>(format.number);
  op.destination = in.destination;
  u64 mask = op.mask;
  issueVectorMemory(wave, op);
  constexpr unsigned registers = Pack == Packing::Words ? Count : (Count + 1) / 2;
  if constexpr (Pack == Packing::Words || Count > 1) // one half keeps the other
    poisonRegisters(wave, in.destination, registers, mask);
}

template <unsigned Count, Packing Pack> static void storeFormat(Wave &wave, const Instruction &in) {
  ElementFormat format = formatOf(wave, in);
  if (refuseFormat(wave, in, format))
    return;
  if (Count < format.data.count)
    return failWave(wave, in, "stores fewer components than its buffer format has");
  unsigned bytes = format.data.bytes();
  PendingOp &op = beginPending(wave, in, landStoreFormat);
  if (!resolveBuffer(wave, in, op, bytes, "stores"))
    return dropPending(wave, op);
  rangeWholeElements(op, bytes);
  op.scalar = bytes;
  for (unsigned lane = 0; lane < 64; ++lane) {
    u32 raw[4] = {};
    for (unsigned i = 0; i < format.data.count; ++i) {
      u32 word = wave.vgpr[in.memory.data + (Pack == Packing::Halves ? i / 2 : i)][lane];
      if constexpr (Pack != Packing::Words) {
        bool upper = Pack == Packing::UpperHalf || i % 2;
        word = widened(upper ? word >> 16 : word & 0xffff, format.number);
      }
      insertComponent(raw, format.data, i, convertStored(word, format.data.bits[i], format.number));
    }
    for (unsigned i = 0; i < 4; ++i)
      op.data[i][lane] = raw[i];
  }
  maybeLandEarly(wave, op);
  issueVectorMemory(wave, op);
}

void registerFormattedMemory(OpTable &table) {
  auto add = [&](const char *prefix, const char *suffix, ExecuteFunction execute) {
    char name[64];
    __builtin_strcpy(name, prefix);
    __builtin_strcat(name, suffix);
    table.add(name, execute);
  };
  for (const char *prefix : {"buffer_load_format_", "tbuffer_load_format_"}) {
    add(prefix, "x", loadFormat<1, Packing::Words>);
    add(prefix, "xy", loadFormat<2, Packing::Words>);
    add(prefix, "xyz", loadFormat<3, Packing::Words>);
    add(prefix, "xyzw", loadFormat<4, Packing::Words>);
    add(prefix, "d16_x", loadFormat<1, Packing::Halves>);
    add(prefix, "d16_xy", loadFormat<2, Packing::Halves>);
    add(prefix, "d16_xyz", loadFormat<3, Packing::Halves>);
    add(prefix, "d16_xyzw", loadFormat<4, Packing::Halves>);
  }
  for (const char *prefix : {"buffer_store_format_", "tbuffer_store_format_"}) {
    add(prefix, "x", storeFormat<1, Packing::Words>);
    add(prefix, "xy", storeFormat<2, Packing::Words>);
    add(prefix, "xyz", storeFormat<3, Packing::Words>);
    add(prefix, "xyzw", storeFormat<4, Packing::Words>);
    add(prefix, "d16_x", storeFormat<1, Packing::Halves>);
    add(prefix, "d16_xy", storeFormat<2, Packing::Halves>);
    add(prefix, "d16_xyz", storeFormat<3, Packing::Halves>);
    add(prefix, "d16_xyzw", storeFormat<4, Packing::Halves>);
  }
  table.add("buffer_load_format_d16_hi_x", loadFormat<1, Packing::UpperHalf>);
  table.add("buffer_store_format_d16_hi_x", storeFormat<1, Packing::UpperHalf>);
}

} // namespace hocket::sim::HOCKET_SIM_ISA
