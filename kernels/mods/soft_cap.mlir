// Soft cap: cap * tanh(score / cap). The number "soft_cap" is positive; who wants no cap leaves this out.
//
// As 2 cap / (1 + e^(-2 score / cap)) - cap, the quotient as the square of a reciprocal root: two instructions of the
// transcendental unit and two others, where math.tanh and a division are right to the last places and take forty. The
// forward leaves the product and the sum to its exponentials, which multiply and subtract anyway. What is lost is below
// 1e-6 of the cap.
attn.score_mod @soft_cap(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32, %soft_cap: f32,
    %rate: f32 {attn.value = "0.0 - 2.8853900817779268 / soft_cap"}) attributes {
    attn.requires = [["soft_cap > 0", "a positive number; without a cap, leave the modification out"],
                     ["soft_cap <= 2000", "a cap of at most 2000, beyond which f32 loses what scores differ by; without a cap, leave the modification out"]]} {
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %doubled = arith.mulf %score, %rate : f32
  %power = math.exp2 %doubled : f32
  %sum = arith.addf %power, %one : f32
  %root = math.rsqrt %sum : f32
  %share = arith.mulf %root, %root : f32
  %twice = arith.mulf %soft_cap, %two : f32
  %lowest = arith.negf %soft_cap : f32
  %result = math.fma %share, %twice, %lowest : f32
  attn.yield %result : f32
}
