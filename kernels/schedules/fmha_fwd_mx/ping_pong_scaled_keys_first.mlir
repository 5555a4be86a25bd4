// `ping_pong_scaled` with the first product first: of fp4, K takes half the registers that V does, so that it is K which is
// read beneath the softmax, and V right in front of each instruction that needs it. Both tiles have a whole turn to
// arrive, and so have scales, which are loaded two tiles ahead.
//
// docs/notes/2026-11-28-mx-speed.md has figures, and what else was tried.
tile.schedule @ping_pong_scaled_keys_first unroll(3) wave_groups(2) {
  tile.cluster compute priority(1) interleave("stream prompt") { qk(0) read_v(-1) pv(-1) fetch_k(+2) fetch_v(+1) }
  tile.cluster compute { mask(0) settle(0) rescale(0) head(0) load_scales(+2) tail(0) read_k(+1) }
}
