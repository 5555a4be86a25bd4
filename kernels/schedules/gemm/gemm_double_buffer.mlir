// Classic two-stage prefetch: the next tile is fetched while this one is multiplied, all waves in
// lock-step.
tile.schedule @gemm_double_buffer unroll(2) {
  tile.cluster compute {
    fetch_b(+1) fetch_a(+1)
    read_b(0) read_a(0) multiply_low(0) multiply_high(0)
  }
}
