// How layouts combine: composition, inverses, products, views through other dimensions.
//
// Every operation first brings the dimensions of its operands into one order and then works on the
// flattened matrices.
#include "Layout/LinearLayout.h"

#include "Flat.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::flat;

static std::string quoted(std::string_view name) { return "'" + std::string(name) + "'"; }

static int position(std::span<const LayoutDim> list, std::string_view name) {
  for (unsigned i = 0; i < list.size(); ++i)
    if (list[i].name == name)
      return static_cast<int>(i);
  return -1;
}

LinearLayout LinearLayout::select(const std::vector<unsigned> &inOrder,
                                  const std::vector<unsigned> &outOrder) const {
  std::vector<LayoutDim> newIns, newOuts;
  for (unsigned i : inOrder)
    newIns.push_back(ins[i]);
  for (unsigned i : outOrder)
    newOuts.push_back(outs[i]);
  std::vector<uint64_t> columns;
  for (const LayoutDim &in : newIns)
    for (unsigned bit = 0; bit < in.bits; ++bit) {
      uint64_t image = 0;
      for (const LayoutDim &out : newOuts)
        if (out.bits)
          image |= basis(in.name, bit, out.name) << start(newOuts, out.name);
      columns.push_back(image);
    }
  unsigned rows = total(newOuts);
  return LinearLayout(std::move(newIns), std::move(newOuts), BitMatrix(rows, std::move(columns)));
}

static std::vector<unsigned> all(std::span<const LayoutDim> list) {
  std::vector<unsigned> order(list.size());
  for (unsigned i = 0; i < order.size(); ++i)
    order[i] = i;
  return order;
}

static std::vector<unsigned> namedFirst(std::span<const LayoutDim> list,
                                        std::span<const std::string_view> names) {
  std::vector<unsigned> order;
  for (std::string_view name : names)
    if (int i = position(list, name); i >= 0 && std::ranges::count(order, unsigned(i)) == 0)
      order.push_back(i);
  for (unsigned i = 0; i < list.size(); ++i)
    if (std::ranges::count(order, i) == 0)
      order.push_back(i);
  return order;
}

static std::vector<unsigned> onlyNamed(std::span<const LayoutDim> list,
                                       std::initializer_list<std::string_view> names) {
  std::vector<unsigned> order;
  for (unsigned i = 0; i < list.size(); ++i)
    if (std::ranges::find(names, list[i].name) != names.end())
      order.push_back(i);
  return order;
}

static std::vector<std::string_view> namesOf(std::span<const LayoutDim> list) {
  std::vector<std::string_view> names;
  for (const LayoutDim &dim : list)
    names.push_back(dim.name);
  return names;
}

LinearLayout LinearLayout::sublayout(std::initializer_list<std::string_view> inNames,
                                     std::initializer_list<std::string_view> outNames) const {
  return select(onlyNamed(ins, inNames), onlyNamed(outs, outNames));
}

LinearLayout LinearLayout::reorderInputs(std::span<const std::string_view> order) const {
  return select(namedFirst(ins, order), all(outs));
}

LinearLayout LinearLayout::reorderOutputs(std::span<const std::string_view> order) const {
  return select(all(ins), namedFirst(outs, order));
}

Result<LinearLayout> LinearLayout::then(const LinearLayout &next) const {
  for (const LayoutDim &out : outs) {
    if (out.bits > next.inputBits(out.name))
      return invalidInput("layout gives " + std::to_string(out.size()) + " indices of " +
                          quoted(out.name) + ", the layout after it takes " +
                          std::to_string(uint64_t(1) << next.inputBits(out.name)));
  }
  std::vector<uint64_t> columns;
  for (unsigned i = 0; i < bits.columns(); ++i) {
    uint64_t image = bits.column(i), input = 0;
    for (const LayoutDim &out : outs) {
      if (out.bits)
        input |= (image & mask(out.bits)) << start(next.ins, out.name);
      image = out.bits >= 64 ? 0 : image >> out.bits;
    }
    columns.push_back(next.bits.apply(input));
  }
  return LinearLayout(ins, next.outs, BitMatrix(next.bits.rows(), std::move(columns)));
}

Result<LinearLayout> LinearLayout::inverse() const {
  if (!isBijective())
    return invalidInput("layout has no inverse: rank " + std::to_string(bits.rank()) + ", " +
                        std::to_string(bits.columns()) + " input bits, " +
                        std::to_string(bits.rows()) + " output bits");
  return LinearLayout(outs, ins, *bits.leftInverse());
}

