// Every refusal of tile-verify-clusters, in the smallest kernels that show it.
// RUN: hocket-opt %s --tile-verify-clusters -verify-diagnostics -split-input-file

#layout = #tile.lds_layout<panel 256, chunk 1024, pad 0, rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>
tile.kernel @not_waited(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %n: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] depth(1) at(0) layout(#layout) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  // expected-note @below {{the fetch is here and no wait follows it; put 'tile.wait vm' in front of the barrier}}
  tile.fetch %ring[%zero] slot(%zero) : !tile.ring<64x128xbf16>
  tile.barrier
  // expected-error @below {{in 'tile.read' (epoch 1), with the tile count that is written: reads tile 0 of ring 'k', which 'tile.fetch' (epoch 0) may still be fetching}}
  %x = tile.read %ring[%zero] slot(%zero) : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
}

// -----

#layout = #tile.lds_layout<panel 256, chunk 1024, pad 0, rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>
// Two loads a tile: vm(2) would do.
tile.kernel @one_too_many(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %n: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] depth(2) at(0) layout(#layout) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  tile.fetch %ring[%zero] slot(%zero) : !tile.ring<64x128xbf16>
  tile.fetch %ring[%one] slot(%one) : !tile.ring<64x128xbf16>
  // expected-note @below {{this wait leaves 3 loads in flight; at most vm(2) completes the fetch}}
  tile.wait vm(3)
  tile.barrier
  // expected-error @below {{may still be fetching}}
  %x = tile.read %ring[%zero] slot(%zero) : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
}

// -----

#layout = #tile.lds_layout<panel 256, chunk 1024, pad 0, rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>
// The other waves fetch their shares of the tile.
tile.kernel @no_barrier(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %n: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] depth(1) at(0) layout(#layout) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  tile.fetch %ring[%zero] slot(%zero) : !tile.ring<64x128xbf16>
  // expected-note @below {{the wait is here; wait one cluster earlier or read one cluster later}}
  tile.wait vm(0)
  // expected-error @below {{which 'tile.fetch' (epoch 0) fetched, with no barrier between the wait (epoch 0) and the read (epoch 0)}}
  %x = tile.read %ring[%zero] slot(%zero) : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
}

// -----

#layout = #tile.lds_layout<panel 256, chunk 1024, pad 0, rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>
// One barrier is not enough where one group is a cluster behind.
tile.kernel @two_groups(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %n: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] depth(1) at(0) layout(#layout) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  tile.barrier group(1)
  tile.fetch %ring[%zero] slot(%zero) : !tile.ring<64x128xbf16>
  // expected-note @below {{the wait is here; wait one cluster earlier or read one cluster later}}
  tile.wait vm(0)
  tile.barrier
  // expected-error @below {{with no barrier between the wait (wave group 1, epoch 1) and the read (wave group 0, epoch 1)}}
  %x = tile.read %ring[%zero] slot(%zero) : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
  tile.barrier group(0)
}

// -----

#layout = #tile.lds_layout<panel 256, chunk 1024, pad 0, rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>
// LDS reads in flight may be any of them: only lgkm(0) says which are complete.
tile.kernel @read_not_waited(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %n: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] depth(1) at(0) layout(#layout) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  tile.fetch %ring[%zero] slot(%zero) : !tile.ring<64x128xbf16>
  tile.wait vm(0)
  tile.barrier
  // expected-note @below {{the read is here and no wait completes it; put 'tile.wait lgkm(0)' in front of the barrier that ends its cluster}}
  %x = tile.read %ring[%zero] slot(%zero) : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
  tile.wait lgkm(1)
  tile.barrier
  // expected-error @below {{in 'tile.fetch' (epoch 2), with the tile count that is written: fetches tile 1 of ring 'k' over tile 0 (epoch 2), which 'tile.read' may still be reading (epoch 1)}}
  tile.fetch %ring[%one] slot(%zero) : !tile.ring<64x128xbf16>
}

// -----

#layout = #tile.lds_layout<panel 256, chunk 1024, pad 0, rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>
tile.kernel @overwritten(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %n: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] depth(1) at(0) layout(#layout) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  tile.fetch %ring[%zero] slot(%zero) : !tile.ring<64x128xbf16>
  tile.wait vm(0)
  tile.barrier
  // expected-note @below {{the read is here; fetch one cluster later, read one cluster earlier, or give ring 'k' one more slot}}
  %x = tile.read %ring[%zero] slot(%zero) : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
  tile.wait lgkm(0)
  // expected-error @below {{over tile 0 (epoch 1), which 'tile.read' may still be reading (epoch 1)}}
  tile.fetch %ring[%one] slot(%zero) : !tile.ring<64x128xbf16>
}

