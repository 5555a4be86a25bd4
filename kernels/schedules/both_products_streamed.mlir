// `both_products` for heads of 192 with LSE, in half of the registers: both products in one cluster, K read right in front
// of each instruction that needs it, and the softmax joined to them with V's read: one barrier in front of what
// multiplies, one behind it. Tiles of 32 keys.
//
// Found by hocketc --tune (scripts/tune-schedules.py); docs/notes/2026-11-26-heads-of-192.md has figures.
tile.schedule @both_products_streamed unroll(3) waves(4) workgroups(2) {
  tile.cluster memory priority(1) { fetch_k(+1) }
  tile.cluster joined compute priority(1) interleave("stream") { fetch_v(+2) read_k(0) qk(0) tail(-1) pv(-1) }
  tile.cluster joined memory { mask(0) settle(0) head(0) rescale(0) read_v(0) }
}
