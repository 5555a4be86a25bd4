// Scores run 3 tiles ahead of P V: the weights of 3 tiles wait in registers, 16 bits each, with their rescale
// factors. The second half of a tile's weights is made beneath the next scores' product. All waves in lock-step.
tile.schedule @preload_3 unroll(2) waves(4) {
  tile.cluster memory { read_k(+3) fetch_v(+1) }
  tile.cluster compute { qk(+3) tail(+2) }
  tile.cluster memory { mask(+3) read_v(0) fetch_k(+5) rescale(0) settle(+3) }
  tile.cluster compute { pv(0) head(+3) }
}
