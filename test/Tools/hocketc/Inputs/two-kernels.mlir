tile.kernel @first(%n: i64) target("gfx950") waves(1) {
}
tile.kernel @second(%n: i32) target("gfx950") waves(16) {
}
