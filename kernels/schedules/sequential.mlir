// No overlap: fetch both tiles, wait for all waves, compute, repeat. The reference that every other
// schedule of the same algorithm must agree with, bit for bit.
tile.schedule @sequential attributes {tile.default} {
  tile.cluster memory { fetch_k(0) fetch_v(0) }
  tile.cluster compute { read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) }
}
