// Every refusal of the loop over tiles, of steps and of schedules.
// RUN: hocket-opt %s -verify-diagnostics -split-input-file

tile.kernel @start(%n: i32) target("gfx950") waves(1) {
  // expected-error @below {{a loop over tiles starts at 0}}
  tile.for_tiles %t = 1 to %n schedule(@s) {
  }
}

// -----

tile.kernel @no_schedule(%n: i32) target("gfx950") waves(1) {
  // expected-error @below {{expected 'schedule'}}
  tile.for_tiles %t = 0 to %n {
  }
}

// -----

tile.kernel @negative_cut(%n: i32) target("gfx950") waves(1) {
  // expected-error @below {{says 'cut_right' within -1, expected 0 to 1073741824; a bound of which nothing is known is left out}}
  tile.for_tiles %t = 0 to %n cut_right(%n within -1) schedule(@s) {
  }
}

// -----

tile.kernel @far_cut(%n: i32) target("gfx950") waves(1) {
  // expected-error @below {{says 'cut_left' within 1073741825, expected 0 to 1073741824; a bound of which nothing is known is left out}}
  tile.for_tiles %t = 0 to %n cut_left(%n within 1073741825) schedule(@s) {
  }
}

// -----

tile.kernel @cut_twice(%n: i32) target("gfx950") waves(1) {
  // expected-error @below {{lists a bound twice in 'cut_right'; remove one}}
  tile.for_tiles %t = 0 to %n cut_right(%n within 0, %n within 1) schedule(@s) {
  }
}

// -----

tile.kernel @cut_without_distance(%n: i32) target("gfx950") waves(1) {
  // expected-error @below {{expected 'within'}}
  tile.for_tiles %t = 0 to %n cut_right(%n) schedule(@s) {
  }
}

// -----

// In the generic form the two lists can disagree.
tile.kernel @lists(%n: i32) target("gfx950") waves(1) {
  // expected-error @below {{has bounds that cut its tiles without saying within what, or the reverse}}
  "tile.for_tiles"(%n, %n) <{left_within = array<i64>, operandSegmentSizes = array<i32: 1, 0, 0, 1, 0>, right_within = array<i64: 1, 2>, schedule = @s}> ({
  ^bb0(%t: i32):
    "tile.yield"() : () -> ()
  }) : (i32, i32) -> ()
}

// -----

tile.kernel @not_a_step(%n: i32) target("gfx950") waves(1) {
  tile.for_tiles %t = 0 to %n schedule(@s) {
    // expected-error @below {{stands in the body of 'tile.for_tiles', only steps may; put it into a 'tile.step' or in front of the loop}}
    %x = arith.addi %t, %n : i32
  }
}

// -----

tile.kernel @twice(%n: i32) target("gfx950") waves(1) {
  tile.for_tiles %t = 0 to %n schedule(@s) {
    tile.step @a { }
    // expected-error @below {{step 'a' appears twice}}
    tile.step @a { }
  }
}

// -----

tile.kernel @yielded(%n: i32) target("gfx950") waves(1) {
  // expected-error @below {{initial, carried, yielded and result types must be the same}}
  %0 = tile.for_tiles %t = 0 to %n init(%a = %n : i32) schedule(@s) {
  }
}

// -----

tile.kernel @arguments(%n: i32) target("gfx950") waves(1) {
  // expected-error @below {{body must take the tile (i32) and the carried values}}
  "tile.for_tiles"(%n) <{left_within = array<i64>, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0>, right_within = array<i64>, schedule = @s}> ({
  ^bb0(%t: i64):
    "tile.yield"() : () -> ()
  }) : (i32) -> ()
}

// -----

tile.kernel @no_arguments(%n: i32) target("gfx950") waves(1) {
  // expected-error @below {{body must take the tile (i32) and the carried values}}
  "tile.for_tiles"(%n) <{left_within = array<i64>, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0>, right_within = array<i64>, schedule = @s}> ({
    "tile.yield"() : () -> ()
  }) : (i32) -> ()
}

// -----

tile.kernel @step_types(%n: i32) target("gfx950") waves(1) {
  // expected-error @below {{step 'a' yields other types than it declares as results}}
  %0 = tile.step @a -> f32 { tile.yield %n : i32 }
}

