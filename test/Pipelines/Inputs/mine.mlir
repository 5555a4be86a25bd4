// Three clusters: scores and output apart.
tile.schedule @mine {
  tile.cluster memory { fetch_k(0) fetch_v(0) }
  tile.cluster compute { read_k(0) qk(0) mask(0) settle(0) }
  tile.cluster compute { head(0) tail(0) rescale(0) read_v(0) pv(0) }
}
