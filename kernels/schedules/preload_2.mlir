// Scores run 2 tiles ahead of P V: the weights of 2 tiles wait in registers, 16 bits each, with their rescale
// factors. The second half of a tile's weights is made beneath the next scores' product. O is rescaled early, which
// leaves registers for what follows. All waves in lock-step.
tile.schedule @preload_2 unroll(2) {
  tile.cluster memory { read_k(+2) fetch_v(+1) rescale(0) }
  tile.cluster compute { qk(+2) tail(+1) }
  tile.cluster memory { mask(+2) read_v(0) fetch_k(+4) settle(+2) }
  tile.cluster compute { pv(0) head(+2) }
}
