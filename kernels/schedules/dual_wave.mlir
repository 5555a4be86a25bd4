// Two wave groups, one cluster apart: while one computes, the other moves data. Four clusters,
// unrolled by two for the two slots of each ring: the eight-cluster pipeline.
//
// (0) this tile, (-1) the one before, (+2) two tiles ahead.
tile.schedule @dual_wave unroll(2) wave_groups(2) {
  tile.cluster memory { read_k(0) fetch_v(0) }
  tile.cluster compute priority(1) { qk(0) tail(-1) }
  tile.cluster memory { mask(0) read_v(-1) fetch_k(+2) rescale(-1) settle(0) }
  tile.cluster compute priority(1) { pv(-1) head(0) }
}
