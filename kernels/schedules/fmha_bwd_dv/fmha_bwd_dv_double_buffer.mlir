// The next tiles are fetched while these are computed, all waves in lock-step.
tile.schedule @fmha_bwd_dv_double_buffer {
  tile.cluster compute {
    load_rows(+1) fetch_q(+1) fetch_do(+1)
    spread_sums(0) read_q(0) qk(0) mask(0) p(0) turn_do(0) dv(0)
  }
}
