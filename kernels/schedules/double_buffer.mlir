// Classic two-stage prefetch: the next tile is fetched while this one is computed, all waves in
// lock-step. What settles and what rescales ask the same, and are one branch where nothing stands between.
tile.schedule @double_buffer unroll(2) {
  tile.cluster compute {
    fetch_k(+1) fetch_v(+1)
    read_k(0) qk(0) mask(0) settle(0) rescale(0) head(0) tail(0) read_v(0) pv(0)
  }
}
