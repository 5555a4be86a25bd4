// streamed_twice for heads of 256 whose kernels keep more rows' numbers, with a causal mask and LSE: the reads of the
// second product are spread over it rather than in front of each of its instructions, which takes four registers less,
// and both tiles are fetched beneath the first product, which LDS is idle beneath once its operand is read.
//
// docs/notes/2026-11-26-streamed-twice-causal.md has figures.
tile.schedule @spread_twice unroll(2) waves(4) workgroups(2) {
  tile.cluster compute interleave("stream") { fetch_k(+1) fetch_v(0) read_k(0) qk(0) }
  tile.cluster compute priority(1) interleave("across spread") {
    mask(0) tail(-1) settle(0) head(0) read_v(-1) pv(-1)
  }
  tile.cluster joined memory { rescale(0) }
}
