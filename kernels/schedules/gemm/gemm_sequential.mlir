// No overlap: fetch both tiles, wait for all waves, multiply, repeat. The reference that every other
// schedule of the same product must agree with, bit for bit.
tile.schedule @gemm_sequential {
  tile.cluster memory { fetch_b(0) fetch_a(0) }
  tile.cluster compute { read_b(0) read_a(0) multiply_low(0) multiply_high(0) }
}
