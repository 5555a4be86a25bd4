// Building layouts, asking them questions, printing them. How they combine is in
// LinearLayoutAlgebra.cpp. Everything goes through the flattened matrix; this file only knows where
// in it a named dimension begins.
#include "Layout/LinearLayout.h"

#include "Flat.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <sstream>

using namespace hocket;
using namespace hocket::flat;

uint64_t hocket::coordinate(const Coordinates &coordinates, std::string_view name) {
  for (const auto &[dim, value] : coordinates)
    if (dim == name)
      return value;
  return 0;
}

LinearLayout::LinearLayout(std::vector<LayoutDim> ins, std::vector<LayoutDim> outs, BitMatrix bits)
    : ins(std::move(ins)), outs(std::move(outs)), bits(std::move(bits)) {}

static std::optional<std::string> firstRepeated(std::span<const LayoutDim> list) {
  std::set<std::string> seen;
  for (const LayoutDim &dim : list)
    if (!seen.insert(dim.name).second)
      return dim.name;
  return std::nullopt;
}

static Result<uint64_t> flattenImage(std::span<const LayoutDim> outs, const Coordinates &image) {
  uint64_t flat = 0;
  for (const auto &[name, value] : image) {
    const LayoutDim *dim = find(outs, name);
    if (!dim)
      return invalidInput("layout maps to dimension '" + name +
                          "', which is not among its outputs");
    if (value & ~mask(dim->bits))
      return invalidInput("layout maps to " + std::to_string(value) + " in dimension '" + name +
                          "', which has " + std::to_string(dim->size()) + " indices");
    flat ^= value << start(outs, name);
  }
  return flat;
}

Result<LinearLayout> LinearLayout::fromBases(const std::vector<InputBases> &inputs,
                                             std::vector<LayoutDim> outputs) {
  std::vector<LayoutDim> ins;
  for (const InputBases &input : inputs)
    ins.push_back({input.name, static_cast<unsigned>(input.bases.size())});
  for (std::span<const LayoutDim> list :
       {std::span<const LayoutDim>(ins), std::span<const LayoutDim>(outputs)}) {
    if (std::optional<std::string> name = firstRepeated(list))
      return invalidInput("layout has dimension '" + *name + "' twice");
    if (total(list) > BitMatrix::MaxBits)
      return invalidInput("layout has " + std::to_string(total(list)) + " bits, at most 64 fit");
  }
  std::vector<uint64_t> columns;
  for (const InputBases &input : inputs)
    for (const Coordinates &image : input.bases) {
      Result<uint64_t> column = flattenImage(outputs, image);
      if (!column)
        return column.error();
      columns.push_back(*column);
    }
  unsigned rows = total(outputs);
  return LinearLayout(std::move(ins), std::move(outputs), BitMatrix(rows, std::move(columns)));
}

LinearLayout LinearLayout::identity(std::string_view in, std::string_view out, unsigned bits) {
  return LinearLayout({{std::string(in), bits}}, {{std::string(out), bits}},
                      BitMatrix::identity(bits));
}

LinearLayout LinearLayout::zeros(std::string_view in, unsigned bits, std::string_view out,
                                 unsigned outBits) {
  return LinearLayout({{std::string(in), bits}}, {{std::string(out), outBits}},
                      BitMatrix(outBits, std::vector<uint64_t>(bits, 0)));
}

bool LinearLayout::hasInput(std::string_view name) const { return find(ins, name); }
bool LinearLayout::hasOutput(std::string_view name) const { return find(outs, name); }

unsigned LinearLayout::inputBits(std::string_view name) const {
  const LayoutDim *dim = find(ins, name);
  return dim ? dim->bits : 0;
}

unsigned LinearLayout::outputBits(std::string_view name) const {
  const LayoutDim *dim = find(outs, name);
  return dim ? dim->bits : 0;
}

uint64_t LinearLayout::basis(std::string_view in, unsigned bit, std::string_view out) const {
  if (bit >= inputBits(in) || outputBits(out) == 0)
    return 0;
  return bits.column(start(ins, in) + bit) >> start(outs, out) & mask(outputBits(out));
}

Coordinates LinearLayout::apply(const Coordinates &input) const {
  uint64_t image = bits.apply(pack(ins, input));
  Coordinates result;
  for (const LayoutDim &dim : outs) {
    result.emplace_back(dim.name, image & mask(dim.bits));
    image = dim.bits >= 64 ? 0 : image >> dim.bits;
  }
  return result;
}

uint64_t LinearLayout::apply(const Coordinates &input, std::string_view out) const {
  return coordinate(apply(input), out);
}

std::vector<ShiftTerm> LinearLayout::terms(std::string_view in, std::string_view out) const {
  std::map<int, uint64_t> maskOfShift;
  for (unsigned i = 0; i < inputBits(in); ++i)
    for (uint64_t image = basis(in, i, out); image; image &= image - 1)
      maskOfShift[std::countr_zero(image) - static_cast<int>(i)] |= uint64_t(1) << i;
  std::vector<ShiftTerm> result;
  for (auto [shift, bitsMoved] : maskOfShift)
    result.push_back({bitsMoved, shift});
  return result;
}

uint64_t LinearLayout::reach(std::string_view in, std::string_view out) const {
  uint64_t touched = 0;
  for (unsigned i = 0; i < inputBits(in); ++i)
    touched |= basis(in, i, out);
  return touched;
}

bool LinearLayout::isBitPermutation() const {
  for (unsigned i = 0; i < bits.columns(); ++i)
    if (std::popcount(bits.column(i)) != 1)
      return false;
  return isInjective();
}

uint64_t LinearLayout::freeMask(std::string_view in) const {
  if (!hasInput(in) || inputBits(in) == 0)
    return 0;
  return bits.redundantColumns() >> start(ins, in) & mask(inputBits(in));
}

static void printImage(std::ostringstream &os, std::span<const LayoutDim> outs, uint64_t image) {
  const char *separator = "(";
  for (const LayoutDim &dim : outs) {
    os << separator << dim.name << ' ' << (image & mask(dim.bits));
    image = dim.bits >= 64 ? 0 : image >> dim.bits;
    separator = ", ";
  }
  os << (outs.empty() ? "()" : ")");
}

std::string LinearLayout::str() const {
  std::ostringstream os;
  unsigned column = 0;
  for (const LayoutDim &dim : ins) {
    os << dim.name << ':';
    for (unsigned i = 0; i < dim.bits; ++i) {
      os << (i ? ", " : " ") << (uint64_t(1) << i) << " -> ";
      printImage(os, outs, bits.column(column++));
    }
    os << (dim.bits ? "\n" : " one index\n");
  }
  os << "to";
  for (const LayoutDim &dim : outs)
    os << ' ' << dim.name << '[' << dim.size() << ']';
  os << '\n';
  return os.str();
}
