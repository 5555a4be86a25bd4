// Forward attention, head dimension 128, bf16, causal (bottom-right), with LSE.
tile.schedule @sequential {
  tile.cluster memory { fetch_k(0) fetch_v(0) }
  tile.cluster compute { read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) }
}

tile.kernel @fmha_fwd_d128_bf16_causal(
    %q: !tile.view<?x?x?x128xbf16> {tile.bind = "q"}, %k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"},
    %v: !tile.view<?x?x?x128xbf16> {tile.bind = "v"}, %o: !tile.view<?x?x?x128xbf16> {tile.bind = "o"},
    %lse: !tile.view<?x?x?xf32> {tile.bind = "lse"}, %scale: f32 {tile.bind = "scale"})
    target("gfx950") waves(8) {
  %batch, %head, %block = tile.block_id %q rows(256) : !tile.view<?x?x?x128xbf16>
  %kv_head = tile.group_head %head of %q in %k : !tile.view<?x?x?x128xbf16>, !tile.view<?x?x?x128xbf16>
  %row = tile.wave_row %block rows(32)
  %K = tile.ring %k[%batch, %kv_head] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %V = tile.ring %v[%batch, %kv_head] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %Q = tile.load %q[%batch, %row, %head] : !tile.view<?x?x?x128xbf16> -> !tile.frag<128x32xbf16, rhs>
  %n = arith.constant 3 : i32
  %zero = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  %o0 = tile.fill 0.0 : !tile.frag<128x32xf32, acc>
  %m0 = tile.fill 0.0 : !tile.rows<32xf32>
  %acc = tile.for_tiles %t = 0 to %n init(%a = %o0 : !tile.frag<128x32xf32, acc>) schedule(@sequential) {
    tile.step @fetch_k { tile.fetch %K[%t] : !tile.ring<64x128xbf16> }
    %Kt = tile.step @read_k -> !tile.frag<64x128xbf16, lhs> {
      %x = tile.read %K[%t] : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
      tile.yield %x : !tile.frag<64x128xbf16, lhs>
    }
    %s = tile.step @qk -> !tile.frag<64x32xf32, acc> {
      %x = tile.mma %Kt, %Q, %zero : !tile.frag<64x128xbf16, lhs>, !tile.frag<128x32xbf16, rhs>, !tile.frag<64x32xf32, acc>
      tile.yield %x : !tile.frag<64x32xf32, acc>
    }
    tile.yield %a : !tile.frag<128x32xf32, acc>
  }
}