// -----

tile.kernel @step_forgets(%n: i32) target("gfx950") waves(1) {
  // expected-error @below {{step 'a' yields other types than it declares as results}}
  %0 = tile.step @a -> f32 { }
}

// -----

// expected-error @below {{unroll(0), expected 1 to 16}}
tile.schedule @unroll unroll(0) {
  tile.cluster compute { a(0) }
}

// -----

// expected-error @below {{polynomials(0), a number from 1 on is needed: one pair of each so many}}
tile.schedule @polynomials polynomials(0) {
  tile.cluster memory { fetch(0) }
}

// -----

// expected-error @below {{wave_groups(3), expected 1 or 2}}
tile.schedule @groups wave_groups(3) {
  tile.cluster compute { a(0) }
}

// -----

// expected-error @below {{schedule 'empty' has no cluster; add a 'tile.cluster' with steps of the loop}}
tile.schedule @empty {
}

// -----

tile.schedule @joined_to_nothing {
  // expected-error @below {{is joined to the cluster before, and is the first; take 'joined' away}}
  tile.cluster joined compute { a(0) }
}

// -----

tile.schedule @other_op {
  // expected-error @below {{stands in a schedule, only clusters may}}
  %c = arith.constant 0 : i32
}

// -----

tile.schedule @twice {
  tile.cluster memory { a(0) }
  // expected-error @below {{step 'a' is placed twice in schedule 'twice'; remove one of the places}}
  tile.cluster compute { b(0) a(1) }
}

// -----

tile.schedule @kind {
  // expected-error @below {{expected string or keyword containing one of the following enum values for attribute 'kind' [memory, compute]}}
  tile.cluster idle { a(0) }
}

// -----

tile.schedule @no_offset {
  // expected-error @below {{expected '('}}
  tile.cluster memory { a b(0) }
}

// -----

tile.schedule @signs {
  // expected-error @below {{tile offset has two signs}}
  tile.cluster memory { a(+-1) }
}

// -----

tile.schedule @large {
  // expected-error @below {{integer value too large}}
  tile.cluster memory { a(99999999999999999999) }
}

// -----

"tile.schedule"() <{sym_name = "places"}> ({
  // expected-error @below {{attribute 'places' failed to satisfy constraint: array of places}}
  "tile.cluster"() <{kind = 1 : i32, places = [1]}> : () -> ()
}) : () -> ()

// -----

// expected-error @below {{'tile.cluster' op expects parent op 'tile.schedule'}}
tile.cluster memory { a(0) }

// -----

// expected-error @below {{unroll(1000000), expected 1 to 16}}
tile.schedule @unroll_much unroll(1000000) {
  tile.cluster compute { a(0) }
}

// -----

tile.schedule @far {
  // expected-error @below {{places step 'a' 9223372036854775807 tiles away, expected -16 to 16}}
  tile.cluster compute { a(9223372036854775807) }
}

// -----

tile.kernel @yields_outside(%n: i32) target("gfx950") waves(1) {
  // expected-error @below {{yields a value that none of its steps produces}}
  %0 = tile.for_tiles %t = 0 to %n init(%a = %n : i32) schedule(@s) {
    tile.yield %n : i32
  }
}

// -----

// Parts are verified before the whole.
tile.kernel @nameless(%n: i32) target("gfx950") waves(1) {
  tile.for_tiles %t = 0 to %n schedule(@s) {
    // expected-error @below {{requires attribute 'sym_name'}}
    "tile.step"() ({
      "tile.yield"() : () -> ()
    }) : () -> ()
  }
}

// -----

tile.kernel @where_types(%n: i32, %x: f32) target("gfx950") waves(1) {
  %sees = arith.cmpi slt, %n, %n : i32
  // expected-error @below {{must have results of the types that it yields and of what stands behind 'else'}}
  %y = tile.where %sees else(%x : f32) {
    tile.yield %n : i32
  }
}

// -----

tile.kernel @where_waits(%n: i32) target("gfx950") waves(1) {
  %sees = arith.cmpi slt, %n, %n : i32
  // expected-error @below {{holds a wait or a barrier, which all waves must come to; move it out}}
  tile.where %sees {
    tile.barrier
  }
}
