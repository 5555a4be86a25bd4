// Every refusal of a type or attribute. `some.op` carries them: nothing else is verified.
// RUN: hocket-opt %s -verify-diagnostics -split-input-file --allow-unregistered-dialect

// expected-error @below {{view of rank 5, expected 1 to 4 dimensions}}
"some.op"() {type = !tile.view<?x?x?x?x128xbf16>} : () -> ()

// -----

// expected-error @below {{view of rank 0, expected 1 to 4 dimensions}}
"some.op"() {type = !tile.view<bf16>} : () -> ()

// -----

// expected-error @below {{view of 'i64', expected bf16, f16, i8, f8E4M3FN, f8E5M2, f8E4M3FNUZ, f8E5M2FNUZ, f32 or i32 elements}}
"some.op"() {type = !tile.view<?xi64>} : () -> ()

// -----

// expected-error @below {{view with extent 0, expected '?' or 1 to 2147483647}}
"some.op"() {type = !tile.view<?x0xbf16>} : () -> ()

// -----

// expected-error @below {{view with extent 4294967296, expected '?' or 1 to 2147483647}}
"some.op"() {type = !tile.view<4294967296x128xbf16>} : () -> ()

// -----

// expected-error @below {{ring tile of rank 1, expected rows x columns}}
"some.op"() {type = !tile.ring<64xbf16>} : () -> ()

// -----

// expected-error @below {{ring of 'i32', expected bf16, f16, i8, f8E4M3FN, f8E5M2, f8E4M3FNUZ, f8E5M2FNUZ or f32 elements}}
"some.op"() {type = !tile.ring<64x128xi32>} : () -> ()

// -----

// expected-error @below {{ring tile of 48x128, expected positive multiples of 32}}
"some.op"() {type = !tile.ring<48x128xbf16>} : () -> ()

// -----

// expected-error @below {{ring tile of 0x128, expected positive multiples of 32}}
"some.op"() {type = !tile.ring<0x128xbf16>} : () -> ()

// -----

// expected-error @below {{ring tile of 1024x1024 has more than 1048576 bytes, use a smaller tile}}
"some.op"() {type = !tile.ring<1024x1024xbf16>} : () -> ()

// -----

// The product of such extents does not fit into 64 bits.
// expected-error @below {{ring tile of 4611686018427387904x4611686018427387904 has more than 1048576 bytes}}
"some.op"() {type = !tile.ring<4611686018427387904x4611686018427387904xbf16>} : () -> ()

// -----

// expected-error @below {{expected static shape}}
"some.op"() {type = !tile.ring<?x128xbf16>} : () -> ()

// -----

// expected-error @below {{fragment of rank 3, expected rows x columns}}
"some.op"() {type = !tile.frag<2x32x32xf32, acc>} : () -> ()

// -----

// expected-error @below {{unknown fragment layout 'rowmajor', expected lhs, rhs, acc, lhs_acc, rhs_acc, lines, lhs_scale or rhs_scale}}
"some.op"() {type = !tile.frag<32x32xf32, rowmajor>} : () -> ()

// -----

// expected-error @below {{expected ','}}
"some.op"() {type = !tile.frag<32x32xf32>} : () -> ()

// -----

// expected-error @below {{fragment of 'i16', expected bf16, f16, i8, f8E4M3FN, f8E5M2, f8E4M3FNUZ, f8E5M2FNUZ, f32 or i32 elements}}
"some.op"() {type = !tile.frag<32x32xi16, acc>} : () -> ()

// -----

// expected-error @below {{fragment of 'index', expected bf16, f16, i8, f8E4M3FN, f8E5M2, f8E4M3FNUZ, f8E5M2FNUZ, f32 or i32 elements}}
"some.op"() {type = !tile.frag<32x32xindex, lines>} : () -> ()

// -----

// expected-error @below {{layout lines(3x16), expected a run of 1, 2, 4, 8 or 16 elements and 1, 2, 4, 8, 16, 32 or 64 lanes}}
"some.op"() {type = !tile.frag<32x96xf32, lines(3x16)>} : () -> ()

// -----

// expected-error @below {{layout lines(8x128), expected a run of}}
"some.op"() {type = !tile.frag<1x1024xbf16, lines(8x128)>} : () -> ()

// -----

// expected-error @below {{lines takes the run of a lane, or run x lanes, for example lines(8x16)}}
"some.op"() {type = !tile.frag<1x1024xbf16, lines(8x16x2)>} : () -> ()