// -----

#layout = #tile.lds_layout<panel 256, chunk 1024, pad 0, rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>
tile.kernel @still_fetching(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %n: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] depth(1) at(0) layout(#layout) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  // expected-note @below {{by 'tile.fetch' (epoch 0); wait for it and read it first, or use another slot}}
  tile.fetch %ring[%zero] slot(%zero) : !tile.ring<64x128xbf16>
  tile.barrier
  // expected-error @below {{fetches tile 1 of ring 'k' over tile 0, which is still being fetched}}
  tile.fetch %ring[%one] slot(%zero) : !tile.ring<64x128xbf16>
}

// -----

#layout = #tile.lds_layout<panel 256, chunk 1024, pad 0, rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>
tile.kernel @shared(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %1: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(8) {
  %other = tile.ring %1[%n, %n] depth(1) at(15360) layout(#layout) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %ring = tile.ring %k[%n, %n] depth(1) at(0) layout(#layout) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  tile.fetch %ring[%zero] slot(%zero) : !tile.ring<64x128xbf16>
  tile.wait vm(0)
  tile.barrier
  // expected-note @below {{the read is here; give the rings LDS of their own}}
  %x = tile.read %ring[%zero] slot(%zero) : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
  tile.wait lgkm(0)
  // expected-error @below {{fetches tile 0 of ring 'argument 1' over tile 0 of ring 'k' (epoch 1), which 'tile.read' may still be reading (epoch 1)}}
  tile.fetch %other[%zero] slot(%zero) : !tile.ring<64x128xbf16>
}

// -----

#layout = #tile.lds_layout<panel 256, chunk 1024, pad 0, rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>
tile.kernel @destroyed(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %n: i32) target("gfx950") waves(8) {
  %other = tile.ring %k[%n, %n] depth(1) at(1024) layout(#layout) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %ring = tile.ring %k[%n, %n] depth(1) at(0) layout(#layout) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  tile.fetch %ring[%zero] slot(%zero) : !tile.ring<64x128xbf16>
  tile.wait vm(0)
  tile.barrier
  // expected-note @below {{by 'tile.fetch'; give the rings LDS of their own}}
  tile.fetch %other[%zero] slot(%zero) : !tile.ring<64x128xbf16>
  // expected-error @below {{reads tile 0 of ring 'k' from slot 0, which another ring has overwritten}}
  %x = tile.read %ring[%zero] slot(%zero) : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
}

// -----

#layout = #tile.lds_layout<panel 256, chunk 1024, pad 0, rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>
tile.kernel @another_tile(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %n: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] depth(2) at(0) layout(#layout) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  // expected-note @below {{'tile.fetch' fetched that here (epoch 0); the slot of a tile is the tile modulo the ring's depth, 2}}
  tile.fetch %ring[%zero] slot(%one) : !tile.ring<64x128xbf16>
  tile.wait vm(0)
  tile.barrier
  // expected-error @below {{reads tile 1 of ring 'k' from slot 1, which holds tile 0}}
  %x = tile.read %ring[%one] slot(%one) : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
}

// -----

#layout = #tile.lds_layout<panel 256, chunk 1024, pad 0, rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>
tile.kernel @empty_slot(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %n: i32) target("gfx950") waves(8) {
  // expected-note @below {{the ring is here; fetch the tile into this slot first}}
  %ring = tile.ring %k[%n, %n] depth(1) at(0) layout(#layout) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  // expected-error @below {{reads tile 0 of ring 'k' from slot 0, into which nothing was fetched}}
  %x = tile.read %ring[%zero] slot(%zero) : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
}

// -----

#layout = #tile.lds_layout<panel 256, chunk 1024, pad 0, rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>
tile.kernel @no_such_slot(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %n: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] depth(1) at(0) layout(#layout) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  // expected-error @below {{uses slot 1 of ring 'k', which has 1; take the tile modulo the depth}}
  tile.fetch %ring[%zero] slot(%one) : !tile.ring<64x128xbf16>
}

// -----

#layout = #tile.lds_layout<panel 256, chunk 1024, pad 0, rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>
tile.kernel @at_the_end(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %n: i32) target("gfx950") waves(8) {
  // expected-note @below {{LDS of ring 'k' is given to another workgroup then; put 'tile.wait vm(0)' behind the last fetch}}
  %ring = tile.ring %k[%n, %n] depth(1) at(0) layout(#layout) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  // expected-error @below {{in 'tile.fetch' (epoch 0) is still in flight at the end of the kernel, with the tile count that is written}}
  tile.fetch %ring[%zero] slot(%zero) : !tile.ring<64x128xbf16>
}

// -----

tile.kernel @uneven(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %n: i32) target("gfx950") waves(8) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %t = %zero to %n step %one : i32 {
    // expected-error @below {{of wave group 1 has no counterpart: with 1 tile wave group 0 meets 0 barriers and wave group 1 meets 1, so one waits for ever}}
    // expected-note @below {{the last barrier of one group alone is here; give the other group one as well}}
    tile.barrier group(1)
  }
}

// -----

#layout = #tile.lds_layout<panel 256, chunk 1024, pad 0, rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>
// One pass is well, the second is not.
tile.kernel @second_pass(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %n: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] depth(1) at(0) layout(#layout) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %t = %zero to %n step %one : i32 {
    // expected-error @below {{(epoch 1), with 2 tiles: fetches tile 1 of ring 'k' over tile 0 (epoch 1), which 'tile.read' may still be reading (epoch 1)}}
    tile.fetch %ring[%t] slot(%zero) : !tile.ring<64x128xbf16>
    tile.wait vm(0)
    tile.barrier
    // expected-note @below {{the read is here; fetch one cluster later}}
    %x = tile.read %ring[%t] slot(%zero) : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
    tile.wait lgkm(0)
  }
}

// -----

tile.kernel @not_reached(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %n: i32) target("gfx950") waves(8) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %many = arith.constant 1000 : i32
  %enough = arith.cmpi sgt, %n, %many : i32
  scf.if %enough {
    // expected-error @below {{is not reached with 0 to 256 tiles, so it cannot be verified; remove it or let it run for fewer tiles}}
    tile.barrier
  }
}

// -----

// expected-note @below {{on this; compute one number in front of it from which all else follows}}
tile.kernel @two_counts(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %m: i32, %n: i32) target("gfx950") waves(8) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  // expected-error @below {{depends on more at run time than one number of tiles, which is what 'tile-verify-clusters' follows}}
  scf.for %t = %m to %n step %one : i32 {
    tile.barrier
  }
}

// -----

tile.kernel @wave(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %n: i32) target("gfx950") waves(8) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  // expected-note @below {{through this; use the workgroup's row instead}}
  %row = tile.wave_row %n rows(32)
  // expected-error @below {{depends on the wave, but all waves must meet the same barriers}}
  scf.for %t = %zero to %row step %one : i32 {
    tile.barrier
  }
}

