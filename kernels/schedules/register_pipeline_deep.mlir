// For chips whose tiles pass through registers, and heads above 64: the softmax lies a tile behind its scores and the
// second product another one, so that no product waits for what stands in its own cluster, and a workgroup multiplies
// while others that share the compute unit settle their rows. Found by `hocketc --tune` for gfx942
// (docs/notes/2026-11-23-gfx942.md).
tile.schedule @register_pipeline_deep unroll(2) {
  tile.cluster compute { fetch_k(+1) mask(-1) settle(-1) head(-1) pv(-2) }
  tile.cluster compute priority(1) { fetch_v(+1) read_k(+1) qk(0) tail(-1) rescale(-1) read_v(-1) }
}
