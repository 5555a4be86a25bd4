// The next tiles are fetched while these are computed, all waves in lock-step.
tile.schedule @fmha_bwd_dk_double_buffer {
  tile.cluster compute interleave("powers") {
    load_rows(+1) fetch_q(+1) fetch_do(+1)
    spread_sums(0) spread_deltas(0) read_q(0) qk(0) mask(0) read_do(0) dp(0) p(0) ds(0) turn_q(0) dk(0)
  }
}
