// Every refusal of the ops on values.
// RUN: hocket-opt %s -verify-diagnostics -split-input-file

tile.kernel @no_result(%s: f32) target("gfx950") waves(1) {
  // expected-error @below {{has no result; write the type of what its region yields behind '->'}}
  tile.map(%e = %s : f32) -> () {
    tile.yield
  }
}

// -----

tile.kernel @results_apart(%s: f32) target("gfx950") waves(1) {
  // expected-error @below {{result 1 is '!tile.frag<32x64xf32, acc>' and result 0 '!tile.frag<64x32xf32, acc>', expected all results in the same places}}
  %x:2 = tile.map(%e = %s : f32) -> (!tile.frag<64x32xf32, acc>, !tile.frag<32x64xf32, acc>) {
    tile.yield %e, %e : f32, f32
  }
}

// -----

tile.kernel @result_kinds(%s: f32) target("gfx950") waves(1) {
  // expected-error @below {{result 1 is 'f32' and result 0 '!tile.rows<32xf32>', expected all results in the same places}}
  %x:2 = tile.map(%e = %s : f32) -> (!tile.rows<32xf32>, f32) {
    tile.yield %e, %e : f32, f32
  }
}

// -----

tile.kernel @other_layout() target("gfx950") waves(1) {
  %x = tile.fill 0.0 : !tile.frag<32x64xbf16, lines>
  // expected-error @below {{input 0 is '!tile.frag<32x64xbf16, lines>', expected '!tile.frag<32x64xbf16, lines(4)>' for a result '!tile.frag<32x64xf32, lines>'}}
  %y = tile.map(%e = %x : !tile.frag<32x64xbf16, lines>) -> !tile.frag<32x64xf32, lines> {
    %f = arith.extf %e : bf16 to f32
    tile.yield %f : f32
  }
}

// -----

tile.kernel @other_rows() target("gfx950") waves(1) {
  %x = tile.fill 0.0 : !tile.frag<32x64xf32, acc>
  %r = tile.fill 0.0 : !tile.rows<32xbf16>
  // expected-error @below {{input 1 is '!tile.rows<32xbf16>', expected '!tile.rows<64xbf16>' for a result '!tile.frag<32x64xf32, acc>'}}
  %y = tile.map(%e = %x : !tile.frag<32x64xf32, acc>, %f = %r : !tile.rows<32xbf16>) -> !tile.frag<32x64xf32, acc> {
    tile.yield %e : f32
  }
}

// -----

tile.kernel @columns_of_rows() target("gfx950") waves(1) {
  %c = tile.fill 0.0 : !tile.columns<32xf32, acc>
  // expected-error @below {{input 0 is '!tile.columns<32xf32, acc>', expected '!tile.rows<32xf32>' for a result '!tile.rows<32xf32>'}}
  %y = tile.map(%e = %c : !tile.columns<32xf32, acc>) -> !tile.rows<32xf32> {
    tile.yield %e : f32
  }
}

// -----

tile.kernel @coordinates_of_a_number() target("gfx950") waves(1) {
  // expected-error @below {{asks for the coordinates of 'i32', only fragments, rows and columns have any}}
  %y = tile.map() at(%r, %c) -> i32 {
    tile.yield %r : i32
  }
}

// -----

tile.kernel @yields_another_type(%s: f32) target("gfx950") waves(1) {
  // expected-error @below {{region yields 'f32' for result 0 of '!tile.rows<32xbf16>', expected 'bf16'}}
  %y = tile.map(%e = %s : f32) -> !tile.rows<32xbf16> {
    tile.yield %e : f32
  }
}

// -----

tile.kernel @yields_too_few(%s: f32) target("gfx950") waves(1) {
  // expected-error @below {{region yields 0 numbers for 1 results}}
  %y = tile.map(%e = %s : f32) -> f32 {
    tile.yield
  }
}

// -----

tile.kernel @region_arguments(%s: f32) target("gfx950") waves(1) {
  // expected-error @below {{region takes other types than the elements of its inputs and, with 'at', two i32}}
  %y = "tile.map"(%s) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> ({
  ^bb0(%e: i32):
    tile.yield %e : i32
  }) : (f32) -> i32
}

// -----

tile.kernel @origin_alone(%s: f32, %n: i32) target("gfx950") waves(1) {
  // expected-error @below {{has an origin of coordinates, but no coordinates}}
  %y = "tile.map"(%s, %n) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>}> ({
  ^bb0(%e: f32):
    tile.yield %e : f32
  }) : (f32, i32) -> f32
}

