// From a fragment's layout to the addresses that LDS reads must use.
//
// A fragment layout says which element of a tile each (register, lane) must end up with. An LDS
// read gives every lane a few consecutive bytes, directly (ds_read_b64, b128) or transposed within
// groups of 16 lanes (ds_read_b64_tr_b16). These functions turn the first into the second: for each
// instruction and lane the (row, byte) of the tile to read from, or an error if such a read cannot
// produce that fragment. Composing the result with an LDS tile's layout gives addresses.
//
// The transposed read (docs/Hardware.md 2.3, settled in 7). In a group of 16 lanes, lane i fetches
// 8 bytes H[i][0..3] of its own address; then lane j gets as element r H[4r + j/4][j%4]. As bits:
// the low bits of j choose the element, the high bits of j and then r choose the source lane.
//
//   wanted (register, lane) -> (k, col)
//   tr     (register, lane) -> (source lane, element)         wanted = tr, then the address map
//   so     address map = inverse(tr), then wanted:            (source lane, element) -> (k, col)
//
// which is a legal address map exactly when element e lies e columns after element 0.
#pragma once

#include "Layout/LinearLayout.h"

namespace hocket {

/// (register, lane) -> (element, lane): which element of which lane's fetched 8 bytes a lane gets
/// from one transposing read of elements of 4, 8 or 16 bits.
Result<LinearLayout> transposedReadMap(unsigned elementBits);

/// How a fragment's outputs lie in memory: `col` is contiguous.
struct FragmentDims {
  std::string_view row = dims::Row;
  std::string_view col = dims::Col;
};

/// (register, lane, ...) -> (row, byte) of the reads of `bytes` bytes a lane whose results, one
/// after the other, are `fragment`: (register, lane, ...) -> (row, col), a register being one
/// element of `elementBits` bits (8, 16 or 32). Register i of the result is instruction i. An error
/// if the elements of one instruction are not contiguous.
Result<LinearLayout> directReads(const LinearLayout &fragment, const FragmentDims &names,
                                 unsigned elementBits, unsigned bytes);

/// Reads of `bytes` bytes a lane whose elements run over rows instead of columns.
struct GatheredReads {
  LinearLayout access;        ///< (register, lane, ...) -> (row, byte) of the first element
  std::vector<unsigned> rows; ///< the bits of the row that count the elements, from the lowest
};

/// As directReads, for a fragment whose consecutive elements lie in different rows of one column:
/// an LDS layout must put those rows next to each other. An error if they do not.
Result<GatheredReads> gatheredReads(const LinearLayout &fragment, const FragmentDims &names,
                                    unsigned elementBits, unsigned bytes);

/// The same for transposing reads of 8 bytes a lane: (row, byte) is what each lane passes as its
/// address.
Result<LinearLayout> transposedReads(const LinearLayout &fragment, const FragmentDims &names,
                                     unsigned elementBits);

} // namespace hocket
