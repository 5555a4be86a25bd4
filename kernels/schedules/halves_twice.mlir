// Heads of 192 and 256 beneath a causal mask, with LSE, for two workgroups of four waves on a compute unit: a product in a
// cluster of its own with half of the softmax each, operands read right in front of it, so that waves of both workgroups
// multiply and settle their rows by turns. V is fetched beneath neither, K beneath the second. Tiles of 32 keys.
//
// Found by hocketc --tune (scripts/tune-schedules.py); docs/notes/2026-11-26-heads-of-192.md has figures.
tile.schedule @halves_twice unroll(2) waves(4) workgroups(2) {
  tile.cluster memory { fetch_v(0) }
  tile.cluster compute interleave("stream") { settle(-1) rescale(-1) read_k(0) qk(0) head(-1) }
  tile.cluster compute interleave("stream") { mask(0) fetch_k(+2) tail(-1) read_v(-1) pv(-1) }
}
