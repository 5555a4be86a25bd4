// gemm_gfx942.mlir of fp8 in the formats of gfx942, with tiles twice as deep.
tile.kernel @gemm_fp8(
    %a: !tile.view<?x?xf8E4M3FNUZ> {tile.bind = "a", tile.sizes = ["m", "k"], tile.strides = ["a_stride"]},
    %b: !tile.view<?x?xf8E4M3FNUZ> {tile.bind = "b", tile.sizes = ["n", "k"], tile.strides = ["b_stride"]},
    %c: !tile.view<?x?xbf16> {tile.bind = "c", tile.sizes = ["m", "n"], tile.strides = ["c_stride"]})
    target("gfx942") waves(4) attributes {
    tile.requires = [
      ["max(m, n, k) <= 1073741824", "m, n and k may be at most 1073741824"],
      ["ceildiv(m, 128) * ceildiv(n, 128) <= 4194304", "c may have at most 4194304 blocks of 128 x 128"],
      ["a_stride % 16 == 0", "a_stride must be a multiple of 8 elements"],
      ["b_stride % 16 == 0", "b_stride must be a multiple of 8 elements"],
      ["c_stride % 8 == 0", "c_stride must be a multiple of 8 elements"],
      ["(min(m, 128) - 1) * a_stride + k <= 1073741760", "128 rows of a may span at most 1073741760 elements"],
      ["(min(n, 128) - 1) * b_stride + k <= 1073741760", "128 rows of b may span at most 1073741760 elements"],
      ["(min(m, 128) - 1) * c_stride + n <= 1073741760", "128 rows of c may span at most 1073741760 elements"]]} {
  %row, %column = tile.block_tile %c rows(128) columns(128) band(4) xcds(8) : <?x?xbf16>
  %wave_n, %wave_m = tile.wave_grid rows(2) columns(2)
  %b_ring = tile.ring %b[%column] by_columns unpadded : <?x?xf8E4M3FNUZ> -> <128x128xf8E4M3FNUZ>
  %a_ring = tile.ring %a[%row] by_columns unpadded : <?x?xf8E4M3FNUZ> -> <128x128xf8E4M3FNUZ>
  %k = tile.dim %a, 1 : <?x?xf8E4M3FNUZ>
  %tile_depth_less_1 = arith.constant 127 : i32
  %rounded_up = arith.addi %k, %tile_depth_less_1 : i32
  %tile_depth = arith.constant 128 : i32
  %tiles = arith.divui %rounded_up, %tile_depth : i32
  %zero = tile.fill 0.000000e+00 : !tile.frag<64x64xf32, acc>
  %product = tile.for_tiles %t = 0 to %tiles cut_right(%k within 0) init(%sum = %zero : !tile.frag<64x64xf32, acc>)
      schedule(@gemm_dual_wave) {
    %fetch_b = tile.step @fetch_b -> !tile.part<128x128xf8E4M3FNUZ, 4> {
      %part = tile.load_part %b_ring[%t] : <128x128xf8E4M3FNUZ> -> <128x128xf8E4M3FNUZ, 4>
      tile.yield %part : !tile.part<128x128xf8E4M3FNUZ, 4>
    }
    tile.step @put_b {
      tile.put %fetch_b, %b_ring[%t] : <128x128xf8E4M3FNUZ, 4>, <128x128xf8E4M3FNUZ>
    }
    %fetch_a = tile.step @fetch_a -> !tile.part<128x128xf8E4M3FNUZ, 4> {
      %part = tile.load_part %a_ring[%t] : <128x128xf8E4M3FNUZ> -> <128x128xf8E4M3FNUZ, 4>
      tile.yield %part : !tile.part<128x128xf8E4M3FNUZ, 4>
    }
    tile.step @put_a {
      tile.put %fetch_a, %a_ring[%t] : <128x128xf8E4M3FNUZ, 4>, <128x128xf8E4M3FNUZ>
    }
    %lhs = tile.step @read_b -> !tile.frag<64x128xf8E4M3FNUZ, lhs> {
      %operand = tile.read %b_ring[%t] part(%wave_n) : <128x128xf8E4M3FNUZ> -> <64x128xf8E4M3FNUZ, lhs>
      %masked = tile.mask_depth %operand tile(%t) below(%k) : <64x128xf8E4M3FNUZ, lhs>
      tile.yield %masked : !tile.frag<64x128xf8E4M3FNUZ, lhs>
    }
    %rhs = tile.step @read_a -> !tile.frag<128x64xf8E4M3FNUZ, rhs> {
      %operand = tile.read %a_ring[%t] part(%wave_m) : <128x128xf8E4M3FNUZ> -> <128x64xf8E4M3FNUZ, rhs>
      %masked = tile.mask_depth %operand tile(%t) below(%k) : <128x64xf8E4M3FNUZ, rhs>
      tile.yield %masked : !tile.frag<128x64xf8E4M3FNUZ, rhs>
    }
    %low = tile.step @multiply_low -> !tile.frag<64x64xf32, acc> {
      %left = tile.slice_depth %lhs from 0 : <64x128xf8E4M3FNUZ, lhs> -> <64x64xf8E4M3FNUZ, lhs>
      %right = tile.slice_depth %rhs from 0 : <128x64xf8E4M3FNUZ, rhs> -> <64x64xf8E4M3FNUZ, rhs>
      %half = tile.mma %left, %right, %sum : <64x64xf8E4M3FNUZ, lhs>, <64x64xf8E4M3FNUZ, rhs>, <64x64xf32, acc>
      tile.yield %half : !tile.frag<64x64xf32, acc>
    }
    %high = tile.step @multiply_high -> !tile.frag<64x64xf32, acc> {
      %left = tile.slice_depth %lhs from 64 : <64x128xf8E4M3FNUZ, lhs> -> <64x64xf8E4M3FNUZ, lhs>
      %right = tile.slice_depth %rhs from 64 : <128x64xf8E4M3FNUZ, rhs> -> <64x64xf8E4M3FNUZ, rhs>
      %whole = tile.mma %left, %right, %low : <64x64xf8E4M3FNUZ, lhs>, <64x64xf8E4M3FNUZ, rhs>, <64x64xf32, acc>
      tile.yield %whole : !tile.frag<64x64xf32, acc>
    }
    tile.yield %high : !tile.frag<64x64xf32, acc>
  }
  %c_row = tile.wave_row %row rows(64) part(%wave_m)
  %c_column = tile.wave_row %column rows(64) part(%wave_n)
  tile.store_block %product, %c[%c_row, %c_column] : <64x64xf32, acc>, <?x?xbf16>
}
