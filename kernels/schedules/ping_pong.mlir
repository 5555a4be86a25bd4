// Two wave groups that take turns at the matrix unit: while one multiplies, both products in one cluster, the other has the
// whole softmax, and the vector unit. For Q, K and V of 8 bits and tiles of 128 keys, where both take as long. The second
// product of a tile comes first: its operand is read beneath the softmax, so that nothing waits when the turn begins, and K
// is read right in front of each instruction that needs it.
//
// docs/notes/2026-11-27-fp8-forward.md has figures, and what else was tried.
tile.schedule @ping_pong unroll(3) wave_groups(2) {
  tile.cluster compute priority(1) interleave("stream prompt") { pv(-1) read_k(0) qk(0) fetch_k(+1) fetch_v(+1) }
  tile.cluster compute { mask(0) settle(0) rescale(0) head(0) tail(0) read_v(0) }
}