Result<LinearLayout> LinearLayout::leftInverse() const {
  std::optional<BitMatrix> back = bits.leftInverse();
  if (!back)
    return invalidInput("layout has no left inverse: different inputs have the same output");
  return LinearLayout(outs, ins, *std::move(back));
}

Result<LinearLayout> LinearLayout::rightInverse() const {
  std::optional<BitMatrix> back = bits.rightInverse();
  if (!back)
    return invalidInput("layout has no right inverse: some outputs are never reached");
  return LinearLayout(outs, ins, *std::move(back));
}

Result<LinearLayout> LinearLayout::throughInverse(const LinearLayout &other) const {
  std::vector<std::string_view> names = namesOf(other.outs);
  LinearLayout wanted = reorderOutputs(names);
  if (wanted.outs != other.outs)
    return invalidInput("layouts map to different dimensions; name and size must agree");
  std::vector<uint64_t> columns;
  for (unsigned i = 0; i < wanted.bits.columns(); ++i) {
    std::optional<uint64_t> source = other.bits.solve(wanted.bits.column(i));
    if (!source)
      return invalidInput("layout needs an index that the other layout never reaches");
    columns.push_back(*source);
  }
  return LinearLayout(ins, other.ins, BitMatrix(other.bits.columns(), std::move(columns)));
}

/// The dimensions of `lower` with those of `upper` on top: shared ones grow, new ones are appended.
static std::vector<LayoutDim> stack(std::span<const LayoutDim> lower,
                                    std::span<const LayoutDim> upper) {
  std::vector<LayoutDim> result(lower.begin(), lower.end());
  for (const LayoutDim &dim : upper) {
    int i = position(result, dim.name);
    if (i >= 0)
      result[i].bits += dim.bits;
    else
      result.push_back(dim);
  }
  return result;
}

LinearLayout LinearLayout::operator*(const LinearLayout &upper) const {
  std::vector<LayoutDim> newIns = stack(ins, upper.ins), newOuts = stack(outs, upper.outs);
  std::vector<uint64_t> columns;
  for (const LayoutDim &in : newIns)
    for (unsigned bit = 0; bit < in.bits; ++bit) {
      unsigned ownBits = inputBits(in.name);
      bool own = bit < ownBits;
      uint64_t image = 0;
      for (const LayoutDim &out : newOuts) {
        uint64_t part = own ? basis(in.name, bit, out.name)
                            : upper.basis(in.name, bit - ownBits, out.name) << outputBits(out.name);
        if (part)
          image |= part << start(newOuts, out.name);
      }
      columns.push_back(image);
    }
  unsigned rows = total(newOuts);
  return LinearLayout(std::move(newIns), std::move(newOuts), BitMatrix(rows, std::move(columns)));
}

Result<LinearLayout> LinearLayout::concatInputs(const LinearLayout &other) const {
  for (const LayoutDim &dim : other.ins)
    if (hasInput(dim.name))
      return invalidInput("both layouts have the input " + quoted(dim.name));
  std::vector<LayoutDim> newOuts = outs;
  for (const LayoutDim &dim : other.outs) {
    int i = position(newOuts, dim.name);
    if (i < 0)
      newOuts.push_back(dim);
    else
      newOuts[i].bits = std::max(newOuts[i].bits, dim.bits);
  }
  std::vector<LayoutDim> newIns = ins;
  newIns.insert(newIns.end(), other.ins.begin(), other.ins.end());
  if (total(newIns) > BitMatrix::MaxBits || total(newOuts) > BitMatrix::MaxBits)
    return invalidInput("the combined layout has more than 64 bits");
  std::vector<uint64_t> columns;
  for (const LinearLayout *part : {this, &other})
    for (const LayoutDim &in : part->ins)
      for (unsigned bit = 0; bit < in.bits; ++bit) {
        uint64_t image = 0;
        for (const LayoutDim &out : newOuts)
          if (uint64_t value = part->basis(in.name, bit, out.name))
            image |= value << start(newOuts, out.name);
        columns.push_back(image);
      }
  unsigned rows = total(newOuts);
  return LinearLayout(std::move(newIns), std::move(newOuts), BitMatrix(rows, std::move(columns)));
}

