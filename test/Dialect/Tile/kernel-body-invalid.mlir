// What a kernel's body may not have: ops of other dialects, and rows that nobody writes or several do.
// RUN: hocket-opt %s -verify-diagnostics -split-input-file -allow-unregistered-dialect

tile.kernel @foreign(%n: i32) target("gfx950") waves(1) {
  %i = arith.constant 0 : index
  // expected-error @below {{'scf.index_switch' op cannot stand in kernel 'foreign': a kernel is made of ops of 'tile', of 'arith' on single numbers, and of 'scf.if', 'scf.for' and 'scf.while'}}
  scf.index_switch %i
  default {
    scf.yield
  }
}

// -----

tile.kernel @in_step(%n: i32) target("gfx950") waves(1) {
  tile.step @s {
    // expected-error @below {{'some.op' op cannot stand in kernel 'in_step'}}
    "some.op"() : () -> ()
  }
}

// -----

tile.kernel @vectors(%n: i32) target("gfx950") waves(1) {
  // expected-error @below {{computes on 'vector<4xf32>'; in a kernel 'arith' takes single numbers, which are the same in all lanes of a wave}}
  %v = arith.constant dense<0.0> : vector<4xf32>
}

// -----

// Does not fire: control flow and numbers, in steps too.
tile.kernel @allowed(%n: i32, %x: f32) target("gfx950") waves(1) {
  %zero = arith.constant 0 : i32
  %c = arith.cmpi eq, %n, %zero : i32
  tile.step @s {
    %y = scf.if %c -> f32 {
      scf.yield %x : f32
    } else {
      %z = arith.addf %x, %x : f32
      scf.yield %z : f32
    }
  }
}

// -----

// Four waves of 32 rows are 128 of 256: 128 rows of every workgroup were left as they are, silently.
tile.kernel @half(%o: !tile.view<?x?x?x128xbf16>) target("gfx950") waves(4) {
  // expected-note @below {{rows(256) here; use rows(128), or more waves or larger fragments}}
  %batch, %head, %row = tile.block_id %o rows(256) : <?x?x?x128xbf16>
  %wave_row = tile.wave_row %row rows(32)
  %zero = tile.fill 0.0 : !tile.frag<128x32xf32, acc>
  // expected-error @below {{leaves 128 of the 256 rows of a workgroup unwritten, from 128 on: 4 waves, 32 apart, write 32 each}}
  tile.store %zero, %o[%batch, %wave_row, %head] : <128x32xf32, acc>, <?x?x?x128xbf16>
}

// -----

// Waves 64 rows apart with 32 rows each leave every other 32 out.
tile.kernel @gaps(%o: !tile.view<?x?x?x128xbf16>) target("gfx950") waves(4) {
  // expected-note @below {{rows(256) here}}
  %batch, %head, %row = tile.block_id %o rows(256) : <?x?x?x128xbf16>
  %wave_row = tile.wave_row %row rows(64)
  %zero = tile.fill 0.0 : !tile.frag<128x32xf32, acc>
  // expected-error @below {{leaves 128 of the 256 rows of a workgroup unwritten, from 32 on: 4 waves, 64 apart, write 32 each}}
  tile.store %zero, %o[%batch, %wave_row, %head] : <128x32xf32, acc>, <?x?x?x128xbf16>
}

// -----

// Does not fire: two stores fill the gaps.
tile.kernel @two_stores(%o: !tile.view<?x?x?x128xbf16>) target("gfx950") waves(4) {
  %batch, %head, %row = tile.block_id %o rows(256) : <?x?x?x128xbf16>
  %wave_row = tile.wave_row %row rows(64)
  %further = arith.constant 32 : i32
  %second = arith.addi %wave_row, %further : i32
  %zero = tile.fill 0.0 : !tile.frag<128x32xf32, acc>
  tile.store %zero, %o[%batch, %wave_row, %head] : <128x32xf32, acc>, <?x?x?x128xbf16>
  tile.store %zero, %o[%batch, %second, %head] : <128x32xf32, acc>, <?x?x?x128xbf16>
}

// -----

// Does not fire: a place that a loop computes is not followed.
tile.kernel @loop(%o: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(1) {
  %batch, %head, %row = tile.block_id %o rows(256) : <?x?x?x128xbf16>
  %zero = arith.constant 0 : i32
  %step = arith.constant 32 : i32
  %f = tile.fill 0.0 : !tile.frag<128x32xf32, acc>
  scf.for %i = %zero to %n step %step : i32 {
    %place = arith.addi %row, %i : i32
    tile.store %f, %o[%batch, %place, %head] : <128x32xf32, acc>, <?x?x?x128xbf16>
  }
}

// -----

tile.kernel @overlap(%o: !tile.view<?x?x?x128xbf16>) target("gfx950") waves(4) {
  %batch, %head, %row = tile.block_id %o rows(128) : <?x?x?x128xbf16>
  // expected-note @below {{rows(32) here; use rows(64), or fragments of fewer rows}}
  %wave_row = tile.wave_row %row rows(32)
  %zero = tile.fill 0.0 : !tile.frag<128x64xf32, acc>
  // expected-error @below {{writes 64 rows in each wave, which begin 32 apart: neighbours write the same}}
  tile.store %zero, %o[%batch, %wave_row, %head] : <128x64xf32, acc>, <?x?x?x128xbf16>
}

// -----

tile.kernel @beyond(%o: !tile.view<?x?x?x128xbf16>) target("gfx950") waves(8) {
  // expected-note @below {{rows(128) here; use rows(256), or fewer waves}}
  %batch, %head, %row = tile.block_id %o rows(128) : <?x?x?x128xbf16>
  %wave_row = tile.wave_row %row rows(32)
  %zero = tile.fill 0.0 : !tile.frag<128x32xf32, acc>
  // expected-error @below {{writes rows 0 to 255 of the 128 that a workgroup has: the others are another workgroup's}}
  tile.store %zero, %o[%batch, %wave_row, %head] : <128x32xf32, acc>, <?x?x?x128xbf16>
}

// -----

// Columns are held to the same, and waves along one side of a grid are as many as it has.
tile.kernel @columns(%c: !tile.view<?x?xbf16>) target("gfx950") waves(8) {
  // expected-note @below {{columns(512) here; use columns(256), or more waves or larger fragments}}
  %row, %column = tile.block_tile %c rows(256) columns(512) : <?x?xbf16>
  %i, %j = tile.wave_grid rows(2) columns(4)
  %c_row = tile.wave_row %row rows(64) part(%j)
  %c_column = tile.wave_row %column rows(128) part(%i)
  %zero = tile.fill 0.0 : !tile.frag<128x64xf32, acc>
  // expected-error @below {{leaves 256 of the 512 columns of a workgroup unwritten, from 256 on: 2 waves, 128 apart, write 128 each}}
  tile.store_block %zero, %c[%c_row, %c_column] : <128x64xf32, acc>, <?x?xbf16>
}

// -----

tile.kernel @same(%c: !tile.view<?x?xf32>) target("gfx950") waves(4) {
  // expected-note @below {{rows(64) here; use rows(32), or more waves or larger fragments}}
  %row, %column = tile.block_tile %c rows(64) columns(32) : <?x?xf32>
  %zero = tile.fill 0.0 : !tile.frag<32x32xf32, acc>
  // expected-error @below {{leaves 32 of the 64 rows of a workgroup unwritten, from 32 on: every wave writes the same 32}}
  tile.store %zero, %c[%row, %column] : <32x32xf32, acc>, <?x?xf32>
}
