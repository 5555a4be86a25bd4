// How keys are cut into slices, for plans, which count tiles, and for kernels, which visit them. As in WorkFormulas.h
// arithmetic is a parameter: `Arithmetic` has the type `Number`, and add, mul, min, divMod (quotient and remainder) and
// isLess (1 or 0).
#pragma once

namespace hocket::attention {

/// Tiles of a slice: the number of the first, counted from the first that any slice has, and how many.
template <typename Number> struct SliceTiles {
  Number first, count;
};

/// Those of `slice` of `splits`, of `tiles`: none has more than one more than another, and the longer ones come first.
template <typename Arithmetic>
SliceTiles<typename Arithmetic::Number> tilesOfSlice(Arithmetic &a, typename Arithmetic::Number tiles,
                                                     typename Arithmetic::Number splits,
                                                     typename Arithmetic::Number slice) {
  using Number = typename Arithmetic::Number;
  auto [share, longer] = a.divMod(tiles, splits);
  Number isLonger = a.isLess(slice, longer);
  Number count = a.add(share, isLonger);
  Number even = a.mul(slice, share), longerBefore = a.min(slice, longer);
  return {a.add(even, longerBefore), count};
}

} // namespace hocket::attention
