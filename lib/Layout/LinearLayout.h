// Layouts as linear maps over bits.
//
// Where does an element of a tile live? "Element (row 5, column 3) is in register 2 of lane 17" is
// a fact about a map, and nearly every such map on a GPU has one property: if the coordinates are
// written in binary, each bit of the answer is an XOR of bits of the question. A row-major tile, an
// MFMA operand, an XOR swizzle, a transposed read, "every lane holds the same" (a broadcast): all
// of them are linear over GF(2). So one small class replaces a zoo of conventions, and questions
// that are hard to answer about code become arithmetic: Is nothing stored twice (injective)? Is
// everything covered (surjective)? Are two ways of indexing the same (equality)? Which lane must
// fetch what so that the data ends up there (inverse)? Which banks does an instruction hit (apply)?
//
// A LinearLayout has named input dimensions and named output dimensions, each of a size 2^n, and is
// given by the image of each input bit, its *basis*. Input bits combine by XOR:
//
//   L(a ^ b) = L(a) ^ L(b),   L(0) = 0.
//
// Example 1, row-major. A tile of 4 rows and 8 columns in memory:
//
//   offset bit:  0       1       2       3       4
//   (row, col): (0,1)   (0,2)   (0,4)   (1,0)   (2,0)
//
// so offset 13 = 8 + 4 + 1 is (1,0) ^ (0,4) ^ (0,1) = row 1, column 5.
//
// Example 2, the accumulator of a 32x32 MFMA: 16 registers in 64 lanes hold (row, col) with
// row = 8*(r/4) + 4*(l/32) + r%4, col = l%32. Written as bases that is
//
//   register 1 -> (1,0)   register 2 -> (2,0)   register 4 -> (8,0)   register 8 -> (16,0)
//   lane 1, 2, 4, 8, 16 -> (0,1) (0,2) (0,4) (0,8) (0,16)             lane 32 -> (4,0)
//
// and the divisions and remainders are gone. `mfmaAccumulator` (Mfma.h) builds exactly this.
//
// Example 3, a swizzle. Rows of 256 bytes put equal columns of all rows into the same banks. XOR
// the 16-byte piece number with the row: piece' = piece ^ (row % 16). As bases of (row, piece) ->
// offset:
//
//   piece 1 -> 1   piece 2 -> 2   ...   row 1 -> 16 ^ 1   row 2 -> 32 ^ 2   row 4 -> 64 ^ 4  ...
//
// Still linear, still a bijection (`isBijective()` says so), so the inverse exists and tells the
// loader which piece of global memory each LDS slot wants.
//
// Example 4, a broadcast. If lanes 0-31 and 32-63 hold the same, then lane 32 -> (0,0): a basis
// that is zero. `freeMask("lane")` reports such bits; the layout is not injective, and that is the
// point.
//
// Composition. With A: (register, lane) -> (row, col) and B: (row, col) -> (offset), `A.then(B)` is
// (register, lane) -> (offset): the address of each register's element, with no case analysis.
// `A.throughInverse(B)` answers the reverse: for X with X.then(B) = A, which B-input holds what A
// wants?
//
// The product. `a * b` glues independent pieces: bits of `b` come above bits of `a` in each
// dimension that both have. An MFMA atom times an identity over "register" is a larger tile.
//
// What is not linear: padding (an addition with carries) and sizes that are no power of two. They
// live one level up, in LdsTileLayout (a linear part plus padding between chunks, times panels).
#pragma once

