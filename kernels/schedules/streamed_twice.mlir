// For heads of 256 and two workgroups of four waves on a compute unit: each operand is read from LDS right in front of the
// product that needs it, so that O is the only large value that waits, and a kernel takes half of the registers. While
// one wave of a SIMD is at a barrier or settles its rows, the other multiplies. Tiles of 32 keys.
//
// Found by hocketc --tune, operands read in streams and the last cluster joined by hand;
// docs/notes/2026-11-25-search-closed.md has figures.
tile.schedule @streamed_twice unroll(2) waves(4) workgroups(2) {
  tile.cluster compute interleave("stream") { fetch_k(+1) read_k(0) qk(0) }
  tile.cluster compute priority(1) interleave("across stream") {
    mask(0) tail(-1) settle(0) fetch_v(0) head(0) read_v(-1) pv(-1)
  }
  tile.cluster joined memory { rescale(0) }
}
