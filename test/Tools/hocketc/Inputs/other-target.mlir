tile.kernel @other(%n: i32) target("gfx1100") waves(1) {
}
