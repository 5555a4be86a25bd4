// Every schedule that tile-pipeline refuses, and why.
// RUN: hocket-opt %s --tile-pipeline -verify-diagnostics -split-input-file

tile.kernel @unknown(%n: i32) target("gfx950") waves(1) {
  // expected-error @below {{follows schedule 'missing', which the module does not have; add a 'tile.schedule' or choose one with --schedule}}
  tile.for_tiles %t = 0 to %n schedule(@missing) {
  }
}

// -----

// The name of something else is not a schedule.
tile.kernel @self(%n: i32) target("gfx950") waves(1) {
  // expected-error @below {{follows schedule 'self', which the module does not have}}
  tile.for_tiles %t = 0 to %n schedule(@self) {
  }
}

// -----

tile.schedule @s {
  // expected-error @below {{places step 'b', which the loop that follows schedule 's' does not have}}
  tile.cluster compute { a(0) b(0) }
}
tile.kernel @no_such_step(%n: i32) target("gfx950") waves(1) {
  // expected-note @below {{the loop is here, with 'a'; place one of these instead}}
  tile.for_tiles %t = 0 to %n schedule(@s) {
    tile.step @a { }
  }
}

// -----

// expected-note @below {{add 'b(0)' to one of its clusters}}
tile.schedule @s {
  tile.cluster compute { a(0) }
}
tile.kernel @not_placed(%n: i32) target("gfx950") waves(1) {
  tile.for_tiles %t = 0 to %n schedule(@s) {
    tile.step @a { }
    // expected-error @below {{step 'b' is not placed by schedule 's'}}
    tile.step @b { }
  }
}

// -----

tile.schedule @s {
  tile.cluster compute { a(0) }
}
tile.kernel @nested(%n: i32) target("gfx950") waves(1) {
  tile.for_tiles %t = 0 to %n schedule(@s) {
    tile.step @a {
      // expected-error @below {{stands in step 'a'; a schedule places whole steps, so put the loop outside of it}}
      tile.for_tiles %u = 0 to %n schedule(@s) {
        tile.step @a { }
      }
    }
  }
}

// -----

tile.schedule @s {
  // expected-error @below {{runs step 'use' (cluster 0, tile offset 0) before step 'make' (cluster 0, tile offset 0) has produced what it uses}}
  // expected-note @below {{write 'make' in front of 'use' in the cluster}}
  tile.cluster compute { use(0) make(0) }
}
tile.kernel @before_it_is_made(%n: i32) target("gfx950") waves(1) {
  tile.for_tiles %t = 0 to %n schedule(@s) {
    %x = tile.step @make -> i32 { tile.yield %t : i32 }
    tile.step @use { %y = arith.addi %x, %x : i32 }
  }
}

// -----

tile.schedule @s {
  // expected-note @below {{place 'use' 1 cluster later, or 'make' 1 cluster earlier (one tile offset is 2 clusters)}}
  tile.cluster compute { make(0) }
  // expected-error @below {{runs step 'use' (cluster 1, tile offset 2) before step 'make' (cluster 0, tile offset 0) has produced what it uses of the tile before}}
  tile.cluster compute { use(+2) }
}
tile.kernel @carried_too_early(%n: i32) target("gfx950") waves(1) {
  %0 = tile.for_tiles %t = 0 to %n init(%old = %n : i32) schedule(@s) {
    %x = tile.step @make -> i32 { tile.yield %t : i32 }
    tile.step @use { %y = arith.addi %old, %old : i32 }
    tile.yield %x : i32
  }
}

// -----

tile.schedule @s {
  // expected-error @below {{reads ring 'k' in step 'read' (cluster 0, tile offset 0) before the tile that step 'fetch' (cluster 0, tile offset 0) fetches is complete for all waves: a wait and a barrier must lie between them}}
  // expected-note @below {{place 'read' 1 cluster later, or 'fetch' 1 cluster earlier (one tile offset is 1 cluster)}}
  tile.cluster memory { fetch(0) read(0) }
}
tile.kernel @same_cluster(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %n: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  tile.for_tiles %t = 0 to %n schedule(@s) {
    tile.step @fetch { tile.fetch %ring[%t] : !tile.ring<64x128xbf16> }
    tile.step @read {
      %x = tile.read %ring[%t] : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
    }
  }
}

