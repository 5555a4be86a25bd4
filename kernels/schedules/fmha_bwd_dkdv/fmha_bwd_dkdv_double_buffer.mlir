// The next tiles are fetched while these are computed, all waves in lock-step. Products stand between what depends on one
// another: the weights are computed beneath dO V^T, the gradients of scores beneath that of dV.
tile.schedule @fmha_bwd_dkdv_double_buffer {
  tile.cluster compute {
    read_q(0) qk(0) load_rows(+1) fetch_q(+1) fetch_do(+1) spread_sums(0) spread_deltas(0) mask(0)
    read_do(0) dp(0) p(0) turn_do(0) dv(0) ds(0) turn_q(0) dk(0)
  }
}
