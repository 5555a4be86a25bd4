// No overlap: fetch both tiles, wait for all waves, compute, repeat. The reference that every other schedule of dQ must
// agree with, bit for bit.
tile.schedule @fmha_bwd_dq_sequential {
  tile.cluster memory { fetch_k(0) fetch_v(0) }
  tile.cluster compute { read_k(0) qk(0) mask(0) p(0) read_v(0) dp(0) ds(0) turn_k(0) dq(0) }
}