Result<LinearLayout> LinearLayout::concatOutputs(const LinearLayout &other) const {
  for (const LayoutDim &dim : other.outs)
    if (hasOutput(dim.name))
      return invalidInput("both layouts have the output " + quoted(dim.name));
  std::vector<std::string_view> names = namesOf(ins);
  LinearLayout aligned = other.reorderInputs(names);
  if (aligned.ins != ins)
    return invalidInput("layouts map from different dimensions; name and size must agree");
  std::vector<LayoutDim> newOuts = outs;
  newOuts.insert(newOuts.end(), other.outs.begin(), other.outs.end());
  if (total(newOuts) > BitMatrix::MaxBits)
    return invalidInput("the combined layout has more than 64 bits");
  std::vector<uint64_t> columns;
  for (unsigned i = 0; i < bits.columns(); ++i) {
    uint64_t upper = aligned.bits.column(i);
    columns.push_back(bits.column(i) | (upper ? upper << bits.rows() : 0));
  }
  unsigned rows = total(newOuts);
  return LinearLayout(ins, std::move(newOuts), BitMatrix(rows, std::move(columns)));
}

static std::vector<LayoutDim> renamed(std::vector<LayoutDim> list, std::string_view from,
                                      std::string_view to) {
  for (LayoutDim &dim : list)
    if (dim.name == from)
      dim.name = to;
  return list;
}

LinearLayout LinearLayout::renameInput(std::string_view from, std::string_view to) const {
  return LinearLayout(renamed(ins, from, to), outs, bits);
}

LinearLayout LinearLayout::renameOutput(std::string_view from, std::string_view to) const {
  return LinearLayout(ins, renamed(outs, from, to), bits);
}

LinearLayout LinearLayout::flattenInputs(std::string_view name) const {
  return LinearLayout({{std::string(name), bits.columns()}}, outs, bits);
}

LinearLayout LinearLayout::flattenOutputs(std::string_view name) const {
  return LinearLayout(ins, {{std::string(name), bits.rows()}}, bits);
}

/// `dims`, of which `name` is two.
static std::vector<LayoutDim> split(const std::vector<LayoutDim> &dims, std::string_view name, std::string_view low,
                                    unsigned lowBits, std::string_view high) {
  std::vector<LayoutDim> result;
  for (const LayoutDim &dim : dims) {
    if (dim.name != name) {
      result.push_back(dim);
      continue;
    }
    unsigned taken = std::min(lowBits, dim.bits);
    result.push_back({std::string(low), taken});
    result.push_back({std::string(high), dim.bits - taken});
  }
  return result;
}

LinearLayout LinearLayout::splitInput(std::string_view name, std::string_view low, unsigned lowBits,
                                      std::string_view high) const {
  return LinearLayout(split(ins, name, low, lowBits, high), outs, bits);
}

LinearLayout LinearLayout::splitOutput(std::string_view name, std::string_view low, unsigned lowBits,
                                       std::string_view high) const {
  return LinearLayout(ins, split(outs, name, low, lowBits, high), bits);
}

LinearLayout LinearLayout::scaleOutput(std::string_view out, unsigned extraBits) const {
  std::vector<LayoutDim> newOuts = outs;
  int scaled = position(outs, out);
  if (scaled < 0)
    return *this;
  newOuts[scaled].bits += extraBits;
  unsigned at = start(outs, out);
  std::vector<uint64_t> columns;
  for (unsigned i = 0; i < bits.columns(); ++i) {
    uint64_t image = bits.column(i), below = image & mask(at);
    columns.push_back(below | (image & ~mask(at)) << extraBits);
  }
  unsigned rows = total(newOuts);
  return LinearLayout(ins, std::move(newOuts), BitMatrix(rows, std::move(columns)));
}

static std::vector<LayoutDim> sortedNonTrivial(std::span<const LayoutDim> list) {
  std::vector<LayoutDim> result;
  std::ranges::copy_if(list, std::back_inserter(result), [](const LayoutDim &d) { return d.bits; });
  std::ranges::sort(result, {}, &LayoutDim::name);
  return result;
}

bool LinearLayout::equivalent(const LinearLayout &other) const {
  std::vector<LayoutDim> commonIns = sortedNonTrivial(ins), commonOuts = sortedNonTrivial(outs);
  if (commonIns != sortedNonTrivial(other.ins) || commonOuts != sortedNonTrivial(other.outs))
    return false;
  for (const LayoutDim &in : commonIns)
    for (unsigned bit = 0; bit < in.bits; ++bit)
      for (const LayoutDim &out : commonOuts)
        if (basis(in.name, bit, out.name) != other.basis(in.name, bit, out.name))
          return false;
  return true;
}