// -----

#layout = #tile.lds_layout<panel 256, chunk 1024, pad 0, rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>
tile.kernel @not_a_number(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %n: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] depth(1) at(0) layout(#layout) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %t = %zero to %n step %one : i32 {
    // expected-note @below {{it comes from here; compute it from the tile count and constants with 'arith' ops}}
    %slot = arith.remui %t, %zero : i32
    // expected-error @below {{has a slot that does not follow from the number of tiles}}
    tile.fetch %ring[%t] slot(%slot) : !tile.ring<64x128xbf16>
  }
}

// -----

// expected-note @below {{on this; compute one number in front of it}}
tile.kernel @a_condition(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %s: f32) target("gfx950") waves(8) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %c = arith.cmpf oeq, %s, %s : f32
  // expected-error @below {{depends on more at run time than one number of tiles}}
  scf.if %c {
    tile.barrier
  }
}

// -----

#layout = #tile.lds_layout<panel 256, chunk 1024, pad 0, rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>
tile.kernel @no_slot(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %n: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] depth(1) at(0) layout(#layout) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  // expected-error @below {{has no slot; run 'tile-pipeline' before 'tile-verify-clusters'}}
  tile.fetch %ring[%zero] : !tile.ring<64x128xbf16>
}

// -----

tile.kernel @step(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %n: i32) target("gfx950") waves(8) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  // expected-error @below {{has a step of 0, at least 1 is needed}}
  scf.for %t = %zero to %one step %zero : i32 {
    tile.barrier
  }
}

// -----

tile.kernel @for_ever(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %n: i32) target("gfx950") waves(8) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %true = arith.constant true
  scf.while : () -> () {
    // expected-error @below {{is reached again and again: the kernel does not end}}
    tile.barrier
    scf.condition(%true)
  } do {
    scf.yield
  }
}

// -----

tile.kernel @tile_stage(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %n: i32) target("gfx950") waves(8) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  // expected-error @below {{is of the tile stage; run 'tile-pipeline' before 'tile-verify-clusters'}}
  tile.for_tiles %t = 0 to %n schedule(@s) {
  }
}

