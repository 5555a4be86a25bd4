// `ping_pong` where each 32 elements of a row of Q and K have a scale (mx): those of the next tile's keys are loaded
// beneath the softmax, so that no product waits for them, and after `rescale`, so that it does not wait for them either. K
// is fetched two tiles ahead, so that memory has a whole turn.
//
// docs/notes/2026-11-28-mx-speed.md has figures, and what else was tried.
tile.schedule @ping_pong_scaled unroll(3) wave_groups(2) {
  tile.cluster compute priority(1) interleave("stream prompt") { pv(-1) read_k(0) qk(0) fetch_v(+1) fetch_k(+2) }
  tile.cluster compute { mask(0) settle(0) rescale(0) head(0) load_scales(+1) tail(0) read_v(0) }
}
