// For two workgroups of four waves on a compute unit, whose barriers do not tie one another: what one waits for, or
// computes between its products, the other multiplies through. V lies in LDS, so that a wave has enough with half of a
// SIMD's registers, and products take half of their operands at a time, read a few products ahead. One barrier for a tile.
// Both row values go through LDS at the start of a tile, so that nothing waits for them between its products, and the
// weights are made beneath all of dO V^T.
//
// docs/notes/2026-11-23-two-backwards-on-a-unit.md and 2026-11-24-backward-again.md say what it brings and why.
tile.schedule @fmha_bwd_dkdv_two_on_a_unit waves(4) workgroups(2) masks_apart {
  tile.cluster compute interleave("stream powers") {
    spread_deltas(0) spread_sums(0) load_rows(+1) fetch_q(+1) fetch_do(+1) read_q(0) qk(0) read_q_rest(0) qk_rest(0) mask(0)
    read_do(0) dp(0) read_do_rest(0) dp_rest(0) p(0) turn_do(0) dv(0) turn_do_rest(0) ds(0) dv_rest(0)
    turn_q(0) dk(0) turn_q_rest(0) dk_rest(0)
  }
}
