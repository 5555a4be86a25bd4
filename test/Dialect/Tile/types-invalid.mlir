// Every refusal of a type or attribute. `some.op` carries them: nothing else is verified.
// RUN: hocket-opt %s -verify-diagnostics -split-input-file --allow-unregistered-dialect

// expected-error @below {{view of rank 5, expected 1 to 4 dimensions}}
"some.op"() {type = !tile.view<?x?x?x?x128xbf16>} : () -> ()

// -----

// expected-error @below {{view of rank 0, expected 1 to 4 dimensions}}
"some.op"() {type = !tile.view<bf16>} : () -> ()

// -----

// expected-error @below {{view of 'i32', expected bf16, f16 or f32 elements}}
"some.op"() {type = !tile.view<?xi32>} : () -> ()

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

// expected-error @below {{ring of 'f32', expected bf16 or f16 elements}}
"some.op"() {type = !tile.ring<64x128xf32>} : () -> ()

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

// expected-error @below {{unknown fragment layout 'rowmajor', expected lhs, rhs, acc, lhs_acc or rhs_acc}}
"some.op"() {type = !tile.frag<32x32xf32, rowmajor>} : () -> ()

// -----

// expected-error @below {{expected ','}}
"some.op"() {type = !tile.frag<32x32xf32>} : () -> ()

// -----

// expected-error @below {{fragment of 'bf16' in layout acc, expected f32 elements}}
"some.op"() {type = !tile.frag<32x32xbf16, acc>} : () -> ()

// -----

// expected-error @below {{fragment of 'f32' in layout rhs_acc, expected bf16 or f16 elements}}
"some.op"() {type = !tile.frag<32x32xf32, rhs_acc>} : () -> ()

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

// expected-error @below {{64 row values, expected 32, the columns of an accumulator block}}
"some.op"() {type = !tile.rows<64xf32>} : () -> ()

// -----

// expected-error @below {{row values of 'bf16', expected f32}}
"some.op"() {type = !tile.rows<32xbf16>} : () -> ()

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
