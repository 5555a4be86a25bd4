tile.kernel @no_bind(%0: i64) target("gfx950") waves(1) {
}
