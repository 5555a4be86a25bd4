// `ping_pong_scaled` for Q and K of fp4, whose products take half the time of a read of K from LDS: K is read, and fetched, a
// tile further ahead, beneath the softmax.
tile.schedule @ping_pong_mxfp4 unroll(3) wave_groups(2) {
  tile.cluster compute priority(1) interleave("stream prompt") { pv(-1) qk(0) fetch_k(+2) fetch_v(+1) }
  tile.cluster compute { load_scales(+1) mask(0) settle(0) rescale(0) head(0) tail(0) read_v(0) read_k(+1) }
}