// -----

// expected-error @below {{fragment of 2x128 in layout lines(8x16), expected multiples of 4x128}}
"some.op"() {type = !tile.frag<2x128xbf16, lines>} : () -> ()

// -----

// expected-error @below {{fragment of 32x100 in layout lines(8x4), expected multiples of 16x32}}
"some.op"() {type = !tile.frag<32x100xbf16, lines>} : () -> ()

// -----

// expected-error @below {{fragment of 16x32 in layout acc, expected multiples of 32x32}}
"some.op"() {type = !tile.frag<16x32xf32, acc>} : () -> ()

// -----

// expected-error @below {{fragment of 32x8 in layout lhs, expected multiples of 32x16}}
"some.op"() {type = !tile.frag<32x8xbf16, lhs>} : () -> ()

// -----

// expected-error @below {{fragment of 8x32 in layout rhs, expected multiples of 16x32}}
"some.op"() {type = !tile.frag<8x32xbf16, rhs>} : () -> ()

// -----

// expected-error @below {{fragment of 256x256 'f32' has more than 131072 bytes, all registers of a wave; use a smaller one}}
"some.op"() {type = !tile.frag<256x256xf32, acc>} : () -> ()

// -----

// expected-error @below {{has more than 131072 bytes, all registers of a wave}}
"some.op"() {type = !tile.frag<4611686018427387904x4611686018427387904xf32, acc>} : () -> ()

// -----

// expected-error @below {{row values of rank 2, expected one dimension}}
"some.op"() {type = !tile.rows<32x32xf32>} : () -> ()

// -----

// expected-error @below {{48 row values, expected a multiple of 32, the rows of a block in layout acc}}
"some.op"() {type = !tile.rows<48xf32>} : () -> ()

// -----

// expected-error @below {{row values of 'f64', expected bf16, f16, i8, f8E4M3FN, f8E5M2, f8E4M3FNUZ, f8E5M2FNUZ, f32 or i32 elements}}
"some.op"() {type = !tile.rows<32xf64>} : () -> ()

// -----

// expected-error @below {{row values of layout lhs are those of acc; leave the layout out}}
"some.op"() {type = !tile.rows<32xf32, lhs>} : () -> ()

// -----

// expected-error @below {{row values in layout lines need its run and lanes, for example lines(8x16)}}
"some.op"() {type = !tile.rows<4xf32, lines>} : () -> ()

// -----

// expected-error @below {{6 row values, expected a multiple of 4, the rows of a block in layout lines}}
"some.op"() {type = !tile.rows<6xf32, lines(8x16)>} : () -> ()

// -----

// expected-error @below {{32768 row values in layout acc take more than all registers of a wave; use fewer}}
"some.op"() {type = !tile.rows<32768xf32>} : () -> ()

// -----

// expected-error @below {{column values of rank 2, expected one dimension}}
"some.op"() {type = !tile.columns<32x32xf32, acc>} : () -> ()

// -----

// expected-error @below {{column values without a layout, write that of the fragment whose they are, for example <64xf32, acc>}}
"some.op"() {type = !tile.columns<32xf32>} : () -> ()

// -----

// expected-error @below {{column values of layout rhs are those of lhs; write lhs}}
"some.op"() {type = !tile.columns<32xf32, rhs>} : () -> ()

// -----

// expected-error @below {{40 column values, expected a multiple of 16, the columns of a block in layout lhs}}
"some.op"() {type = !tile.columns<40xf32, lhs>} : () -> ()

// -----

