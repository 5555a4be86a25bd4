// `lone_wave` in half of the registers, for two workgroups of four waves on a compute unit that start together: causal
// grids of up to 512 blocks of 128 rows, where one workgroup with much to do shares its unit with one that has little
// (block order `paired`), and is alone on it once that has ended. The first product's reads are issued as it needs
// them, which costs it little and makes the difference between 276 registers and 253.
//
// docs/notes/2026-11-24-fits-twice.md has what else was tried.
tile.schedule @lone_wave_streamed unroll(2) waves(4) workgroups(2) {
  tile.cluster compute interleave("stream") { qk(0) read_v(-1) fetch_k(+2) tail(-1) }
  tile.cluster compute interleave("across") { mask(0) rescale(-1) settle(0) pv(-1) head(0) read_k(+1) fetch_v(+1) }
}
