// The next tiles are fetched while these are computed, all waves in lock-step.
tile.schedule @fmha_bwd_dq_double_buffer unroll(2) {
  tile.cluster compute {
    fetch_k(+1) fetch_v(+1)
    read_k(0) qk(0) mask(0) p(0) read_v(0) dp(0) ds(0) turn_k(0) dq(0)
  }
}
