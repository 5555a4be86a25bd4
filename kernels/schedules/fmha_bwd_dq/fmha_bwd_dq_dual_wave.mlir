// Two wave groups, one cluster apart: while one computes, the other moves data. The gradient of a tile's scores is made
// beneath the next tile's scores, and its product is added beneath the weights.
tile.schedule @fmha_bwd_dq_dual_wave unroll(2) wave_groups(2) {
  tile.cluster memory { read_k(0) fetch_k(+2) }
  tile.cluster compute priority(1) { qk(0) ds(-1) }
  tile.cluster memory { turn_k(-1) read_v(0) fetch_v(+2) mask(0) }
  tile.cluster compute priority(1) { dq(-1) dp(0) p(0) }
}
