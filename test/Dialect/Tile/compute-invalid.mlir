// Every refusal of an op on fragments and rows.
// RUN: hocket-opt %s -verify-diagnostics -split-input-file

tile.kernel @slice_layout() target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<64x32xbf16, rhs_acc>
  // expected-error @below {{source has layout rhs_acc, expected acc}}
  %1 = tile.slice %0 from 0 : !tile.frag<64x32xbf16, rhs_acc> -> !tile.frag<32x32xf32, acc>
}

// -----

tile.kernel @slice_result() target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  // expected-error @below {{result has layout rhs_acc, expected acc}}
  %1 = tile.slice %0 from 0 : !tile.frag<64x32xf32, acc> -> !tile.frag<32x32xbf16, rhs_acc>
}

// -----

tile.kernel @slice_start() target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  // expected-error @below {{32 rows from 16 of '!tile.frag<64x32xf32, acc>' as '!tile.frag<32x32xf32, acc>'; whole blocks of 32 rows and all columns are needed}}
  %1 = tile.slice %0 from 16 : !tile.frag<64x32xf32, acc> -> !tile.frag<32x32xf32, acc>
}

// -----

tile.kernel @slice_end() target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  // expected-error @below {{32 rows from 9223372036854775776 of '!tile.frag<64x32xf32, acc>'}}
  %1 = tile.slice %0 from 9223372036854775776 : !tile.frag<64x32xf32, acc> -> !tile.frag<32x32xf32, acc>
}

// -----

tile.kernel @slice_before() target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  // expected-error @below {{32 rows from -32 of '!tile.frag<64x32xf32, acc>'}}
  %1 = tile.slice %0 from -32 : !tile.frag<64x32xf32, acc> -> !tile.frag<32x32xf32, acc>
}

// -----

tile.kernel @concat_layout() target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<32x32xbf16, rhs>
  // expected-error @below {{source has layout rhs, expected rhs_acc}}
  %1 = tile.concat %0, %0 : !tile.frag<32x32xbf16, rhs>, !tile.frag<32x32xbf16, rhs> -> !tile.frag<64x32xbf16, rhs_acc>
}

// -----

tile.kernel @concat_result() target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<32x32xbf16, rhs_acc>
  // expected-error @below {{result has layout rhs, expected rhs_acc}}
  %1 = tile.concat %0, %0 : !tile.frag<32x32xbf16, rhs_acc>, !tile.frag<32x32xbf16, rhs_acc> -> !tile.frag<64x32xbf16, rhs>
}

// -----

tile.kernel @concat_fit() target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<32x32xbf16, rhs_acc>
  // expected-error @below {{source '!tile.frag<32x32xbf16, rhs_acc>' does not fit result '!tile.frag<32x64xbf16, rhs_acc>'}}
  %1 = tile.concat %0 : !tile.frag<32x32xbf16, rhs_acc> -> !tile.frag<32x64xbf16, rhs_acc>
}

// -----

tile.kernel @concat_rows() target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<32x32xbf16, rhs_acc>
  // expected-error @below {{sources have 32 rows, the result has 64}}
  %1 = tile.concat %0 : !tile.frag<32x32xbf16, rhs_acc> -> !tile.frag<64x32xbf16, rhs_acc>
}

// -----

tile.kernel @mma_layouts() target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<64x128xbf16, lhs>
  %1 = tile.fill 0.0 : !tile.frag<128x32xbf16, rhs_acc>
  %2 = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  // expected-error @below {{multiplies layouts lhs and rhs_acc, whose depths run in different orders; use lhs with rhs, or lhs_acc with rhs_acc}}
  %3 = tile.mma %0, %1, %2 : !tile.frag<64x128xbf16, lhs>, !tile.frag<128x32xbf16, rhs_acc>, !tile.frag<64x32xf32, acc>
}

// -----

tile.kernel @mma_row_orders() target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<32x64xbf16, lhs_acc(8)>
  %1 = tile.fill 0.0 : !tile.frag<64x32xbf16, rhs_acc>
  %2 = tile.fill 0.0 : !tile.frag<32x32xf32, acc>
  // expected-error @below {{multiplies '!tile.frag<32x64xbf16, lhs_acc(8)>' into '!tile.frag<32x32xf32, acc>', whose rows are in different orders; use lhs_acc(8) with acc(8), and lhs_acc with acc}}
  %3 = tile.mma %0, %1, %2 : !tile.frag<32x64xbf16, lhs_acc(8)>, !tile.frag<64x32xbf16, rhs_acc>, !tile.frag<32x32xf32, acc>
}

