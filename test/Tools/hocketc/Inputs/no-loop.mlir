tile.schedule @s {
  tile.cluster compute { a(0) }
}
tile.kernel @nothing(%n: i32) target("gfx950") waves(1) {
}
