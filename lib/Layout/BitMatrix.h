// Matrices over GF(2), at most 64 by 64: the arithmetic under every layout.
//
// A column is a 64-bit word, so applying a matrix to a bit vector is an XOR of the columns that the
// set bits select. Everything a layout is asked (is it injective? what is its inverse? which input
// bits are redundant?) is elimination on such columns. No names and no dimensions here; those come
// with LinearLayout.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace hocket {

/// A linear map from `columns()` input bits to `rows()` output bits; column i is the image of bit
/// i.
class BitMatrix {
public:
  static constexpr unsigned MaxBits = 64;

  BitMatrix() = default;
  /// Bits of a column at or above `rows` are dropped. At most `MaxBits` rows and columns.
  BitMatrix(unsigned rows, std::vector<uint64_t> columns);
  static BitMatrix identity(unsigned bits);

  unsigned rows() const { return numRows; }
  unsigned columns() const { return static_cast<unsigned>(cols.size()); }
  uint64_t column(unsigned index) const { return cols[index]; }

  /// The image of `x`; bits of `x` at or above `columns()` are ignored.
  uint64_t apply(uint64_t x) const;
  /// The matrix that applies `*this` first and `next` after it; `next.columns()` >= `rows()`.
  BitMatrix then(const BitMatrix &next) const;

  unsigned rank() const;
  bool isInjective() const { return rank() == columns(); }
  bool isSurjective() const { return rank() == rows(); }
  bool isBijective() const { return rows() == columns() && isInjective(); }

  /// A basis of all x with apply(x) = 0; each vector's top bit is a redundant column.
  std::vector<uint64_t> kernel() const;
  /// Set for each column that is a combination of earlier ones.
  uint64_t redundantColumns() const;
  /// Some x with apply(x) = y that uses no redundant column, or nothing if y is out of reach.
  std::optional<uint64_t> solve(uint64_t y) const;

  /// M with `then(M)` = identity; only for injective matrices.
  std::optional<BitMatrix> leftInverse() const;
  /// M with `M.then(*this)` = identity; only for surjective matrices.
  std::optional<BitMatrix> rightInverse() const;

  bool operator==(const BitMatrix &) const = default;

private:
  unsigned numRows = 0;
  std::vector<uint64_t> cols;
};

} // namespace hocket