// -----

tile.kernel @no_counts(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %n: i32) target("gfx950") waves(8) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  // expected-error @below {{says no count yet; run 'tile-synchronize' before 'tile-verify-clusters'}}
  tile.await reads
}

// -----

tile.kernel @no_layout(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %n: i32) target("gfx950") waves(8) {
  // expected-error @below {{has no depth, place or layout; run 'tile-pipeline' and 'tile-allocate-lds' before 'tile-verify-clusters'}}
  %ring = tile.ring %k[%n, %n] depth(1) at(0) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  tile.barrier
}

// -----

#layout = #tile.lds_layout<panel 256, chunk 1024, pad 0, rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>
tile.kernel @three_waves(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %n: i32) target("gfx950") waves(3) {
  // expected-error @below {{cannot be fetched: no plan for an LDS DMA by 3 waves}}
  %ring = tile.ring %k[%n, %n] depth(1) at(0) layout(#layout) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  tile.barrier
}

// -----

// A ring that comes out of a condition could be any.
#layout = #tile.lds_layout<panel 256, chunk 1024, pad 0, rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>
tile.kernel @which(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(8) {
  %a = tile.ring %k[%n, %n] depth(1) at(0) layout(#layout) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %b = tile.ring %k[%n, %n] depth(1) at(16384) layout(#layout) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %c = arith.cmpi eq, %n, %n : i32
  %ring = scf.if %c -> !tile.ring<64x128xbf16> {
    // expected-error @below {{uses a ring in a way that 'tile-verify-clusters' cannot follow; use 'tile.fetch' and 'tile.read' on the result of a 'tile.ring'}}
    scf.yield %a : !tile.ring<64x128xbf16>
  } else {
    scf.yield %b : !tile.ring<64x128xbf16>
  }
  tile.fetch %ring[%n] slot(%n) : !tile.ring<64x128xbf16>
}

// -----

#layout = #tile.lds_layout<panel 256, chunk 1024, pad 0, rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>
// Only a second turn of the outer loop shows it, and only if the inner one, whose barriers hide it, does not run.
tile.kernel @between_turns(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %n: i32, %m: i32) target("gfx950") waves(8) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %head = %zero to %m step %one : i32 {
    %ring = tile.ring %k[%n, %head] depth(1) at(0) layout(#layout) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
    scf.for %t = %zero to %n step %one : i32 {
      tile.barrier
    }
    // expected-error @below {{fetches tile 0 of ring 'k' over tile 0 (epoch 1), which 'tile.read' may still be reading (epoch 1)}}
    tile.fetch %ring[%zero] slot(%zero) : !tile.ring<64x128xbf16>
    tile.wait vm(0)
    tile.barrier
    // expected-note @below {{the read is here}}
    %x = tile.read %ring[%zero] slot(%zero) : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
    tile.wait lgkm(0)
  }
}

// -----

#layout = #tile.lds_layout<panel 256, chunk 1024, pad 0, rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>
// Without a barrier between the compiler may have asked for them first.
tile.kernel @loads_of_one_cluster(%k: !tile.view<?x?x?x128xbf16>, %b: !tile.view<?x?xbf16>, %n: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] depth(1) at(0) layout(#layout) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %t = %zero to %n step %one : i32 {
    %next = arith.addi %t, %one : i32
    tile.fetch %ring[%t] slot(%zero) : !tile.ring<64x128xbf16>
    %p = tile.begin_load %b[%zero, %zero] tile(%t) : <?x?xbf16> -> <!tile.frag<64x32xbf16, acc>>
    // expected-note @below {{this wait leaves 4 loads in flight; at most vm(0) completes the fetch}}
    tile.wait vm(4)
    tile.barrier
    // expected-error @below {{reads tile 0 of ring 'k', which 'tile.fetch' (epoch 0) may still be fetching}}
    %x = tile.read %ring[%t] slot(%zero) : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
    tile.wait lgkm(0)
    tile.barrier
    %y = tile.end_load %p tile(%t) : <!tile.frag<64x32xbf16, acc>> -> !tile.frag<64x32xf32, acc>
  }
}

// -----

#layout = #tile.lds_layout<panel 256, chunk 1024, pad 0, rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>
// What is pending is another tile's.
tile.kernel @loads_of_another_tile(%k: !tile.view<?x?x?x128xbf16>, %b: !tile.view<?x?xbf16>, %n: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] depth(1) at(0) layout(#layout) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %t = %zero to %n step %one : i32 {
    %next = arith.addi %t, %one : i32
    tile.fetch %ring[%t] slot(%zero) : !tile.ring<64x128xbf16>
    tile.barrier
    // expected-note @below {{what is pending comes from here; begin and end the same tile}}
    %p = tile.begin_load %b[%zero, %zero] tile(%t) : <?x?xbf16> -> <!tile.frag<64x32xbf16, acc>>
    tile.wait vm(4)
    tile.barrier
    %x = tile.read %ring[%t] slot(%zero) : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
    tile.wait lgkm(0)
    tile.barrier
    // expected-error @below {{ends the load of tile 0 for tile 1}}
    %y = tile.end_load %p tile(%next) : <!tile.frag<64x32xbf16, acc>> -> !tile.frag<64x32xf32, acc>
  }
}

// -----

#layout = #tile.lds_layout<panel 256, chunk 1024, pad 0, rows [256, 512, 1024, 2048, 4096, 8192], bytes [1, 2, 4, 8, 16, 32, 64, 128]>
// Turns of a loop that make their counts themselves: two of one tile, or of two, follow one another; two behind one do not.
tile.kernel @turns_differ(%k: !tile.view<?x?x?x128xbf16>, %counts: !tile.view<?xi32>, %m: i32) target("gfx950") waves(8) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %ring = tile.ring %k[%zero, %zero] depth(1) at(0) layout(#layout) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  scf.for %head = %zero to %m step %one : i32 {
    %n = tile.load %counts[%head] : !tile.view<?xi32> -> i32
    %is_one = arith.cmpi eq, %n, %one : i32
    scf.if %is_one {
      tile.barrier
      tile.fetch %ring[%zero] slot(%zero) : !tile.ring<64x128xbf16>
      tile.wait vm(0)
      tile.barrier
      // expected-note @below {{the read is here; fetch one cluster later, read one cluster earlier, or give ring 'k' one more slot}}
      %x = tile.read %ring[%zero] slot(%zero) : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
      tile.wait lgkm(0)
    }
    scf.for %t = %one to %n step %one : i32 {
      // expected-error @below {{with 3 and 1 and 2 tiles: fetches tile 0 of ring 'k' over tile 0 (epoch 2), which 'tile.read' may still be reading}}
      tile.fetch %ring[%zero] slot(%zero) : !tile.ring<64x128xbf16>
      tile.wait vm(0)
      tile.barrier
      %x = tile.read %ring[%zero] slot(%zero) : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
      tile.wait lgkm(0)
      tile.barrier
    }
  }
}

