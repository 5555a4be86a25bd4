// The tiles of an iteration in turns: while one is computed, the other is fetched, so that each has one place in LDS. dS
// of both is exchanged at the end of the second's turn and multiplied in the next iteration's first. What that adds to dQ
// goes to memory beneath the next products and in front of the next fetches, so that whoever waits for those does not
// wait for atomics that are newer. Fetches come where products need least of LDS.
//
// docs/notes/2026-11-23-fused-backward.md and 2026-11-25-backward-closed.md say what it brings and why.
tile.schedule @fmha_bwd_fused_in_turns {
  tile.cluster compute interleave("stream powers even") {
    load_rows(0) read_q(0) qk(0) read_q_rest(0) qk_rest(0) spread_sums(0) load_rows_2(0) mask(0) spread_deltas(0)
    read_do(0) dp(0) fetch_q_2(0) fetch_do_2(0) p(0) read_do_rest(0) dp_rest(0) turn_do(0) dv(0) turn_do_rest(0) ds(0)
    dv_rest(0) turn_q(0) dk(0) turn_q_rest(0) dk_rest(0) read_ds(-1) dq(-1)
  }
  tile.cluster compute interleave("stream powers even") {
    add_dq(-1) read_q_2(0) qk_2(0) read_q_rest_2(0) qk_rest_2(0) spread_sums_2(0) mask_2(0) spread_deltas_2(0)
    read_do_2(0) dp_2(0) fetch_q(+1) fetch_do(+1) p_2(0) read_do_rest_2(0) dp_rest_2(0) turn_do_2(0) dv_2(0)
    turn_do_rest_2(0) ds_2(0) dv_rest_2(0) turn_q_2(0) dk_2(0) put_ds(0) turn_q_rest_2(0) dk_rest_2(0)
  }
}
