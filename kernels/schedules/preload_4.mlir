// Scores run 4 tiles ahead of P V: the weights of 4 tiles wait in registers, 16 bits each, with their rescale
// factors. The second half of a tile's weights is made beneath the next scores' product. All waves in lock-step.
tile.schedule @preload_4 unroll(2) waves(4) {
  tile.cluster memory { read_k(+4) fetch_v(+1) }
  tile.cluster compute { qk(+4) tail(+3) }
  tile.cluster memory { mask(+4) read_v(0) fetch_k(+6) rescale(0) settle(+4) }
  tile.cluster compute { pv(0) head(+4) }
}
