// For heads of 192 and two workgroups of four waves on a compute unit: the products stand in clusters of their own, the
// second with the softmax of the tile before and two tiles behind its scores, so that neither waits for what is beside it.
// While one workgroup reads V or waits, the other multiplies. Without LSE; tiles of 32 keys.
//
// Found by hocketc --tune (scripts/tune-schedules.py); docs/notes/2026-11-26-heads-of-192.md has figures.
tile.schedule @products_apart unroll(2) waves(4) workgroups(2) {
  tile.cluster compute { fetch_v(0) mask(-1) tail(-2) settle(-1) read_k(0) head(-1) pv(-2) }
  tile.cluster compute priority(1) { rescale(-1) qk(0) read_v(-1) }
  tile.cluster memory { fetch_k(+2) }
}
