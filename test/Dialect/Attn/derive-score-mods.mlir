// Derivatives of modifications by the score: what is yielded, from its ops backwards.
// RUN: hocket-opt %s --split-input-file --attn-derive-score-mods --verify-diagnostics | FileCheck %s

// A cap: 1 - tanh^2, times what goes in and what comes out.
// CHECK: attn.score_mod @cap(
// CHECK: attn.score_mod @cap_derivative(%[[S:.*]]: f32, %{{.*}}: i32, %{{.*}}: i32, %{{.*}}: i32, %{{.*}}: i32, %[[CAP:.*]]: f32 {attn.value = "cap"})
// CHECK: %[[X:.*]] = arith.divf %[[S]], %[[CAP]]
// CHECK: %[[T:.*]] = math.tanh %[[X]]
// CHECK: %[[SQUARE:.*]] = arith.mulf %[[T]], %[[T]]
// CHECK: %[[SLOPE:.*]] = arith.subf %{{.*}}, %[[SQUARE]]
// CHECK: %[[INNER:.*]] = arith.mulf %[[SLOPE]], %[[CAP]]
// CHECK: %[[ALL:.*]] = arith.divf %[[INNER]], %[[CAP]]
// CHECK: attn.yield %[[ALL]]
attn.score_mod @cap(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32, %cap: f32) {
  %x = arith.divf %score, %cap : f32
  %t = math.tanh %x : f32
  %result = arith.mulf %t, %cap : f32
  attn.yield %result : f32
}

// -----

// What is added has no say: the derivative is 1 everywhere, and nothing is computed for it.
// CHECK: attn.score_mod @biased_derivative
// CHECK-NEXT: %[[ONE:.*]] = arith.constant 1.0
// CHECK-NEXT: attn.yield %[[ONE]]
attn.score_mod @biased(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32,
    %bias: tensor<?x?xf32> {attn.sizes = ["seq_q", "seq_kv"]}) {
  %own = attn.read %bias[%query, %key] : tensor<?x?xf32> -> f32
  %penalty = math.sqrt %own : f32
  %result = arith.addf %score, %penalty : f32
  attn.yield %result : f32
}

// -----

// A side that is not taken has no say, not even by a root of a negative number; paths are added.
// CHECK: attn.score_mod @sides_derivative
// CHECK: %[[BRANCH:.*]] = scf.if %{{.*}} -> (f32) {
// CHECK: %[[ROOT:.*]] = math.sqrt
// CHECK: arith.divf %{{.*}}, %[[ROOT]]
// CHECK: } else {
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0.0
// CHECK-NEXT: scf.yield %[[ZERO]]
// CHECK: %[[SUM:.*]] = arith.addf %[[BRANCH]], %{{.*}}
// CHECK: attn.yield %[[SUM]]
attn.score_mod @sides(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32) {
  %zero = arith.constant 0.0 : f32
  %positive = arith.cmpf ogt, %score, %zero : f32
  %root = scf.if %positive -> f32 {
    %own = math.sqrt %score : f32
    scf.yield %own : f32
  } else {
    scf.yield %zero : f32
  }
  %result = arith.addf %score, %root : f32
  attn.yield %result : f32
}

// -----

// A power that is infinite, of a score that a cap makes flat, is not multiplied by zero.
// CHECK: attn.score_mod @power_derivative
// CHECK: %[[POWER:.*]] = math.exp2
// CHECK: %[[FINITE:.*]] = arith.minimumf %[[POWER]], %{{.*}}
// CHECK: arith.mulf %[[FINITE]]
attn.score_mod @power(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32) {
  %power = math.exp2 %score : f32
  %result = math.rsqrt %power : f32
  attn.yield %result : f32
}

// -----

// Steps are flat.
// CHECK: attn.score_mod @steps_derivative
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0.0
// CHECK-NEXT: attn.yield %[[ZERO]]
attn.score_mod @steps(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32) {
  %whole = arith.fptosi %score : f32 to i32
  %number = arith.sitofp %whole : i32 to f32
  %down = math.floor %score : f32
  %result = arith.addf %number, %down : f32
  attn.yield %result : f32
}

// -----

attn.score_mod @turned(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32) {
  // expected-error @below {{'math.atan' op has no derivative, which the backward of 'turned' needs; say it by other ops, or leave the modification out}}
  %result = math.atan %score : f32
  attn.yield %result : f32
}

// -----

// The bits of a number are no step of it: what they are made a number of again has no derivative here.
attn.score_mod @sign_taken_off(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32) {
  %mask = arith.constant 0x7fffffff : i32
  %bits = arith.bitcast %score : f32 to i32
  %rest = arith.andi %bits, %mask : i32
  // expected-error @below {{'arith.bitcast' op has no derivative, which the backward of 'sign_taken_off' needs; say it by other ops, or leave the modification out}}
  %result = arith.bitcast %rest : i32 to f32
  attn.yield %result : f32
}

// -----

attn.score_mod @in_a_branch(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32) {
  %bits = arith.bitcast %score : f32 to i32
  %first = arith.cmpi slt, %query, %key : i32
  %result = scf.if %first -> f32 {
    // expected-error @below {{'arith.sitofp' op has no derivative, which the backward of 'in_a_branch' needs}}
    %number = arith.sitofp %bits : i32 to f32
    scf.yield %number : f32
  } else {
    scf.yield %score : f32
  }
  attn.yield %result : f32
}

// -----

// Where one only asks the bits a question, the answer is a step.
// CHECK: attn.score_mod @by_sign_derivative
// CHECK: %[[NEGATIVE:.*]] = arith.cmpi slt
// CHECK: arith.select %[[NEGATIVE]]
attn.score_mod @by_sign(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32) {
  %zero = arith.constant 0 : i32
  %half = arith.constant 0.5 : f32
  %bits = arith.bitcast %score : f32 to i32
  %negative = arith.cmpi slt, %bits, %zero : i32
  %less = arith.mulf %score, %half : f32
  %result = arith.select %negative, %less, %score : f32
  attn.yield %result : f32
}

// -----

// Of what a branch yields beside each other, the step stays one.
// CHECK: attn.score_mod @beside_a_step_derivative
// CHECK: attn.yield
attn.score_mod @beside_a_step(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32) {
  %zero = arith.constant 0.0 : f32
  %positive = arith.cmpf ogt, %score, %zero : f32
  %root, %whole = scf.if %positive -> (f32, i32) {
    %r = math.sqrt %score : f32
    %w = arith.fptosi %score : f32 to i32
    scf.yield %r, %w : f32, i32
  } else {
    scf.yield %score, %query : f32, i32
  }
  %number = arith.sitofp %whole : i32 to f32
  %result = arith.addf %root, %number : f32
  attn.yield %result : f32
}
