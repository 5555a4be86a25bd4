// Two wave groups, one cluster apart: while one multiplies, the other reads its operands or fetches.
// A tile's slot is free once both groups have read it, and is filled for two tiles later in between
// the two halves of the product: two slots a ring are enough.
tile.schedule @gemm_dual_wave unroll(2) wave_groups(2) {
  tile.cluster memory { read_b(0) read_a(0) }
  tile.cluster compute priority(1) { multiply_low(0) }
  tile.cluster memory { fetch_b(+2) fetch_a(+2) }
  tile.cluster compute priority(1) { multiply_high(0) }
}
