// For two workgroups of four waves on a compute unit, whose barriers do not tie one another: all that needs the matrix
// unit stands in one cluster, with the reads and fetches beneath it, and the softmax of the tile before in another.
// While one workgroup is there, or waits, or begins and ends, the other multiplies. Two barriers for a tile.
//
// Found by hocketc --tune (scripts/tune-schedules.py); docs/notes/2026-11-23-two-on-a-unit.md says why it is ahead.
tile.schedule @both_products unroll(3) waves(4) workgroups(2) {
  tile.cluster compute { mask(-1) settle(-1) head(-1) rescale(-1) }
  tile.cluster compute priority(1) { fetch_k(+3) fetch_v(+2) read_k(+1) tail(-1) qk(0) read_v(0) pv(-1) }
}
