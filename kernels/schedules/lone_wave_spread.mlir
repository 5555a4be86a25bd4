// `lone_wave` where waves have a SIMD to themselves whatever they take of it, in large heads and in grids that leave each
// compute unit one workgroup: reads and fetches are spread so that LDS has as much to do beneath each product. Heads of
// 128 do not fit twice on a compute unit then.
//
// docs/notes/2026-11-25-large-heads.md and docs/notes/2026-11-26-heads-of-192.md have what it brings.
tile.schedule @lone_wave_spread unroll(2) waves(4) {
  tile.cluster compute interleave("spread") { qk(0) read_v(-1) fetch_k(+2) tail(-1) }
  tile.cluster compute interleave("across spread") { mask(0) rescale(-1) settle(0) pv(-1) head(0) read_k(+1) fetch_v(+1) }
}