// -----

// Both groups come here in the same epoch.
tile.kernel @shared_at_once() target("gfx950") waves(8) {
  %x = tile.fill 0.0 : !tile.frag<32x64xbf16, lines>
  // expected-error @below {{shares LDS with a wave that may use it at the same time, with the tile count that is written: wave group 0, epoch 0}}
  // expected-note @below {{the other is here (wave group 1, epoch 0); put a barrier between, or leave 'shared' out}}
  %y = tile.convert_layout %x at(0 by 8192) shared : !tile.frag<32x64xbf16, lines> -> !tile.frag<64x32xbf16, rhs>
  tile.wait lgkm(0)
  tile.barrier
  tile.barrier group(1)
  tile.barrier group(0)
}

// -----

// One group reads while the other stores: its reads are not waited for in front of the barrier.
tile.kernel @shared_unawaited() target("gfx950") waves(8) {
  %x = tile.fill 0.0 : !tile.frag<32x64xbf16, lines>
  tile.barrier group(1)
  // expected-error @below {{shares LDS between wave groups, with the tile count that is written: no wait completes it; put 'tile.wait lgkm(0)' in front of the next barrier, or leave 'shared' out}}
  %y = tile.convert_layout %x at(0 by 8192) shared : !tile.frag<32x64xbf16, lines> -> !tile.frag<64x32xbf16, rhs>
  tile.barrier
  tile.barrier group(0)
}

// -----

// Awaited behind the barrier: the other group may be here by then.
tile.kernel @shared_awaited_late() target("gfx950") waves(8) {
  %x = tile.fill 0.0 : !tile.frag<32x64xbf16, lines>
  tile.barrier group(1)
  // expected-error @below {{shares LDS with a wave that may use it at the same time}}
  // expected-note @below {{the other is here}}
  %y = tile.convert_layout %x at(0 by 8192) shared : !tile.frag<32x64xbf16, lines> -> !tile.frag<64x32xbf16, rhs>
  tile.barrier
  tile.wait lgkm(0)
  tile.barrier group(0)
}
