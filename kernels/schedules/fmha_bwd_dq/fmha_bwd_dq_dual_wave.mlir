// Two wave groups, one cluster apart: while one computes, the other moves data. The gradient of a tile's scores is made
// beneath the next tile's scores, its product is added beneath the next reads, and the weights are made beneath dP. V
// comes three tiles ahead: its last fetch stands beneath a product. It is read after the scores are modified, which
// leaves a modification the registers that V's operand takes.
//
// Found by hocketc --tune; docs/notes/2026-11-23-two-backwards-on-a-unit.md has the figures.
tile.schedule @fmha_bwd_dq_dual_wave unroll(2) wave_groups(2) masks_apart {
  tile.cluster memory priority(1) { read_k(0) fetch_k(+2) }
  tile.cluster compute priority(1) { qk(0) ds(-1) }
  tile.cluster compute { turn_k(-1) mask(0) dq(-1) read_v(0) fetch_v(+3) }
  tile.cluster compute interleave("powers") { dp(0) p(0) }
}