#include "Layout/BitMatrix.h"
#include "hocket/Support/Result.h"

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hocket {

/// The names of dimensions that the layouts of this library use. Any other name works as well.
namespace dims {
inline constexpr std::string_view Register = "register"; ///< element or instruction of one lane
inline constexpr std::string_view Lane = "lane";         ///< of a wave: `kWaveLaneBits` bits
inline constexpr std::string_view Wave = "wave";         ///< in a workgroup
inline constexpr std::string_view Row = "row";
inline constexpr std::string_view Col = "col";
inline constexpr std::string_view K = "k";           ///< the summed index of a matrix product
inline constexpr std::string_view Byte = "byte";     ///< a column counted in bytes
inline constexpr std::string_view Offset = "offset"; ///< bytes from the start of an LDS tile
} // namespace dims

/// A named dimension of 2^bits indices.
struct LayoutDim {
  std::string name;
  unsigned bits = 0;

  uint64_t size() const { return uint64_t(1) << bits; }
  bool operator==(const LayoutDim &) const = default;
};

/// A value for each of some dimensions, in any order; dimensions left out are 0.
using Coordinates = std::vector<std::pair<std::string, uint64_t>>;

/// The value of `name` in `coordinates`, 0 if it is not there.
uint64_t coordinate(const Coordinates &coordinates, std::string_view name);

/// An input dimension given by the images of its bits. An image lists the output dimensions it
/// touches; those left out are 0.
struct InputBases {
  std::string name;
  std::vector<Coordinates> bases;
};

/// One summand of a linear map of one integer, in the form code computes it: (x & mask) << shift,
/// or a right shift if `shift` is negative. The summands of one map combine by XOR.
struct ShiftTerm {
  uint64_t mask = 0;
  int shift = 0;

  uint64_t apply(uint64_t x) const {
    return shift >= 0 ? (x & mask) << shift : (x & mask) >> -shift;
  }
  bool operator==(const ShiftTerm &) const = default;
};

/// A linear map over bits from named inputs to named outputs; at most 64 bits on either side.
/// Flattened, the first dimension holds the lowest bits.
class LinearLayout {
public:
  /// The empty layout: no dimensions, the neutral element of the product.
  LinearLayout() = default;

  /// From bases. Errors: a repeated dimension, an image in an unknown output dimension or beyond
  /// its size, more than 64 bits.
  static Result<LinearLayout> fromBases(const std::vector<InputBases> &inputs,
                                        std::vector<LayoutDim> outputs);
  /// `in` of 2^bits indices to `out`: x -> x.
  static LinearLayout identity(std::string_view in, std::string_view out, unsigned bits);
  /// `in` of 2^bits indices to 0 of `out` (2^outBits indices): a broadcast.
  static LinearLayout zeros(std::string_view in, unsigned bits, std::string_view out,
                            unsigned outBits = 0);

  std::span<const LayoutDim> inputs() const { return ins; }
  std::span<const LayoutDim> outputs() const { return outs; }
  const BitMatrix &matrix() const { return bits; }
  bool hasInput(std::string_view name) const;
  bool hasOutput(std::string_view name) const;
  /// 0 for dimensions that do not exist, which is the same as a dimension of size 1.
  unsigned inputBits(std::string_view name) const;
  unsigned outputBits(std::string_view name) const;

  /// The image in dimension `out` of bit `bit` of input `in`; 0 if any of them does not exist.
  uint64_t basis(std::string_view in, unsigned bit, std::string_view out) const;

  /// Unknown inputs are ignored, missing ones are 0, bits beyond a dimension's size are dropped.
  Coordinates apply(const Coordinates &input) const;
  /// The same for one output dimension.
  uint64_t apply(const Coordinates &input, std::string_view out) const;
  /// On flattened coordinates.
  uint64_t applyFlat(uint64_t input) const { return bits.apply(input); }
  /// The part of `out` that depends on `in`, as shifts and masks of the value of `in`.
  std::vector<ShiftTerm> terms(std::string_view in, std::string_view out) const;
  /// The union of the bits of `out` that any bit of `in` touches. Two inputs with disjoint reach
  /// can be added instead of XORed: a base address and an immediate.
  uint64_t reach(std::string_view in, std::string_view out) const;

  bool isInjective() const { return bits.isInjective(); }
  bool isSurjective() const { return bits.isSurjective(); }
  bool isBijective() const { return bits.isBijective(); }
  /// Each basis has one set bit and no two are the same: bits are only reordered.
  bool isBitPermutation() const;
  /// Bits of `in` that add nothing to what lower (and earlier) input bits reach: duplicates.
  uint64_t freeMask(std::string_view in) const;

  /// This map, then `next`. Every output of this map must be an input of `next`, no larger than it;
  /// inputs of `next` that this map does not produce are 0.
  Result<LinearLayout> then(const LinearLayout &next) const;
  /// The inverse of a bijection.
  Result<LinearLayout> inverse() const;
  /// For an injective layout: a map back that undoes it on its image.
  Result<LinearLayout> leftInverse() const;
  /// For a surjective layout: for each output one input that reaches it, free bits 0.
  Result<LinearLayout> rightInverse() const;
  /// X: inputs of this -> inputs of `other` with X.then(other) equal to this. Both must have the
  /// same outputs; an error if `other` does not reach something this map needs.
  Result<LinearLayout> throughInverse(const LinearLayout &other) const;

  /// Only the named inputs (the others held at 0) and only the named outputs (the others dropped),
  /// in the order of this layout.
  LinearLayout sublayout(std::initializer_list<std::string_view> inNames,
                         std::initializer_list<std::string_view> outNames) const;
  /// Both side by side; in dimensions that both have, bits of `upper` lie above those of this one.
  LinearLayout operator*(const LinearLayout &upper) const;
  /// More inputs for the same outputs, combined by XOR. Errors: shared inputs.
  /// The outputs are the union, each as large as the larger of the two.
  Result<LinearLayout> concatInputs(const LinearLayout &other) const;
  /// More outputs of the same inputs. Errors: shared outputs, different inputs.
  Result<LinearLayout> concatOutputs(const LinearLayout &other) const;

  LinearLayout renameInput(std::string_view from, std::string_view to) const;
  LinearLayout renameOutput(std::string_view from, std::string_view to) const;
  /// The named dimensions first and in this order, then the others. Names that do not exist are
  /// ignored. The map stays the same, only flattened coordinates change.
  LinearLayout reorderInputs(std::span<const std::string_view> order) const;
  LinearLayout reorderOutputs(std::span<const std::string_view> order) const;
  /// All inputs (outputs) as one dimension, the first in the lowest bits.
  LinearLayout flattenInputs(std::string_view name) const;
  LinearLayout flattenOutputs(std::string_view name) const;
  /// Input (output) `name` split in two: the `lowBits` lowest bits as `low`, the others as `high`.
  LinearLayout splitInput(std::string_view name, std::string_view low, unsigned lowBits,
                          std::string_view high) const;
  LinearLayout splitOutput(std::string_view name, std::string_view low, unsigned lowBits,
                           std::string_view high) const;
  /// `out` with `bits` more low bits that are 0: elements to bytes is a scaling by the element
  /// size.
  LinearLayout scaleOutput(std::string_view out, unsigned bits) const;

  /// Same dimensions in the same order and the same map.
  bool operator==(const LinearLayout &) const = default;
  /// The same map, whatever the order of the dimensions; dimensions of size 1 do not count.
  bool equivalent(const LinearLayout &other) const;

  /// One line for each input dimension, "lane: 1 -> (row 0, col 1), 2 -> ...".
  std::string str() const;

private:
  LinearLayout(std::vector<LayoutDim> ins, std::vector<LayoutDim> outs, BitMatrix bits);
  /// The same map seen through these inputs and outputs (positions in `ins`, `outs`), in this
  /// order.
  LinearLayout select(const std::vector<unsigned> &inOrder,
                      const std::vector<unsigned> &outOrder) const;

  std::vector<LayoutDim> ins, outs;
  BitMatrix bits;
};

} // namespace hocket
