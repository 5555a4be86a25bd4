// No overlap: fetch both tiles, wait for all waves, compute, repeat. The reference that every other schedule of dK must
// agree with, bit for bit.
tile.schedule @fmha_bwd_dk_sequential {
  tile.cluster memory { fetch_q(0) fetch_do(0) }
  tile.cluster compute { load_rows(0) spread_sums(0) spread_deltas(0) read_q(0) qk(0) mask(0) p(0) read_do(0) dp(0) ds(0) turn_q(0) dk(0) }
}