// -----

tile.kernel @pack_row_order() target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<32x32xf32, acc(8)>
  // expected-error @below {{source is '!tile.frag<32x32xf32, acc(8)>', whose rows are in another order; acc is needed}}
  %1 = tile.pack %0 : !tile.frag<32x32xf32, acc(8)> -> !tile.frag<32x32xbf16, rhs_acc>
}

// -----

tile.kernel @mask_row_order(%t: i32) target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<32x32xf32, acc(8)>
  // expected-error @below {{scores is '!tile.frag<32x32xf32, acc(8)>', whose rows are in another order; acc is needed}}
  %1 = tile.mask %0 tile(%t) below(%t) : !tile.frag<32x32xf32, acc(8)>
}

// -----

tile.kernel @slice_row_order() target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<64x32xf32, acc(8)>
  // expected-error @below {{32 rows from 0 of '!tile.frag<64x32xf32, acc(8)>' as '!tile.frag<32x32xf32, acc>'}}
  %1 = tile.slice %0 from 0 : !tile.frag<64x32xf32, acc(8)> -> !tile.frag<32x32xf32, acc>
}

// -----

tile.kernel @other_run() target("gfx950") waves(1) {
  // expected-error @below {{layout acc with a run of 4, expected none, or acc(8) or lhs_acc(8)}}
  %0 = tile.fill 0.0 : !tile.frag<32x32xf32, acc(4)>
}

// -----

tile.kernel @two_numbers() target("gfx950") waves(1) {
  // expected-error @below {{lhs_acc takes one number, for example lhs_acc(8)}}
  %0 = tile.fill 0.0 : !tile.frag<32x32xbf16, lhs_acc(8x2)>
}

// -----

tile.kernel @mma_accumulator() target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<64x128xbf16, lhs>
  %1 = tile.fill 0.0 : !tile.frag<128x32xbf16, rhs>
  %2 = tile.fill 0.0 : !tile.frag<64x32xbf16, rhs_acc>
  // expected-error @below {{accumulator has layout rhs_acc, expected acc}}
  %3 = tile.mma %0, %1, %2 : !tile.frag<64x128xbf16, lhs>, !tile.frag<128x32xbf16, rhs>, !tile.frag<64x32xbf16, rhs_acc>
}

// -----

tile.kernel @mma_elements() target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<64x128xbf16, lhs>
  %1 = tile.fill 0.0 : !tile.frag<128x32xf16, rhs>
  %2 = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  // expected-error @below {{multiplies 'bf16' by 'f16', expected the same type, or two floats of 8 or 4 bits; convert one of them in a 'tile.map'}}
  %3 = tile.mma %0, %1, %2 : !tile.frag<64x128xbf16, lhs>, !tile.frag<128x32xf16, rhs>, !tile.frag<64x32xf32, acc>
}

// -----

tile.kernel @mma_shapes() target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<64x128xbf16, lhs>
  %1 = tile.fill 0.0 : !tile.frag<64x32xbf16, rhs>
  %2 = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  // expected-error @below {{multiplies 64x128 by 64x32 into 64x32}}
  %3 = tile.mma %0, %1, %2 : !tile.frag<64x128xbf16, lhs>, !tile.frag<64x32xbf16, rhs>, !tile.frag<64x32xf32, acc>
}

// -----

tile.kernel @mask_layout(%n: i32) target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<64x32xbf16, rhs_acc>
  // expected-error @below {{scores has layout rhs_acc, expected acc}}
  %1 = tile.mask %0 tile(%n) below(%n) : !tile.frag<64x32xbf16, rhs_acc>
}

// -----

tile.kernel @max_layout() target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<64x32xbf16, rhs_acc>
  // expected-error @below {{source has layout rhs_acc, expected acc}}
  %1 = tile.row_max %0 : !tile.frag<64x32xbf16, rhs_acc> -> !tile.rows<32xf32>
}

// -----

tile.kernel @max_columns() target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<64x64xf32, acc>
  // expected-error @below {{fragment of 64 columns with 32 row values}}
  %1 = tile.row_max %0 : !tile.frag<64x64xf32, acc> -> !tile.rows<32xf32>
}

// -----

tile.kernel @sum_layout() target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<32x32xbf16, rhs>
  %1 = tile.fill 0.0 : !tile.rows<32xf32>
  // expected-error @below {{source has layout rhs, expected acc or rhs_acc}}
  %2 = tile.row_sum %0, %1 : !tile.frag<32x32xbf16, rhs>, !tile.rows<32xf32>
}

