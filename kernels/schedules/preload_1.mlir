// Scores run 1 tile ahead of P V: the weights of 1 tile wait in registers, 16 bits each, with their rescale
// factors. The second half of a tile's weights is made beneath the next scores' product. All waves in lock-step.
tile.schedule @preload_1 unroll(2) {
  tile.cluster memory { read_k(+1) fetch_v(+1) }
  tile.cluster compute { qk(+1) tail(0) }
  tile.cluster memory { mask(+1) read_v(0) fetch_k(+3) rescale(0) settle(+1) }
  tile.cluster compute { pv(0) head(+1) }
}
