// `ping_pong_scaled_keys_first` where V has scales, too (f4E2M1FN): of four bits both operands take few registers, and so do
// scales, which are loaded beneath the softmax a tile and more ahead.
//
// docs/notes/2026-11-28-four-bits.md has figures, and what else was tried.
tile.schedule @ping_pong_scaled_values unroll(3) wave_groups(2) {
  tile.cluster compute priority(1) interleave("stream prompt") { qk(0) read_v(-1) pv(-1) fetch_k(+2) fetch_v(+1) }
  tile.cluster compute { mask(0) settle(0) rescale(0) head(0) load_scales(+2) load_v_scales(+1) tail(0) read_k(+1) }
}
