// What tile-verify-clusters accepts, and for how many tiles it tries. What it refuses is in
// verify-clusters-invalid.mlir and verify-clusters-mutated.test.
// RUN: hocket-opt %s --tile-verify-clusters=remarks -verify-diagnostics -split-input-file -o /dev/null

#layout = #tile.lds_layout<panel 256, chunk 1024, pad 0, rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>
// A loop without overlap: the first pass reaches everything, two more show that it can repeat.
// expected-remark @below {{verified with 4 numbers of tiles}}
tile.kernel @loop(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] depth(1) at(0) layout(#layout) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %t = %zero to %n step %one : i32 {
    tile.fetch %ring[%t] slot(%zero) : !tile.ring<64x128xbf16>
    tile.wait vm(0)
    tile.barrier
    %x = tile.read %ring[%t] slot(%zero) : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
    tile.wait lgkm(0)
    tile.barrier
  }
}

// -----

#layout = #tile.lds_layout<panel 256, chunk 1024, pad 0, rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>
// Two rings in the same place, one after the other; the count is computed.
// expected-remark @below {{verified with 4 numbers of tiles}}
tile.kernel @shared(%k: !tile.view<?x?x?x128xbf16>) target("gfx950") waves(8) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %rows = tile.dim %k, 1 : !tile.view<?x?x?x128xbf16>
  %size = arith.constant 64 : i32
  %n = arith.divui %rows, %size : i32
  %a = tile.ring %k[%zero, %zero] depth(1) at(0) layout(#layout) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %b = tile.ring %k[%zero, %zero] depth(1) at(8192) layout(#layout) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  scf.for %t = %zero to %n step %one : i32 {
    tile.fetch %a[%t] slot(%zero) : !tile.ring<64x128xbf16>
    tile.wait vm(0)
    tile.barrier
    %x = tile.read %a[%t] slot(%zero) : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
    tile.wait lgkm(0)
    tile.barrier
    tile.fetch %b[%t] slot(%zero) : !tile.ring<64x128xbf16>
    tile.wait vm(0)
    tile.barrier
    %y = tile.read %b[%t] slot(%zero) : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
    tile.wait lgkm(0)
    tile.barrier
  }
}

// -----

#layout = #tile.lds_layout<panel 256, chunk 1024, pad 0, rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>
// Two loops with counts of their own: the same number, and every pair of unlike ones.
// expected-remark @below {{verified with 16 numbers of tiles}}
tile.kernel @two_loops(%k: !tile.view<?x?x?x128xbf16>, %n: i32, %m: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] depth(1) at(0) layout(#layout) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %t = %zero to %n step %one : i32 {
    tile.fetch %ring[%t] slot(%zero) : !tile.ring<64x128xbf16>
    tile.wait vm(0)
    tile.barrier
    %x = tile.read %ring[%t] slot(%zero) : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
    tile.wait lgkm(0)
    tile.barrier
  }
  scf.for %t = %zero to %m step %one : i32 {
    tile.fetch %ring[%t] slot(%zero) : !tile.ring<64x128xbf16>
    tile.wait vm(0)
    tile.barrier
    %x = tile.read %ring[%t] slot(%zero) : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
    tile.wait lgkm(0)
    tile.barrier
  }
}

// -----

// A condition that nobody can know is nothing to worry about where it guards computation only.
// expected-remark @below {{verified with 1 numbers of tiles}}
tile.kernel @opaque(%n: i32) target("gfx950") waves(8) {
  %zero = arith.constant 0 : i32
  %c = arith.cmpi eq, %n, %zero : i32
  scf.if %c {
    %x = tile.fill 0.0 : !tile.rows<32xf32>
  }
  tile.barrier
}

// -----

// Does not fire: nothing that could go wrong.
// expected-remark @below {{verified with 0 numbers of tiles}}
tile.kernel @empty(%n: i32) target("gfx950") waves(8) {
}

// -----

#layout = #tile.lds_layout<panel 256, chunk 1024, pad 0, rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>
// A loop in a loop, each with a count of its own: what a turn of the outer one leaves behind, the next finds.
// expected-remark @below {{verified with 16 numbers of tiles}}
tile.kernel @nested(%k: !tile.view<?x?x?x128xbf16>, %n: i32, %m: i32) target("gfx950") waves(8) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %head = %zero to %m step %one : i32 {
    %ring = tile.ring %k[%n, %head] depth(1) at(0) layout(#layout) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
    scf.for %t = %zero to %n step %one : i32 {
      tile.fetch %ring[%t] slot(%zero) : !tile.ring<64x128xbf16>
      tile.wait vm(0)
      tile.barrier
      %x = tile.read %ring[%t] slot(%zero) : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
      tile.wait lgkm(0)
      tile.barrier
    }
  }
}

// -----

#layout = #tile.lds_layout<panel 256, chunk 1024, pad 0, rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>
// Loads into registers that began behind a barrier are newer than the fetch: a wait may leave so many in flight.
// expected-remark @below {{verified with 4 numbers of tiles}}
tile.kernel @loads(%k: !tile.view<?x?x?x128xbf16>, %b: !tile.view<?x?xbf16>, %n: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] depth(1) at(0) layout(#layout) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %t = %zero to %n step %one : i32 {
    %next = arith.addi %t, %one : i32
    tile.fetch %ring[%t] slot(%zero) : !tile.ring<64x128xbf16>
    tile.barrier
    %p = tile.begin_load %b[%zero, %zero] tile(%t) : <?x?xbf16> -> <!tile.frag<64x32xbf16, acc>>
    tile.wait vm(4)
    tile.barrier
    %x = tile.read %ring[%t] slot(%zero) : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
    tile.wait lgkm(0)
    tile.barrier
    %y = tile.end_load %p tile(%t) : <!tile.frag<64x32xbf16, acc>> -> !tile.frag<64x32xf32, acc>
  }
}

// -----

#layout = #tile.lds_layout<panel 256, chunk 1024, pad 0, rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>
// The same where each turn makes a count of its own: every two, one after the other.
// expected-remark @below {{verified with 52 numbers of tiles}}
tile.kernel @turns(%k: !tile.view<?x?x?x128xbf16>, %counts: !tile.view<?xi32>, %m: i32) target("gfx950") waves(8) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %head = %zero to %m step %one : i32 {
    %n = tile.load %counts[%head] : !tile.view<?xi32> -> i32
    %ring = tile.ring %k[%n, %head] depth(1) at(0) layout(#layout) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
    scf.for %t = %zero to %n step %one : i32 {
      tile.fetch %ring[%t] slot(%zero) : !tile.ring<64x128xbf16>
      tile.wait vm(0)
      tile.barrier
      %x = tile.read %ring[%t] slot(%zero) : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
      tile.wait lgkm(0)
      tile.barrier
    }
  }
}

// -----

// Groups that are a cluster apart share LDS one after the other.
// expected-remark @below {{verified with 1 numbers of tiles}}
tile.kernel @shared() target("gfx950") waves(8) {
  %x = tile.fill 0.0 : !tile.frag<32x64xbf16, lines>
  tile.barrier group(1)
  %y = tile.convert_layout %x at(0 by 8192) shared : !tile.frag<32x64xbf16, lines> -> !tile.frag<64x32xbf16, rhs>
  tile.wait lgkm(0)
  tile.barrier
  tile.barrier
  %z = tile.convert_layout %x at(0 by 8192) shared : !tile.frag<32x64xbf16, lines> -> !tile.frag<64x32xbf16, rhs>
  tile.wait lgkm(0)
  tile.barrier
  tile.barrier group(0)
}
