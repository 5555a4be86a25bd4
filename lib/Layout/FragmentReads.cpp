// Solves for read addresses: splits a fragment's registers into instructions, undoes the
// transposition where there is one, and checks that each lane's bytes are contiguous.
#include "Layout/FragmentReads.h"

#include "Layout/Log2.h"

#include <bit>

using namespace hocket;

static constexpr std::string_view Element = "element";

static LinearLayout bits(std::string_view in, std::string_view out, unsigned count) {
  return LinearLayout::identity(in, out, count);
}

Result<LinearLayout> hocket::transposedReadMap(unsigned elementBits) {
  if (elementBits != 4 && elementBits != 8 && elementBits != 16)
    return unsupported("no transposing LDS read of 8 bytes has elements of " +
                       std::to_string(elementBits) + " bits; there are 4, 8 and 16");
  unsigned elementsLog = log2(64 / elementBits);
  return bits(dims::Lane, Element, elementsLog) * bits(dims::Lane, dims::Lane, 4 - elementsLog) *
         bits(dims::Register, dims::Lane, elementsLog) * bits(dims::Lane, dims::Lane, 2);
}

/// What columns are counted in until a read's are known to be whole bytes: bytes, or elements of which a byte has several.
static unsigned unitBits(unsigned elementBits) { return elementBits < 8 ? elementBits : 8; }

/// `layout`, whose bytes were counted in elements of `elementBits` bits, in bytes.
static LinearLayout inBytes(const LinearLayout &layout, unsigned elementBits) {
  const unsigned shift = log2(8 / unitBits(elementBits));
  if (shift == 0)
    return layout;
  return layout.renameOutput(dims::Byte, "unit").splitOutput("unit", "within", shift, dims::Byte)
      .sublayout({dims::Register, dims::Lane, dims::Wave}, {dims::Row, dims::Byte});
}

/// (element, register, lane, ...) -> (row, byte) from a fragment in which `elements` consecutive
/// registers belong to one instruction.
static Result<LinearLayout> byInstruction(const LinearLayout &fragment, const FragmentDims &names,
                                          unsigned elementBits, unsigned elements) {
  if (elementBits != 4 && elementBits != 8 && elementBits != 16 && elementBits != 32)
    return unsupported("no read addresses for elements of " + std::to_string(elementBits) +
                       " bits; known are 4, 8, 16 and 32");
  if (!fragment.hasOutput(names.row) || !fragment.hasOutput(names.col))
    return invalidInput("fragment has no dimensions '" + std::string(names.row) + "' and '" +
                        std::string(names.col) + "'");
  if (elements == 0 || !std::has_single_bit(elements) ||
      fragment.inputBits(dims::Register) < log2(elements))
    return invalidInput("a read gives each lane " + std::to_string(elements) +
                        " elements, the fragment has " +
                        std::to_string(uint64_t(1) << fragment.inputBits(dims::Register)));
  return fragment.splitInput(dims::Register, Element, log2(elements), dims::Register)
      .sublayout({Element, dims::Register, dims::Lane, dims::Wave}, {names.row, names.col})
      .renameOutput(names.col, dims::Byte) // first: the column may be called "row"
      .renameOutput(names.row, dims::Row)
      .scaleOutput(dims::Byte, log2(elementBits / unitBits(elementBits)));
}

/// Drops `element` after checking that it counts consecutive columns and touches nothing else.
static Result<LinearLayout> withoutElement(const LinearLayout &layout, unsigned elementBits) {
  unsigned elementsLog = layout.inputBits(Element);
  const uint64_t units = elementBits / unitBits(elementBits), within = (units << elementsLog) - 1;
  for (unsigned i = 0; i < elementsLog; ++i)
    if (layout.basis(Element, i, dims::Byte) != units << i ||
        layout.basis(Element, i, dims::Row) != 0)
      return unsupported("the elements that one LDS read gives a lane are not contiguous in this "
                         "fragment; use a narrower read or another fragment layout");
  LinearLayout result =
      layout.sublayout({dims::Register, dims::Lane, dims::Wave}, {dims::Row, dims::Byte});
  for (std::string_view in : {dims::Register, dims::Lane, dims::Wave})
    if (result.reach(in, dims::Byte) & within)
      return unsupported("an LDS read of this fragment would not be aligned to its width; use a "
                         "narrower read or another fragment layout");
  return inBytes(result, elementBits);
}

Result<LinearLayout> hocket::directReads(const LinearLayout &fragment, const FragmentDims &names,
                                         unsigned elementBits, unsigned bytes) {
  if (elementBits == 0)
    return invalidInput("elements have 0 bits");
  Result<LinearLayout> split = byInstruction(fragment, names, elementBits, bytes * 8 / elementBits);
  if (!split)
    return split;
  return withoutElement(*split, elementBits);
}

Result<GatheredReads> hocket::gatheredReads(const LinearLayout &fragment, const FragmentDims &names,
                                            unsigned elementBits, unsigned bytes) {
  if (elementBits == 0)
    return invalidInput("elements have 0 bits");
  Result<LinearLayout> split = byInstruction(fragment, names, elementBits, bytes * 8 / elementBits);
  if (!split)
    return split.error();
  GatheredReads reads;
  for (unsigned bit = 0; bit < split->inputBits(Element); ++bit) {
    uint64_t row = split->basis(Element, bit, dims::Row);
    if (!std::has_single_bit(row) || split->basis(Element, bit, dims::Byte) != 0)
      return unsupported("the elements that one LDS read gives a lane do not lie in one column of "
                         "this fragment; use another fragment layout");
    reads.rows.push_back(log2(row));
  }
  reads.access =
      split->sublayout({dims::Register, dims::Lane, dims::Wave}, {dims::Row, dims::Byte});
  return reads;
}

Result<LinearLayout> hocket::transposedReads(const LinearLayout &fragment,
                                             const FragmentDims &names, unsigned elementBits) {
  Result<LinearLayout> map = transposedReadMap(elementBits);
  if (!map)
    return map;
  Result<LinearLayout> split = byInstruction(fragment, names, elementBits, 64 / elementBits);
  if (!split)
    return split;
  // (element, lane) fetched -> (element, lane) received; other inputs pass through.
  Result<LinearLayout> received = map->inverse();
  if (!received)
    return received;
  LinearLayout pass = received->renameOutput(dims::Register, Element);
  for (const LayoutDim &dim : split->inputs())
    if (dim.name != Element && dim.name != dims::Lane)
      pass = pass * bits(dim.name, dim.name, dim.bits);
  Result<LinearLayout> fetched = pass.then(*split);
  if (!fetched)
    return fetched;
  return withoutElement(*fetched, elementBits);
}