// -----

tile.kernel @sum_columns() target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<64x64xbf16, rhs_acc>
  %1 = tile.fill 0.0 : !tile.rows<32xf32>
  // expected-error @below {{fragment of 64 columns with 32 row values}}
  %2 = tile.row_sum %0, %1 : !tile.frag<64x64xbf16, rhs_acc>, !tile.rows<32xf32>
}

// -----

tile.kernel @threshold(%scale: f32) target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.rows<32xf32>
  // expected-error @below {{a finite number of at least 0 is needed}}
  %1:4 = tile.settle %0, %0, %0 scale(%scale) threshold(-1.0) : !tile.rows<32xf32>
}

// -----

tile.kernel @threshold_nan(%scale: f32) target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.rows<32xf32>
  // expected-error @below {{a finite number of at least 0 is needed}}
  %1:4 = tile.settle %0, %0, %0 scale(%scale) threshold(0x7FC00000) : !tile.rows<32xf32>
}

// -----

tile.kernel @rescale_layout(%n: i32) target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<64x32xbf16, rhs_acc>
  %1 = tile.fill 0.0 : !tile.rows<32xf32>
  %2 = arith.constant true
  // expected-error @below {{value has layout rhs_acc, expected acc}}
  %3 = tile.rescale %0 by %1 when %2 : !tile.frag<64x32xbf16, rhs_acc> by !tile.rows<32xf32>
}

// -----

tile.kernel @rescale_types(%n: i32) target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  %1 = tile.fill 0.0 : !tile.rows<32xf32>
  %2 = arith.constant true
  // expected-error @below {{failed to verify that values and results have the same types}}
  %3 = "tile.rescale"(%0, %1, %2) : (!tile.frag<64x32xf32, acc>, !tile.rows<32xf32>, i1) -> !tile.rows<32xf32>
}

// -----

tile.kernel @exp2_scores(%scale: f32) target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<32x32xbf16, rhs_acc>
  %1 = tile.fill 0.0 : !tile.rows<32xf32>
  // expected-error @below {{scores has layout rhs_acc, expected acc}}
  %2 = tile.exp2 %0 scale(%scale) minus(%1) : !tile.frag<32x32xbf16, rhs_acc>, !tile.rows<32xf32>
}

// -----

tile.kernel @exp2_polynomials() target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<32x32xf32, acc>
  // expected-error @below {{polynomials(0), a number from 1 on is needed: one pair of each so many}}
  %1 = tile.exp2 %0 polynomials(0) : !tile.frag<32x32xf32, acc>
}

// -----

tile.kernel @exponents_scores(%scale: f32) target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<32x32xbf16, rhs_acc>
  %1 = tile.fill 0.0 : !tile.rows<32xf32>
  // expected-error @below {{scores has layout rhs_acc, expected acc}}
  %2 = tile.exponents %0 scale(%scale) minus(%1) : !tile.frag<32x32xbf16, rhs_acc>, !tile.rows<32xf32>
}

// -----

tile.kernel @exp2_columns(%scale: f32) target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<32x64xf32, acc>
  %1 = tile.fill 0.0 : !tile.rows<32xf32>
  // expected-error @below {{fragment of 64 columns with 32 row values}}
  %2 = tile.exp2 %0 scale(%scale) minus(%1) : !tile.frag<32x64xf32, acc>, !tile.rows<32xf32>
}

// -----

tile.kernel @pack_source() target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<32x32xbf16, rhs_acc>
  // expected-error @below {{source has layout rhs_acc, expected acc}}
  %1 = tile.pack %0 : !tile.frag<32x32xbf16, rhs_acc> -> !tile.frag<32x32xbf16, rhs_acc>
}

// -----

tile.kernel @pack_result() target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<32x32xf32, acc>
  // expected-error @below {{result has layout rhs, expected rhs_acc}}
  %1 = tile.pack %0 : !tile.frag<32x32xf32, acc> -> !tile.frag<32x32xbf16, rhs>
}

// -----

tile.kernel @pack_shape() target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  // expected-error @below {{source '!tile.frag<64x32xf32, acc>' and result '!tile.frag<32x32xbf16, rhs_acc>' differ in shape}}
  %1 = tile.pack %0 : !tile.frag<64x32xf32, acc> -> !tile.frag<32x32xbf16, rhs_acc>
}

// -----

tile.kernel @normalize_layout() target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<32x32xbf16, rhs_acc>
  %1 = tile.fill 0.0 : !tile.rows<32xf32>
  // expected-error @below {{source has layout rhs_acc, expected acc}}
  %2 = tile.normalize %0 by %1 : !tile.frag<32x32xbf16, rhs_acc>, !tile.rows<32xf32>
}