// -----

tile.kernel @no_yield(%s: f32) target("gfx950") waves(1) {
  // expected-error @below {{region must end in 'tile.yield'}}
  %y = "tile.map"(%s) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> ({
  ^bb0(%e: f32):
    llvm.unreachable
  }) : (f32) -> f32
}

// -----

tile.kernel @conditional(%s: f32) target("gfx950") waves(1) {
  %y = tile.map(%e = %s : f32) -> f32 {
    %true = arith.constant true
    // expected-error @below {{may not stand in a region that computes one element; use 'arith.select'}}
    %f = scf.if %true -> f32 {
      scf.yield %e : f32
    } else {
      scf.yield %e : f32
    }
    tile.yield %f : f32
  }
}

// -----

tile.kernel @tangent(%s: f32) target("gfx950") waves(1) {
  %y = tile.map(%e = %s : f32) -> f32 {
    // expected-error @below {{may not stand in a region that computes one element; divide 'math.sin' by 'math.cos'}}
    %f = math.tan %e : f32
    tile.yield %f : f32
  }
}

// -----

tile.kernel @other_ops(%s: f32) target("gfx950") waves(1) {
  %y = tile.map(%e = %s : f32) -> f32 {
    // expected-error @below {{may not stand in a region that computes one element; docs/Values.md lists what may stand there}}
    %f = math.atan %e : f32
    tile.yield %f : f32
  }
}

// -----

tile.kernel @wide_integers(%n: i32) target("gfx950") waves(1) {
  %y = tile.map(%e = %n : i32) -> i32 {
    // expected-error @below {{computes with 'i64' in a region of elements, expected f32, f16, bf16, a float of 8 bits, i32, i16, i8 or i1}}
    %f = arith.extsi %e : i32 to i64
    %g = arith.trunci %f : i64 to i32
    tile.yield %g : i32
  }
}

// -----

tile.kernel @fast(%s: f32) target("gfx950") waves(1) {
  %y = tile.map(%e = %s : f32) -> f32 {
    // expected-error @below {{has fast-math flags, a map computes what is written; remove them}}
    %f = arith.addf %e, %e fastmath<reassoc> : f32
    tile.yield %f : f32
  }
}

// -----

tile.kernel @rounding(%s: f32) target("gfx950") waves(1) {
  %y = tile.map(%e = %s : f32) -> bf16 {
    // expected-error @below {{has a rounding mode, a map rounds to nearest even; remove it}}
    %f = arith.truncf %e to_nearest_away : f32 to bf16
    tile.yield %f : bf16
  }
}

// -----

tile.kernel @divides(%n: i32) target("gfx950") waves(1) {
  %y = tile.map(%e = %n : i32) -> i32 {
    // expected-error @below {{divides by a number that is no constant, or 0 or -1; divide by another constant, or in floating point}}
    %f = arith.divsi %e, %e : i32
    tile.yield %f : i32
  }
}

// -----

tile.kernel @shifts(%n: i32) target("gfx950") waves(1) {
  %y = tile.map(%e = %n : i32) -> i32 {
    %k = arith.constant 32 : i32
    // expected-error @below {{shifts by a number that is no constant from 0 to 31; multiply or divide instead, or write the constant}}
    %f = arith.shli %e, %k : i32
    tile.yield %f : i32
  }
}

// -----

tile.kernel @captures(%s: f32) target("gfx950") waves(1) {
  %k = arith.constant 1.0 : f32
  %y = tile.map(%e = %s : f32) -> f32 {
    // expected-error @below {{use of undeclared SSA value name}}
    %f = arith.addf %e, %k : f32
    tile.yield %f : f32
  }
}

// -----

tile.kernel @no_such_dimension() target("gfx950") waves(1) {
  %x = tile.fill 0.0 : !tile.rows<32xf32>
  // expected-error @below {{reduces '!tile.rows<32xf32>' over columns, which it does not have; reduce it over rows}}
  %y = tile.reduce sum %x over columns : !tile.rows<32xf32> -> f32
}

// -----

tile.kernel @gives_another() target("gfx950") waves(1) {
  %x = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  // expected-error @below {{gives '!tile.rows<32xf32>', not '!tile.rows<64xf32>'}}
  %y = tile.reduce max %x over columns : !tile.frag<64x32xf32, acc> -> !tile.rows<64xf32>
}

