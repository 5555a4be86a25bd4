tile.kernel @no_bind(%n: i64) target("gfx950") waves(1) {
}