// -----

tile.kernel @normalize_columns() target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<32x64xf32, acc>
  %1 = tile.fill 0.0 : !tile.rows<32xf32>
  // expected-error @below {{fragment of 64 columns with 32 row values}}
  %2 = tile.normalize %0 by %1 : !tile.frag<32x64xf32, acc>, !tile.rows<32xf32>
}

// -----

// What is made for the matrix unit and for attention takes what the matrix unit has.
tile.kernel @rounded_scores() target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<32x32xbf16, acc>
  // expected-error @below {{operand #0 must be a fragment of the matrix unit, f32 in layout acc or bf16, f16 and, with bits(32), f32 in operands}}
  %1 = tile.exp2 %0 : !tile.frag<32x32xbf16, acc>
}

// -----

tile.kernel @more_rows() target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.rows<64xf32>
  // expected-error @below {{operand #0 must be 32 row values of f32, one a lane}}
  %1 = tile.unify %0 : !tile.rows<64xf32>
}

// -----

tile.kernel @fill_integers() target("gfx950") waves(1) {
  // expected-error @below {{fills '!tile.columns<32xi32, acc>' with 1.500000e+00, which is no 'i32'}}
  %0 = tile.fill 1.5 : !tile.columns<32xi32, acc>
}

// -----

tile.kernel @slice_converts() target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  // expected-error @below {{whole blocks of 32 rows and all columns are needed}}
  %1 = tile.slice %0 from 0 : !tile.frag<64x32xf32, acc> -> !tile.frag<32x32xbf16, acc>
}

// -----

tile.kernel @mma_integers() target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<32x32xi8, lhs>
  %1 = tile.fill 0.0 : !tile.frag<32x32xf8E4M3FN, rhs>
  %2 = tile.fill 0.0 : !tile.frag<32x32xi32, acc>
  // expected-error @below {{multiplies 'i8' by 'f8E4M3FN', expected the same type, or two floats of 8 or 4 bits; convert one of them in a 'tile.map'}}
  %3 = tile.mma %0, %1, %2 : !tile.frag<32x32xi8, lhs>, !tile.frag<32x32xf8E4M3FN, rhs>, !tile.frag<32x32xi32, acc>
}

// -----

tile.kernel @mma_sums() target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<32x32xi8, lhs>
  %1 = tile.fill 0.0 : !tile.frag<32x32xi8, rhs>
  %2 = tile.fill 0.0 : !tile.frag<32x32xf32, acc>
  // expected-error @below {{multiplies 'i8' by 'i8' into 'f32', expected an accumulator of 'i32'}}
  %3 = tile.mma %0, %1, %2 : !tile.frag<32x32xi8, lhs>, !tile.frag<32x32xi8, rhs>, !tile.frag<32x32xf32, acc>
}

// -----

tile.kernel @pack_integers() target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<32x32xf32, acc>
  // expected-error @below {{expected a float; round to integers in a 'tile.map'}}
  %1 = tile.pack %0 : !tile.frag<32x32xf32, acc> -> !tile.frag<32x32xi8, rhs_acc>
}

// -----

tile.kernel @compute_small() target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<32x32xf8E5M2, acc>
  %1 = tile.map(%x = %0 : !tile.frag<32x32xf8E5M2, acc>) -> !tile.frag<32x32xf8E5M2, acc> {
    // expected-error @below {{computes with 'f8E5M2'; widen it by 'arith.extf', and round by 'arith.truncf'}}
    %y = arith.addf %x, %x : f8E5M2
    tile.yield %y : f8E5M2
  }
}

// -----

tile.kernel @reduce_small() target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<32x32xf8E5M2, acc>
  // expected-error @below {{reduces 'f8E5M2' to 'f8E5M2', expected no floats of 8 bits; widen them by 'arith.extf' in a 'tile.map'}}
  %1 = tile.reduce max %0 over columns : !tile.frag<32x32xf8E5M2, acc> -> !tile.rows<32xf8E5M2>
}

// -----

tile.kernel @one_scale() target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<32x64xf8E4M3FN, lhs>
  %1 = tile.fill 0.0 : !tile.frag<64x32xf8E4M3FN, rhs>
  %2 = tile.fill 0.0 : !tile.frag<32x32xf32, acc>
  %3 = tile.fill 1.0 : !tile.frag<32x2xf8E8M0FNU, lhs_scale>
  // expected-error @below {{has 1 scales, expected those of lhs and of rhs, or none}}
  %4 = tile.mma %0, %1, %2 scales(%3) : <32x64xf8E4M3FN, lhs>, <64x32xf8E4M3FN, rhs>, <32x32xf32, acc>, !tile.frag<32x2xf8E8M0FNU, lhs_scale>
}

