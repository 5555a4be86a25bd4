// Elimination over GF(2). One helper, an incremental basis that remembers how each reduced vector
// was combined from columns, answers rank, kernel, solve and both inverses.
#include "Layout/BitMatrix.h"

#include <bit>
#include <cassert>
#include <utility>

using namespace hocket;

static uint64_t lowMask(unsigned bits) {
  return bits >= 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
}

/// Reduced vectors with distinct top bits, and for each the set of columns that sum to it.
struct Elimination {
  explicit Elimination(const BitMatrix &matrix) {
    for (unsigned i = 0; i < matrix.columns(); ++i)
      add(matrix.column(i), uint64_t(1) << i);
  }

  /// Reduces `vector` by the basis, tracking the combination; returns the residue.
  std::pair<uint64_t, uint64_t> reduce(uint64_t vector, uint64_t combination) const {
    while (vector) {
      unsigned top = std::bit_width(vector) - 1;
      if (!reduced[top])
        break;
      vector ^= reduced[top];
      combination ^= combinations[top];
    }
    return {vector, combination};
  }

  void add(uint64_t column, uint64_t name) {
    auto [residue, combination] = reduce(column, name);
    if (!residue) {
      kernel.push_back(combination);
      return;
    }
    unsigned top = std::bit_width(residue) - 1;
    reduced[top] = residue;
    combinations[top] = combination;
    ++rank;
  }

  uint64_t reduced[BitMatrix::MaxBits] = {};
  uint64_t combinations[BitMatrix::MaxBits] = {};
  std::vector<uint64_t> kernel;
  unsigned rank = 0;
};

BitMatrix::BitMatrix(unsigned rows, std::vector<uint64_t> columns)
    : numRows(rows), cols(std::move(columns)) {
  assert(rows <= MaxBits && cols.size() <= MaxBits && "at most 64 bits");
  for (uint64_t &column : cols)
    column &= lowMask(rows);
}

BitMatrix BitMatrix::identity(unsigned bits) {
  std::vector<uint64_t> columns(bits);
  for (unsigned i = 0; i < bits; ++i)
    columns[i] = uint64_t(1) << i;
  return BitMatrix(bits, std::move(columns));
}

uint64_t BitMatrix::apply(uint64_t x) const {
  uint64_t image = 0;
  for (x &= lowMask(columns()); x; x &= x - 1)
    image ^= cols[std::countr_zero(x)];
  return image;
}

BitMatrix BitMatrix::then(const BitMatrix &next) const {
  assert(next.columns() >= rows() && "the next map takes fewer bits than this one gives");
  std::vector<uint64_t> columns;
  for (uint64_t column : cols)
    columns.push_back(next.apply(column));
  return BitMatrix(next.rows(), std::move(columns));
}

unsigned BitMatrix::rank() const { return Elimination(*this).rank; }

std::vector<uint64_t> BitMatrix::kernel() const { return Elimination(*this).kernel; }

uint64_t BitMatrix::redundantColumns() const {
  uint64_t mask = 0;
  for (uint64_t vector : kernel())
    mask |= std::bit_floor(vector);
  return mask;
}

std::optional<uint64_t> BitMatrix::solve(uint64_t y) const {
  auto [residue, combination] = Elimination(*this).reduce(y, 0);
  if (residue)
    return std::nullopt;
  return combination;
}

std::optional<BitMatrix> BitMatrix::rightInverse() const {
  Elimination elimination(*this);
  if (elimination.rank != rows())
    return std::nullopt;
  std::vector<uint64_t> columns;
  for (unsigned i = 0; i < rows(); ++i)
    columns.push_back(elimination.reduce(uint64_t(1) << i, 0).second);
  return BitMatrix(this->columns(), std::move(columns));
}

std::optional<BitMatrix> BitMatrix::leftInverse() const {
  if (!isInjective())
    return std::nullopt;
  // Complete the columns to a basis of the output space, invert that square matrix, and forget the
  // inputs that were made up.
  std::vector<uint64_t> completed = cols;
  for (unsigned i = 0; i < rows() && completed.size() < rows(); ++i) {
    completed.push_back(uint64_t(1) << i);
    if (!BitMatrix(rows(), completed).isInjective())
      completed.pop_back();
  }
  std::optional<BitMatrix> inverse = BitMatrix(rows(), completed).rightInverse();
  if (!inverse)
    return std::nullopt;
  return BitMatrix(columns(), inverse->cols);
}