// -----

// One cluster between fetch and read is not enough where the other group is one cluster behind.
tile.schedule @s wave_groups(2) {
  // expected-note @below {{place 'read' 1 cluster later, or 'fetch' 1 cluster earlier (one tile offset is 2 clusters)}}
  tile.cluster memory { fetch(0) }
  // expected-error @below {{a wait and two barriers, one for each wave group, must lie between them}}
  tile.cluster compute { read(0) }
}
tile.kernel @two_groups(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %n: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  tile.for_tiles %t = 0 to %n schedule(@s) {
    tile.step @fetch { tile.fetch %ring[%t] : !tile.ring<64x128xbf16> }
    tile.step @read {
      %x = tile.read %ring[%t] : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
    }
  }
}

// -----

tile.schedule @s wave_groups(2) {
  tile.cluster compute { a(0) }
}
tile.kernel @odd_waves(%n: i32) target("gfx950") waves(3) {
  // expected-error @below {{follows schedule 's' with two wave groups, but the kernel has 3 waves; an even number is needed}}
  tile.for_tiles %t = 0 to %n schedule(@s) {
    tile.step @a { }
  }
}

// -----

tile.schedule @s {
  // expected-error @below {{reads ring 'k' in step 'read' (cluster 0, tile offset 0), but no step fetches into it; add a step with 'tile.fetch'}}
  tile.cluster compute { read(0) }
}
tile.kernel @never_fetched(%k: !tile.view<?x?x?x128xbf16>, %n: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  tile.for_tiles %t = 0 to %n schedule(@s) {
    tile.step @read {
      %x = tile.read_transposed %ring[%t] : !tile.ring<64x128xbf16> -> !tile.frag<128x64xbf16, lhs_acc>
    }
  }
}

// -----

tile.schedule @s {
  tile.cluster memory { fetch(0) again(0) }
}
tile.kernel @fetched_twice(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %n: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  tile.for_tiles %t = 0 to %n schedule(@s) {
    tile.step @fetch { tile.fetch %ring[%t] : !tile.ring<64x128xbf16> }
    // expected-error @below {{is the second fetch into ring 'k' in one iteration; a tile is fetched once}}
    tile.step @again { tile.fetch %ring[%t] : !tile.ring<64x128xbf16> }
  }
}

// -----

tile.schedule @s {
  // expected-note @below {{place 'read' 1 cluster earlier, or 'fetch' 1 cluster later (one tile offset is 1 cluster); or give ring 'k' 2 slots}}
  // expected-error @below {{while step 'fetch' (cluster 0, tile offset 1) of a later tile may already overwrite its slot: the ring has depth 1, this schedule needs 2}}
  tile.cluster compute { fetch(+1) read(0) }
}
tile.kernel @shallow(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %n: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] depth(1) : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  tile.for_tiles %t = 0 to %n schedule(@s) {
    tile.step @fetch { tile.fetch %ring[%t] : !tile.ring<64x128xbf16> }
    tile.step @read {
      %x = tile.read %ring[%t] : !tile.ring<64x128xbf16> -> !tile.frag<64x128xbf16, lhs>
    }
  }
}

// -----

tile.schedule @s {
  tile.cluster memory { fetch(0) }
}
tile.kernel @conditional(%k: !tile.view<?x?x?x128xbf16> {tile.bind = "k"}, %n: i32) target("gfx950") waves(8) {
  %ring = tile.ring %k[%n, %n] : !tile.view<?x?x?x128xbf16> -> !tile.ring<64x128xbf16>
  %c = arith.cmpi eq, %n, %n : i32
  tile.for_tiles %t = 0 to %n schedule(@s) {
    tile.step @fetch {
      scf.if %c {
        // expected-error @below {{stands in 'scf.if', where waits cannot be counted; put it directly into step 'fetch'}}
        tile.fetch %ring[%t] : !tile.ring<64x128xbf16>
      }
    }
  }
}

// -----

tile.schedule @s {
  tile.cluster compute { a(0) }
}
tile.kernel @no_steps(%n: i32) target("gfx950") waves(1) {
  // expected-error @below {{has no steps; a loop over tiles needs at least one}}
  tile.for_tiles %t = 0 to %n schedule(@empty) {
  }
}
tile.schedule @empty {
  tile.cluster compute { }
}