// -----

tile.kernel @truth() target("gfx950") waves(1) {
  %x = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  // expected-error @below {{asks whether numbers of 'f32' are true, expected integers; compare in a 'tile.map' and yield i32}}
  %y = tile.reduce any %x over columns : !tile.frag<64x32xf32, acc> -> !tile.rows<32xf32>
}

// -----

tile.kernel @narrows() target("gfx950") waves(1) {
  %x = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  // expected-error @below {{reduces 'f32' to 'bf16', expected the source's element type or f32}}
  %y = tile.reduce sum %x over columns : !tile.frag<64x32xf32, acc> -> !tile.rows<32xbf16>
}

// -----

tile.kernel @running_sum_of_floats() target("gfx950") waves(1) {
  %x = tile.fill 0.0 : !tile.rows<64xf32, lines(4x1)>
  // expected-error @below {{sums '!tile.rows<64xf32, lines(4x1)>', expected rows<64xi32, lines(4x1)>, whose row r lane r holds}}
  %y = tile.running_sum %x : !tile.rows<64xf32, lines(4x1)>
}

// -----

// Two lanes hold each row.
tile.kernel @running_sum_elsewhere(%n: i32) target("gfx950") waves(1) {
  %x = tile.map(%e = %n : i32) -> !tile.rows<64xi32, lines(4x2)> {
    tile.yield %e : i32
  }
  // expected-error @below {{sums '!tile.rows<64xi32, lines(4x2)>', expected rows<64xi32, lines(4x1)>, whose row r lane r holds}}
  %y = tile.running_sum %x : !tile.rows<64xi32, lines(4x2)>
}

// -----

tile.kernel @waves_of_bf16() target("gfx950") waves(4) {
  %x = tile.fill 0.0 : !tile.rows<32xbf16>
  // expected-error @below {{combines numbers of 'bf16', expected f32 or i32; convert them with 'tile.map'}}
  %y = tile.reduce_waves sum %x : !tile.rows<32xbf16>
}

// -----

tile.kernel @truth_of_waves() target("gfx950") waves(4) {
  %x = tile.fill 0.0 : !tile.rows<32xf32>
  // expected-error @below {{asks whether numbers of 'f32' are true, expected integers; compare in a 'tile.map' and yield i32}}
  %y = tile.reduce_waves all %x : !tile.rows<32xf32>
}

// -----

tile.kernel @no_side(%n: i32) target("gfx950") waves(4) {
  %x = tile.fill 0.0 : !tile.rows<32xf32>
  // expected-error @below {{has a part that is no result of 'tile.wave_grid'}}
  %y = tile.reduce_waves sum %x along(%n) : !tile.rows<32xf32>
}

// -----

tile.kernel @misplaced() target("gfx950") waves(4) {
  %x = tile.fill 0.0 : !tile.rows<32xf32>
  // expected-error @below {{at(8), expected a multiple of 16 from 0}}
  %y = tile.reduce_waves sum %x at(8) : !tile.rows<32xf32>
}

// -----

// Waves disagree about a number that depends on which of them it is.
tile.kernel @goes_different_ways() target("gfx950") waves(4) {
  %x = tile.fill 0.0 : !tile.rows<32xf32>
  %zero = arith.constant 0 : i32
  %wave = tile.wave_row %zero rows(1)
  %first = arith.cmpi eq, %wave, %zero : i32
  // expected-note @below {{this one}}
  scf.if %first {
    // expected-error @below {{stands in 'scf.if', where waves may go different ways, but all must meet; move it out}}
    %y = tile.reduce_waves sum %x : !tile.rows<32xf32>
  }
}

// -----

// They agree about the kernel's arguments and what follows from them.
tile.kernel @goes_one_way(%n: i32) target("gfx950") waves(4) {
  %x = tile.fill 0.0 : !tile.rows<32xf32>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %twice = arith.addi %n, %n : i32
  scf.for %t = %zero to %twice step %one : i32 {
    %even = arith.cmpi eq, %t, %zero : i32
    scf.if %even {
      %y = tile.reduce_waves sum %x : !tile.rows<32xf32>
    }
  }
}

// -----

tile.schedule @one {
  tile.cluster compute { sum(0) }
}

