// For chips whose tiles pass through registers: the next tile waits there while this one is computed, and is put
// into LDS between two barriers, at the end of the first cluster. One slot a ring leaves LDS for further workgroups.
tile.schedule @register_pipeline {
  tile.cluster memory { }
  tile.cluster compute {
    fetch_k(+1) fetch_v(+1)
    read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0)
  }
}
