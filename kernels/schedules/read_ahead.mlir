// For large heads, whose workgroups have one wave on a SIMD or two: no other wave moves data while one computes, so each
// wave does both. Beneath each product the operand of the next is read and tiles are fetched. All waves in lock-step.
tile.schedule @read_ahead unroll(2) {
  tile.cluster compute priority(1) interleave("spread") { qk(+1) read_v(0) fetch_k(+3) }
  tile.cluster compute interleave("spread") { mask(+1) rescale(0) settle(+1) pv(0) head(+1) tail(+1) read_k(+2) fetch_v(+2) }
}
