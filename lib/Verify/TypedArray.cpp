// Typed arrays.
#include "Verify/TypedArray.h"

#include "Verify/DeviceTensor.h"

#include <algorithm>
#include <cassert>
#include <cstring>

using namespace hocket;
using namespace hocket::verify;

TypedArray::TypedArray(ElementType type, std::span<const double> numbers) : TypedArray(type, numbers.size()) {
  for (size_t i = 0; i != numbers.size(); ++i)
    set(i, numbers[i]);
}

// The bytes are in the order of the chips and of every host that there is a build for: the lowest first.
uint64_t TypedArray::bits(size_t index) const {
  uint64_t result = 0;
  std::memcpy(&result, content.data() + index * width(), width());
  return result;
}

void TypedArray::setBits(size_t index, uint64_t bits) {
  std::memcpy(content.data() + index * width(), &bits, width());
}

void TypedArray::setPart(size_t index, unsigned partBits, uint64_t bits) {
  const size_t perElement = infoOf(elementType).bits / partBits, element = index / perElement;
  const size_t shift = index % perElement * partBits;
  const uint64_t mask = ((uint64_t(1) << partBits) - 1) << shift;
  setBits(element, (this->bits(element) & ~mask) | (bits << shift));
}

void TypedArray::push_back(double number) {
  resize(size() + 1);
  set(size() - 1, number);
}

void TypedArray::copy(const TypedArray &from, size_t first, size_t count, size_t to) {
  assert(from.elementType == elementType && "arrays of one type");
  std::copy_n(from.content.begin() + first * width(), count * width(), content.begin() + to * width());
}

RowReader::RowReader(ElementType type) : width(infoOf(type).bits) {
  constexpr unsigned mostBits = 16;
  if (width > mostBits)
    return;
  values.resize(size_t(1) << width);
  for (size_t i = 0; i != values.size(); ++i)
    values[i] = decode(type, i);
}

void RowReader::read(const TypedArray &from, size_t first, std::span<double> to) const {
  if (values.empty()) {
    for (size_t i = 0; i != to.size(); ++i)
      to[i] = from[first + i];
    return;
  }
  constexpr unsigned byte = 8;
  if (width < byte)
    return lookUpPacked(from, first, to);
  bool isWide = width > byte;
  isWide ? lookUp<uint16_t>(from, first, to) : lookUp<uint8_t>(from, first, to);
}

template <typename Bits>
void RowReader::lookUp(const TypedArray &from, size_t first, std::span<double> to) const {
  const std::byte *at = from.bytes().data() + first * sizeof(Bits);
  for (double &number : to) {
    Bits bits;
    std::memcpy(&bits, at, sizeof(bits));
    at += sizeof(bits);
    number = values[bits];
  }
}

void RowReader::lookUpPacked(const TypedArray &from, size_t first, std::span<double> to) const {
  const size_t perByte = 8 / width;
  for (size_t i = 0; i != to.size(); ++i) {
    size_t index = first + i;
    to[i] = values[from.bits(index / perByte) >> (index % perByte * width) & (values.size() - 1)];
  }
}

/// A byte alone may be a number that looks like that: it is judged with its neighbour.
bool verify::holdsGuard(const TypedArray &array, size_t index) {
  size_t width = static_cast<size_t>(bytesOf(array.type())), wanted = std::max<size_t>(width, 2);
  size_t first = index * width / wanted * wanted;
  for (size_t byte = first, end = std::min(first + wanted, array.bytes().size()); byte != end; ++byte)
    if (array.bytes()[byte] != guardByte(byte))
      return false;
  return true;
}

void verify::fillWithGuard(TypedArray &array, size_t first, size_t count) {
  size_t width = static_cast<size_t>(bytesOf(array.type()));
  for (size_t byte = first * width, end = byte + count * width; byte != end; ++byte)
    array.bytes()[byte] = guardByte(byte);
}