tile.kernel @in_a_loop_of_tiles(%n: i32) target("gfx950") waves(4) {
  %x = tile.fill 0.0 : !tile.rows<32xf32>
  %z = tile.for_tiles %t = 0 to %n init(%c = %x : !tile.rows<32xf32>) schedule(@one) {
    %next = tile.step @sum -> !tile.rows<32xf32> {
      // expected-error @below {{stands in a loop over tiles, whose barriers are the schedule's; move it behind the loop}}
      %y = tile.reduce_waves sum %c : !tile.rows<32xf32>
      tile.yield %y : !tile.rows<32xf32>
    }
    tile.yield %next : !tile.rows<32xf32>
  }
}

// -----

tile.kernel @condition_without_input(%c: i32) target("gfx950") waves(1) {
  %zero = arith.constant 0 : i32
  %if = arith.cmpi eq, %c, %zero : i32
  // expected-error @below {{has a condition, and no input 0 of type '!tile.rows<32xf32>', which result 0 is where the condition is 0}}
  %y = tile.map() when(%if) -> !tile.rows<32xf32> {
    %one = arith.constant 1.0 : f32
    tile.yield %one : f32
  }
}

// -----

tile.kernel @gathers_numbers(%v: !tile.view<?xf32>, %n: i32) target("gfx950") waves(1) {
  // expected-error @below {{has the same indices for all elements; load the number with 'tile.load'}}
  %y = tile.gather %v[%n] : <?xf32>, i32 -> !tile.rows<32xf32>
}

// -----

tile.kernel @gathers_few(%v: !tile.view<?x?xf32>) target("gfx950") waves(1) {
  %i = tile.map() at(%r, %c) -> !tile.rows<32xi32> {
    tile.yield %r : i32
  }
  // expected-error @below {{has 1 indices for a view of rank 2, expected one for each dimension}}
  %y = tile.gather %v[%i] : <?x?xf32>, !tile.rows<32xi32> -> !tile.rows<32xf32>
}

// -----

tile.kernel @gathers_floats(%v: !tile.view<?xf32>) target("gfx950") waves(1) {
  %i = tile.fill 1.0 : !tile.rows<32xf32>
  // expected-error @below {{index 0 is '!tile.rows<32xf32>', expected i32 or}}
  %y = tile.gather %v[%i] : <?xf32>, !tile.rows<32xf32> -> !tile.rows<32xf32>
}

// -----

tile.kernel @gathers_other(%v: !tile.view<?xf32>) target("gfx950") waves(1) {
  %i = tile.map() at(%r, %c) -> !tile.rows<32xi32> {
    tile.yield %r : i32
  }
  // expected-error @below {{looks up 'i32' in a view of 'f32', expected the view's element type, f32 for a narrower float, or i32 for a narrower integer}}
  %y = tile.gather %v[%i] : <?xf32>, !tile.rows<32xi32> -> !tile.rows<32xi32>
}

// -----

tile.kernel @converted_numbers() target("gfx950") waves(1) {
  %x = tile.fill 0.0 : !tile.frag<32x32xf32, acc>
  // expected-error @below {{converts numbers of 'f32' to 'bf16', but moves them only; convert them with 'tile.map'}}
  %y = tile.convert_layout %x : !tile.frag<32x32xf32, acc> -> !tile.frag<32x32xbf16, lhs>
}

// -----

tile.kernel @converted_to_another_size() target("gfx950") waves(1) {
  %x = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  // expected-error @below {{converts 32 memory rows and 64 columns to 64 memory rows and 32 columns, expected the same; rows and columns are those of memory}}
  %y = tile.convert_layout %x : !tile.frag<64x32xf32, acc> -> !tile.frag<64x32xf32, lhs>
}

// -----

tile.kernel @converted_rows_to_columns() target("gfx950") waves(1) {
  %x = tile.fill 0.0 : !tile.rows<32xf32>
  // expected-error @below {{converts 32 row values to 32 column values, expected the same}}
  %y = tile.convert_layout %x : !tile.rows<32xf32> -> !tile.columns<32xf32, acc>
}

// -----

tile.kernel @random_words(%n: i64, %i: i32) target("gfx950") waves(1) {
  // expected-error @below {{gives numbers of 'i32', expected i8}}
  %x = tile.random_bytes %n, %n at_element(%i, %i) : !tile.frag<32x32xi32, acc>
}

// -----

tile.kernel @random_lines(%n: i64, %i: i32) target("gfx950") waves(1) {
  // expected-error @below {{gives '!tile.frag<32x64xi8, lines>', which is not made of blocks of 32 x 32; use layout 'acc', and 'tile.convert_layout' for others}}
  %x = tile.random_bytes %n, %n at_element(%i, %i) : !tile.frag<32x64xi8, lines>
}

