// Numbers on the host as a kernel reads and writes them: bytes, and the element type that says what they mean.
//
// Data, references and comparisons go through this and the table of element types (hocket/Support/ElementType.h), so
// they hold for any type of whole bytes.
#pragma once

#include "hocket/Support/ElementType.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hocket::verify {

class TypedArray {
public:
  TypedArray() = default;
  /// `count` elements whose bits are 0.
  explicit TypedArray(ElementType type, size_t count = 0) : elementType(type) { resize(count); }
  /// `numbers`, rounded.
  TypedArray(ElementType type, std::span<const double> numbers);

  ElementType type() const { return elementType; }
  size_t size() const { return content.size() / width(); }
  bool empty() const { return content.empty(); }
  /// New elements have bits of 0.
  void resize(size_t count) { content.resize(count * width()); }

  /// The number of element `index`.
  double operator[](size_t index) const { return decode(elementType, bits(index)); }
  uint64_t bits(size_t index) const;
  /// `number`, rounded.
  void set(size_t index, double number) { setBits(index, encode(elementType, number)); }
  void setBits(size_t index, uint64_t bits);
  /// The same of number `index` of `width` bits, of which an element has several.
  void setPart(size_t index, unsigned width, uint64_t bits);
  void push_back(double number);
  bool isNan(size_t index) const { return hocket::isNan(elementType, bits(index)); }
  /// Copies `count` elements of `from`, of the same type.
  void copy(const TypedArray &from, size_t first, size_t count, size_t to);

  std::span<std::byte> bytes() { return content; }
  std::span<const std::byte> bytes() const { return content; }

  /// The same type and bits: NaN is equal to itself.
  bool operator==(const TypedArray &) const = default;

private:
  size_t width() const { return static_cast<size_t>(bytesOf(elementType)); }

  ElementType elementType = ElementType::BF16;
  std::vector<std::byte> content;
};

/// Reads rows of numbers of one type: by a table of all patterns where there are few. Of a type of less than a byte the
/// array has bytes.
class RowReader {
public:
  explicit RowReader(ElementType type);
  /// `to.size()` numbers of `from`, which is of the reader's type, from number `first` on.
  void read(const TypedArray &from, size_t first, std::span<double> to) const;

private:
  template <typename Bits> void lookUp(const TypedArray &from, size_t first, std::span<double> to) const;
  void lookUpPacked(const TypedArray &from, size_t first, std::span<double> to) const;

  unsigned width;             ///< bits of a number
  std::vector<double> values; ///< by bits; empty: too many
};

/// Whether element `index` is what guards and unwritten outputs hold (`guardPattern`), from the first of an array on.
bool holdsGuard(const TypedArray &array, size_t index);
/// Makes `count` elements from `first` on that.
void fillWithGuard(TypedArray &array, size_t first, size_t count);

} // namespace hocket::verify
