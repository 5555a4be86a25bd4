// `both_products` with one barrier for a tile: what multiplies is joined to the softmax in front of it, since nothing goes
// through LDS from one to the other. Where the row sums of weights before rounding are kept too, for LSE, the softmax is
// so long that without the second barrier two workgroups on a compute unit still take turns; without them, one would get
// ahead of the other.
//
// docs/notes/2026-11-25-large-heads.md has the figures.
tile.schedule @both_products_joined unroll(3) waves(4) workgroups(2) {
  tile.cluster compute { mask(-1) settle(-1) head(-1) rescale(-1) }
  tile.cluster joined compute priority(1) { fetch_k(+3) fetch_v(+2) read_k(+1) tail(-1) qk(0) read_v(0) pv(-1) }
}