// -----

tile.kernel @random_in_too_little(%n: i64, %i: i32) target("gfx950") waves(1) {
  // expected-error @below {{at(8 by 1056), expected multiples of 16, from 0 and by 1056 or more}}
  %x = tile.random_bytes %n, %n at_element(%i, %i) at(8 by 1056) : !tile.frag<32x32xi8, acc>
}

// -----

tile.kernel @converted_in_too_little() target("gfx950") waves(1) {
  %x = tile.fill 0.0 : !tile.frag<32x32xf32, acc>
  // expected-error @below {{at(0 by 4096), expected multiples of 16, from 0 and by 4608 or more}}
  %y = tile.convert_layout %x at(0 by 4096) : !tile.frag<32x32xf32, acc> -> !tile.frag<32x32xf32, lhs>
}

// -----

tile.kernel @accumulator_aside() target("gfx950") waves(1) {
  %x = tile.fill 0.0 : !tile.frag<32x32xf32, acc>
  // expected-error @below {{lays '!tile.frag<32x32xf32, acc>' aside, expected an operand of the matrix unit; pack it first}}
  %y = tile.stash %x : !tile.frag<32x32xf32, acc>
}

// -----

tile.kernel @aside_between(%q: !tile.view<?x?x?x64xbf16>, %n: i32) target("gfx950") waves(1) {
  %x = tile.load %q[%n, %n, %n] : !tile.view<?x?x?x64xbf16> -> !tile.frag<64x32xbf16, rhs>
  // expected-error @below {{at(8), expected a multiple of 16 from 0}}
  %y = tile.stash %x at(8) : !tile.frag<64x32xbf16, rhs>
}

// -----

tile.kernel @aside_in_a_loop(%q: !tile.view<?x?x?x64xbf16>, %n: i32) target("gfx950") waves(1) {
  %x = tile.load %q[%n, %n, %n] : !tile.view<?x?x?x64xbf16> -> !tile.frag<64x32xbf16, rhs>
  tile.for_tiles %t = 0 to %n schedule(@s) {
    tile.step @aside {
      // expected-error @below {{stands in a loop over tiles; lay aside in front of it what all tiles need}}
      %y = tile.stash %x : !tile.frag<64x32xbf16, rhs>
      tile.yield
    }
    tile.yield
  }
}
tile.schedule @s { tile.cluster compute { aside(0) } }

// -----

tile.kernel @recalled_beyond(%q: !tile.view<?x?x?x64xbf16>, %n: i32) target("gfx950") waves(1) {
  %x = tile.load %q[%n, %n, %n] : !tile.view<?x?x?x64xbf16> -> !tile.frag<64x32xbf16, rhs>
  %y = tile.stash %x : !tile.frag<64x32xbf16, rhs>
  // expected-error @below {{recalls 32 of the depth from 48 on, of 64, expected whole steps of 16 within it}}
  %z = tile.recall %y from 48 : !tile.stash<!tile.frag<64x32xbf16, rhs>> -> !tile.frag<32x32xbf16, rhs>
}

// -----

tile.kernel @recalled_as_another(%q: !tile.view<?x?x?x64xbf16>, %n: i32) target("gfx950") waves(1) {
  %x = tile.load %q[%n, %n, %n] : !tile.view<?x?x?x64xbf16> -> !tile.frag<64x32xbf16, rhs>
  %y = tile.stash %x : !tile.frag<64x32xbf16, rhs>
  // expected-error @below {{recalls '!tile.frag<64x32xf16, rhs>' of '!tile.frag<64x32xbf16, rhs>', expected the same width, element type and layout}}
  %z = tile.recall %y : !tile.stash<!tile.frag<64x32xbf16, rhs>> -> !tile.frag<64x32xf16, rhs>
}

// -----

tile.kernel @shared_by_one() target("gfx950") waves(1) {
  %x = tile.fill 0.0 : !tile.frag<32x64xbf16, lines>
  // expected-error @below {{is shared by two wave groups, but the kernel has 1 wave; expected 2, 4, 8 or 16, or leave 'shared' out}}
  %y = tile.convert_layout %x at(0 by 8192) shared : !tile.frag<32x64xbf16, lines> -> !tile.frag<64x32xbf16, rhs>
}