// -----

tile.kernel @scales_of_bf16() target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<32x64xbf16, lhs>
  %1 = tile.fill 0.0 : !tile.frag<64x32xbf16, rhs>
  %2 = tile.fill 0.0 : !tile.frag<32x32xf32, acc>
  %3 = tile.fill 1.0 : !tile.frag<32x2xf8E8M0FNU, lhs_scale>
  %4 = tile.fill 1.0 : !tile.frag<2x32xf8E8M0FNU, rhs_scale>
  // expected-error @below {{scales '!tile.frag<32x64xbf16, lhs>', expected floats of 8 or 4 bits; multiply others in a 'tile.map'}}
  %5 = tile.mma %0, %1, %2 scales(%3, %4) : <32x64xbf16, lhs>, <64x32xbf16, rhs>, <32x32xf32, acc>, !tile.frag<32x2xf8E8M0FNU, lhs_scale>, !tile.frag<2x32xf8E8M0FNU, rhs_scale>
}

// -----

tile.kernel @scales_of_half() target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<32x32xf8E4M3FN, lhs>
  %1 = tile.fill 0.0 : !tile.frag<32x32xf8E4M3FN, rhs>
  %2 = tile.fill 0.0 : !tile.frag<32x32xf32, acc>
  %3 = tile.fill 1.0 : !tile.frag<32x2xf8E8M0FNU, lhs_scale>
  %4 = tile.fill 1.0 : !tile.frag<2x32xf8E8M0FNU, rhs_scale>
  // expected-error @below {{scales a depth of 32, expected a multiple of 64}}
  %5 = tile.mma %0, %1, %2 scales(%3, %4) : <32x32xf8E4M3FN, lhs>, <32x32xf8E4M3FN, rhs>, <32x32xf32, acc>, !tile.frag<32x2xf8E8M0FNU, lhs_scale>, !tile.frag<2x32xf8E8M0FNU, rhs_scale>
}

// -----

tile.kernel @scales_of_other_shape() target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<32x128xf8E4M3FN, lhs>
  %1 = tile.fill 0.0 : !tile.frag<128x32xf8E4M3FN, rhs>
  %2 = tile.fill 0.0 : !tile.frag<32x32xf32, acc>
  %3 = tile.fill 1.0 : !tile.frag<32x4xf8E8M0FNU, lhs_scale>
  %4 = tile.fill 1.0 : !tile.frag<2x32xf8E8M0FNU, rhs_scale>
  // expected-error @below {{has scales '!tile.frag<2x32xf8E8M0FNU, rhs_scale>' of rhs, expected 4x32 in layout rhs_scale, one for each 32 of the depth}}
  %5 = tile.mma %0, %1, %2 scales(%3, %4) : <32x128xf8E4M3FN, lhs>, <128x32xf8E4M3FN, rhs>, <32x32xf32, acc>, !tile.frag<32x4xf8E8M0FNU, lhs_scale>, !tile.frag<2x32xf8E8M0FNU, rhs_scale>
}

// -----

tile.kernel @map_of_packed() target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<32x64xf4E2M1FN, lhs>
  // expected-error @below {{must be variadic of a fragment, row values, column values or a number (f32, i32, bf16, f16, i8), but got '!tile.frag<32x64xf4E2M1FN, lhs>'}}
  %1 = tile.map(%x = %0 : !tile.frag<32x64xf4E2M1FN, lhs>) -> !tile.frag<32x64xf4E2M1FN, lhs> {
    tile.yield %x : f4E2M1FN
  }
}

// -----

// Without 'bits(32)', f32 lies beside operands of 16 bits.
tile.kernel @mma_f32_beside() target("gfx950") waves(1) {
  %0 = tile.fill 0.0 : !tile.frag<32x32xf32, lhs>
  %1 = tile.fill 0.0 : !tile.frag<32x32xf32, rhs>
  %2 = tile.fill 0.0 : !tile.frag<32x32xf32, acc>
  // expected-error @below {{i8, a float of 8 or 4 bits or, with bits(32), f32 in operands, but got '!tile.frag<32x32xf32, lhs>'}}
  %3 = tile.mma %0, %1, %2 : <32x32xf32, lhs>, <32x32xf32, rhs>, <32x32xf32, acc>
}
