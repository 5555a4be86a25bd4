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

// expected-error @below {{schedule 's' asks for unroll(2) and wave_groups(1), only 1 of each is supported yet}}
tile.schedule @s unroll(2) {
  tile.cluster compute { a(0) }
}
tile.kernel @unroll(%n: i32) target("gfx950") waves(1) {
  tile.for_tiles %t = 0 to %n schedule(@s) {
    tile.step @a { }
  }
}

// -----

// expected-error @below {{schedule 's' asks for unroll(1) and wave_groups(2), only 1 of each is supported yet}}
tile.schedule @s wave_groups(2) {
  tile.cluster compute { a(0) }
}
tile.kernel @groups(%n: i32) target("gfx950") waves(1) {
  tile.for_tiles %t = 0 to %n schedule(@s) {
    tile.step @a { }
  }
}

// -----

tile.schedule @s {
  // expected-error @below {{places step 'b', which the loop that follows schedule 's' does not have}}
  tile.cluster compute { a(0) b(0) }
}
tile.kernel @no_such_step(%n: i32) target("gfx950") waves(1) {
  // expected-note @below {{the loop is here; remove the place or add the step}}
  tile.for_tiles %t = 0 to %n schedule(@s) {
    tile.step @a { }
  }
}

// -----

tile.schedule @s {
  // expected-error @below {{places step 'a' 1 tiles away; overlapping iterations is not supported yet, use offset 0}}
  tile.cluster compute { a(+1) }
}
tile.kernel @ahead(%n: i32) target("gfx950") waves(1) {
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
  // expected-error @below {{runs step 'use' before step 'make', whose result it uses; place 'make' before it}}
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
  // expected-error @below {{reads ring 'k' in step 'read' (cluster 0), but step 'fetch' fetches that tile in cluster 0; a tile is complete only after the barrier that ends its fetch's cluster, so place 'read' in a later cluster}}
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

tile.schedule @s {
  // expected-error @below {{reads ring 'argument 0' in step 'read', but no step fetches into it; add a step with 'tile.fetch'}}
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