// expected-error @below {{panel of 200 bytes, a power of two up to 1 MiB is needed}}
"some.op"() {a = #tile.lds_layout<panel 200, chunk 1024, pad 0, rows [0], bytes [1]>} : () -> ()

// -----

// expected-error @below {{panel of 9223372036854775807 bytes, a power of two up to 1 MiB is needed}}
"some.op"() {a = #tile.lds_layout<panel 9223372036854775807, chunk 1024, pad 0, rows [0], bytes [1]>} : () -> ()

// -----

// expected-error @below {{chunk of 0 bytes, a power of two up to 1 MiB is needed}}
"some.op"() {a = #tile.lds_layout<panel 256, chunk 0, pad 0, rows [0], bytes [1]>} : () -> ()

// -----

// expected-error @below {{pad of 4 bytes, a multiple of 16 up to 4096 is needed}}
"some.op"() {a = #tile.lds_layout<panel 256, chunk 1024, pad 4, rows [0], bytes [1]>} : () -> ()

// -----

// expected-error @below {{pad of -16 bytes, a multiple of 16 up to 4096 is needed}}
"some.op"() {a = #tile.lds_layout<panel 256, chunk 1024, pad -16, rows [0], bytes [1]>} : () -> ()

// -----

// expected-error @below {{1 row bits and 2 byte bits, at most 16 and 8 are needed}}
"some.op"() {a = #tile.lds_layout<panel 256, chunk 1024, pad 0, rows [256], bytes [1, 2]>} : () -> ()

// -----

// expected-error @below {{offset -2 of a bit, a number from 0 is needed}}
"some.op"() {a = #tile.lds_layout<panel 4, chunk 1024, pad 0, rows [2], bytes [1, -2]>} : () -> ()

// -----

// expected-error @below {{part of a tile shared by 3 waves, expected 1, 2, 4, 8 or 16}}
"some.op"() {type = !tile.part<32x128xbf16, 3>} : () -> ()

// -----

// expected-error @below {{part of a tile of 32x32, which has less than 4 bytes for each lane of 16 waves; use fewer waves or a larger tile}}
"some.op"() {type = !tile.part<32x32xbf16, 16>} : () -> ()

// -----

// expected-error @below {{layout of operands of 4 bits, expected 8, 16 or 32}}
"some.op"() {type = !tile.frag<64x32xf32, lhs bits(4)>} : () -> ()

// -----

// expected-error @below {{layout acc is the same for operands of all widths, leave bits(8) out}}
"some.op"() {type = !tile.frag<64x32xf32, acc bits(8)>} : () -> ()

// -----

// expected-error @below {{fragment of 32x16 in layout lhs, expected multiples of 32x32}}
"some.op"() {type = !tile.frag<32x16xf32, lhs bits(8)>} : () -> ()

// -----

// expected-error @below {{view of 'f4E2M1FN', which has no addresses of its own; use a view of i8, each of which holds two, and read them by 'tile.read'}}
"some.op"() {type = !tile.view<?x?xf4E2M1FN>} : () -> ()

// -----

// expected-error @below {{fragment of 'f4E2M1FN' in layout acc, expected lhs, rhs, lhs_acc or rhs_acc without 'bits'}}
"some.op"() {type = !tile.frag<64x64xf4E2M1FN, acc>} : () -> ()

// -----

// expected-error @below {{fragment of 'f4E2M1FN' in layout lines, expected lhs, rhs, lhs_acc or rhs_acc without 'bits'}}
"some.op"() {type = !tile.frag<64x64xf4E2M1FN, lines>} : () -> ()

// -----

// expected-error @below {{fragment of 'f4E2M1FN' in layout lhs, expected lhs, rhs, lhs_acc or rhs_acc without 'bits'}}
"some.op"() {type = !tile.frag<64x64xf4E2M1FN, lhs bits(16)>} : () -> ()

// -----

// expected-error @below {{fragment of 64x32 in layout lhs, expected multiples of 32x64}}
"some.op"() {type = !tile.frag<64x32xf4E2M1FN, lhs>} : () -> ()

// -----

// expected-error @below {{fragment of 'f8E8M0FNU' in layout lhs, expected lhs_scale or rhs_scale}}
"some.op"() {type = !tile.frag<64x32xf8E8M0FNU, lhs>} : () -> ()

// -----

// expected-error @below {{fragment of 'f32' in layout lhs_scale, which has scales of blocks, f8E8M0FNU}}
"some.op"() {type = !tile.frag<64x4xf32, lhs_scale>} : () -> ()

// -----

// expected-error @below {{fragment of 64x3 in layout lhs_scale, expected multiples of 32x2}}
"some.op"() {type = !tile.frag<64x3xf8E8M0FNU, lhs_scale>} : () -> ()

// -----

// expected-error @below {{layout rhs_scale is the same for operands of all widths, leave bits(8) out}}
"some.op"() {type = !tile.frag<4x32xf8E8M0FNU, rhs_scale bits(8)>} : () -> ()

// -----

// expected-error @below {{row values in layout lhs_scale, in which scales of blocks lie alone; use another}}
"some.op"() {type = !tile.rows<64xf32, lhs_scale>} : () -> ()

// -----

// expected-error @below {{row values of 'f8E8M0FNU', expected bf16}}
"some.op"() {type = !tile.rows<64xf8E8M0FNU>} : () -> ()
