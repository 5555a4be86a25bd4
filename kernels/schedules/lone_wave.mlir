// For one wave on a SIMD, with all of its registers: grids that leave a compute unit one workgroup of four waves. No other
// wave computes while this one waits, so nothing stands alone: half of the exponentials beneath each product, operands
// read beneath the product before, tiles fetched beneath both. Two barriers for a tile.
//
// Found by hocketc --tune (scripts/tune-schedules.py); docs/notes/2026-11-23-two-on-a-unit.md says why it is ahead.
tile.schedule @lone_wave unroll(2) waves(4) {
  tile.cluster compute { qk(0) read_v(-1) fetch_k(+2) tail(-1) }
  tile.cluster compute interleave("across") { mask(0) rescale(-1) settle(0) pv(-1) head(0) read_k(+1) fetch_v(+1) }
}
