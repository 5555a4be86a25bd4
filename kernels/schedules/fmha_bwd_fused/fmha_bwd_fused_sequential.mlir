// No overlap: fetch all tiles, wait for all waves, compute, exchange dS, multiply it, repeat. The reference that every
// other schedule of the fused loop must agree with: dK and dV bit for bit, dQ but for the order in which it is added up.
// What is read is streamed, for want of registers.
tile.schedule @fmha_bwd_fused_sequential {
  tile.cluster memory { fetch_q(0) fetch_do(0) fetch_q_2(0) fetch_do_2(0) }
  tile.cluster compute interleave("stream powers") {
    load_rows(0) load_rows_2(0) read_q(0) qk(0) read_q_rest(0) qk_rest(0) spread_sums(0) mask(0) p(0) turn_do(0) dv(0)
    turn_do_rest(0) dv_rest(0) spread_deltas(0) read_do(0) dp(0) read_do_rest(0) dp_rest(0) ds(0) turn_q(0) dk(0)
    turn_q_rest(0) dk_rest(0)
  }
  tile.cluster compute interleave("stream powers") {
    read_q_2(0) qk_2(0) read_q_rest_2(0) qk_rest_2(0) spread_sums_2(0) mask_2(0) p_2(0) turn_do_2(0) dv_2(0)
    turn_do_rest_2(0) dv_rest_2(0) spread_deltas_2(0) read_do_2(0) dp_2(0) read_do_rest_2(0) dp_rest_2(0) ds_2(0)
    turn_q_2(0) dk_2(0) turn_q_rest_2(0) dk_rest_2(0) put_ds(0)
  }
  tile.cluster compute interleave("stream powers") { read_ds(0) dq(0) add_dq(0) }
}
