// fmha_bwd_dkdv_two_on_a_unit where workgroups follow one another on a compute unit and no mask makes them unlike: halves of
// dV and dK alternate, so that the halves of one sum, which wait for one another, have a product of the other between them.
//
// docs/notes/2026-11-27-lost-speed.md says what it brings, and why a causal mask keeps the other order.
tile.schedule @fmha_bwd_dkdv_two_on_a_unit_alternate waves(4) workgroups(2) masks_apart {
  tile.cluster compute interleave("stream powers") {
    spread_deltas(0) spread_sums(0) load_rows(+1) fetch_q(+1) fetch_do(+1) read_q(0) qk(0) read_q_rest(0) qk_rest(0) mask(0)
    read_do(0) dp(0) read_do_rest(0) dp_rest(0) p(0) ds(0) turn_do(0) dv(0) turn_q(0) dk(0)
    turn_do_rest(0) dv_rest(0) turn_q_rest(0) dk_rest(0)
  }
}
