// Modifications as maps, what they read, and which tiles are visited.
// RUN: hocket-opt %s --split-input-file --convert-attn-to-tile | FileCheck %s

// What is the same for a workgroup, and for a row, is loaded in front of the loop; columns and fragments in it. What
// lies at computed places is gathered.
// CHECK-LABEL: tile.kernel @reads
// CHECK-SAME: %slopes: !tile.view<?xf32> {tile.bind = "slopes", tile.sizes = ["heads"], tile.strides = []}
// CHECK-SAME: %bias: !tile.view<?x?xbf16> {tile.bind = "bias", tile.sizes = ["seq_q", "seq_kv"], tile.strides = ["bias_stride_0"]}
// CHECK-SAME: %soft_cap: f32 {tile.bind = "soft_cap"}
// CHECK: tile.load %slopes[%head] : <?xf32> -> f32
// CHECK: tile.load %{{.*}}[%wave_row] along(0) : <?xi32> -> !tile.rows<32xi32>
// CHECK: arith.divf
// CHECK: tile.for_tiles
// CHECK: %load = tile.step @load
// CHECK: tile.begin_load %bias[%wave_row, %{{.*}}] along(0) tile(%{{.*}}) : <?x?xbf16> -> <!tile.frag<64x32xbf16, acc>>
// CHECK: tile.step @start
// CHECK-DAG: %[[COLUMNS:.*]] = tile.load %{{.*}}[%{{.*}}] along(0) : <?xf32> -> !tile.columns<64xf32, acc>
// CHECK-DAG: %[[FRAGMENT:.*]] = tile.end_load %load tile(%{{.*}}) : <!tile.frag<64x32xbf16, acc>> -> <64x32xf32, acc>
// CHECK-DAG: %[[DISTANCE:.*]] = tile.map() at(%{{.*}} = %wave_row, %{{.*}} = %{{.*}}) -> !tile.frag<64x32xi32, acc>
// CHECK-DAG: tile.gather %{{.*}}[%[[DISTANCE]]] : <?xf32>, !tile.frag<64x32xi32, acc> -> !tile.frag<64x32xf32, acc>
// CHECK: %[[ADDED:.*]] = tile.map(%{{.*}} = %{{.*}} : !tile.frag<64x32xf32, acc>, %{{.*}} = %{{.*}} : f32,
// CHECK: tile.yield %[[ADDED]]
// CHECK: tile.mma %{{.*}}, %{{.*}}, %start
// CHECK: tile.step @mask
// CHECK-NOT: tile.map
// CHECK: tile.mask
attn.forward @reads element_type(bf16) head_dim(64) schedule(@s) waves(4) kv_tile(64) score_mod(@all)
attn.score_mod @all(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32,
    %slopes: tensor<?xf32> {attn.sizes = ["heads"]}, %rows: tensor<?xi32> {attn.sizes = ["seq_q"]},
    %columns: tensor<?xf32> {attn.sizes = ["seq_kv"]}, %bias: tensor<?x?xbf16> {attn.sizes = ["seq_q", "seq_kv"]},
    %table: tensor<?xf32> {attn.sizes = ["seq_q"]}, %soft_cap: f32) {
  %a = attn.read %slopes[%head] : tensor<?xf32> -> f32
  %b = attn.read %rows[%query] : tensor<?xi32> -> i32
  %c = attn.read %columns[%key] : tensor<?xf32> -> f32
  %d = attn.read %bias[%query, %key] : tensor<?x?xbf16> -> f32
  %distance = arith.subi %query, %key : i32
  %e = attn.read %table[%distance] : tensor<?xf32> -> f32
  %f = arith.sitofp %b : i32 to f32
  %g = arith.addf %a, %c : f32
  %h = arith.addf %d, %e : f32
  %i = arith.addf %f, %g : f32
  %j = arith.addf %h, %i : f32
  %k = arith.mulf %j, %soft_cap : f32
  %l = arith.addf %score, %k : f32
  attn.yield %l : f32
}
tile.schedule @s { tile.cluster compute { fetch_k(0) fetch_v(0) read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) } }

// -----

// A window is one range of tiles: K and V begin with its first, and tiles are masked unless they are known to be whole,
// by one side alone where the other one leaves them whole. The loop says which of them the wave sees.
// CHECK-LABEL: tile.kernel @window
// CHECK: "mask_left == 100 && mask_right == 20"
// CHECK: tile.slice_rows %k from
// CHECK-NOT: from(
// CHECK: tile.for_tiles {{.*}} seen(%{{.*}} to %{{.*}}) init
// CHECK: tile.step @mask
// CHECK: tile.mask
// CHECK: %[[BEHIND:.*]] = arith.cmpi sgt, %[[END:.*]], %[[FIRST:.*]] : i32
// CHECK: %[[BEFORE:.*]] = arith.cmpi sle, %{{.*}}, %{{.*}} : i32
// CHECK: %[[CUT:.*]] = arith.ori %[[BEFORE]], %[[BEHIND]]
// CHECK: scf.if %[[CUT]] -> (!tile.frag<64x32xf32, acc>) {
// CHECK: %[[LEFT:.*]] = tile.map({{.*}}) at({{.*}}) when(%[[BEHIND]]) -> !tile.frag<64x32xf32, acc>
// CHECK: %[[DIFFERENCE:.*]] = arith.subi %{{.*}}, %{{.*}} overflow<nsw> : i32
// CHECK: arith.cmpi sge, %[[DIFFERENCE]], %{{.*}} : i32
// CHECK: arith.select %{{.*}}, %{{.*}}, %{{.*}} : f32
// CHECK: tile.map(%{{.*}} = %[[LEFT]] : {{.*}}) at({{.*}}) when(%[[BEFORE]]) -> !tile.frag<64x32xf32, acc>
attn.forward @window element_type(bf16) head_dim(64) schedule(@s) waves(4) kv_tile(64) mask(window(100, 20))
tile.schedule @s { tile.cluster compute { fetch_k(0) fetch_v(0) read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) } }

// -----

// Two ranges are visited without what lies between: numbers rise, so that keys end in the last tile. The sink is added
// behind the loop.
// CHECK-LABEL: tile.kernel @two_ranges
// CHECK: tile.for_tiles {{.*}} cut_right(%[[KEYS:.*]] within 0)
// CHECK: tile.step @fetch_k
// CHECK: %[[BEHIND:.*]] = arith.cmpi sge, %t, %[[AT:.*]] : i32
// CHECK: %[[JUMP:.*]] = arith.select %[[BEHIND]], %[[BY:.*]], %{{.*}} : i32
// CHECK: %[[NUMBER:.*]] = arith.addi %t, %[[JUMP]] : i32
// CHECK: tile.fetch %k_ring[%t] from(%[[NUMBER]])
// CHECK: tile.step @mask
// CHECK: arith.cmpi sge, %t, %[[AT]]
// CHECK: tile.mask %{{.*}} below(%[[KEYS]]) {tile.rises_with_loop}
// CHECK: tile.load %sink[%head]
// CHECK: math.exp2
// CHECK: tile.normalize
attn.forward @two_ranges element_type(bf16) head_dim(64) schedule(@s) waves(4) kv_tile(64) sink mask_mod(@m)
attn.mask_mod @m(%batch: i32, %head: i32, %query: i32, %key: i32, %n: i32) {
  %near = arith.cmpi sge, %key, %query : i32
  %first = arith.cmpi slt, %key, %n : i32
  %seen = arith.ori %near, %first : i1
  attn.yield %seen : i1
}
tile.schedule @s { tile.cluster compute { fetch_k(0) fetch_v(0) read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) } }

// -----

// Weights are packed and summed, then dropped for the product. What O is divided by is the share that is kept.
// CHECK-LABEL: tile.kernel @dropped
// CHECK-SAME: %dropout_state: !tile.view<?xi32> {tile.bind = "dropout_state", tile.sizes = ["dropout_words"], tile.strides = []}
// CHECK-SAME: %dropout_threshold: i32 {tile.bind = "dropout_threshold"}, %dropout_keep: f32
// CHECK-SAME: %dropout_seed: i64 {tile.bind = "dropout_seed"}
// CHECK-COUNT-4: tile.load %dropout_state[
// CHECK: %[[COUNTERS:.*]] = arith.constant 64 : i64
// CHECK: arith.muli %{{.*}}, %[[COUNTERS]] : i64
// CHECK: tile.step @head
// CHECK: %[[WEIGHTS:.*]] = tile.exp2
// CHECK: %[[PACKED:.*]] = tile.pack %[[WEIGHTS]]
// CHECK: tile.row_sum %[[PACKED]]
// CHECK: %[[BYTES:.*]] = tile.random_bytes %{{.*}}, %{{.*}} at_element(%wave_row, %{{.*}}) : <32x32xi8, rhs_acc bits(16)>
// CHECK: tile.map(%{{.*}} = %[[PACKED]] : !tile.frag<32x32xbf16, rhs_acc>, %{{.*}} = %[[BYTES]]
// CHECK: arith.cmpi ule
// CHECK: tile.step @tail
// CHECK: tile.random_bytes
// CHECK: %[[SHARE:.*]] = tile.map(%{{.*}} = %{{.*}} : !tile.rows<32xf32>, %{{.*}} = %dropout_keep : f32)
// CHECK: tile.normalize %{{.*}} by %[[SHARE]]
attn.forward @dropped element_type(bf16) head_dim(64) schedule(@s) waves(4) kv_tile(64) dropout
tile.schedule @s { tile.cluster compute { fetch_k(0) fetch_v(0) read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) } }

// -----

// Block lists: the block of a fetch is looked up a tile ahead, with K, and V and the scores take the same. Masks count in
// partial blocks; where keys end counts in the last block, which few lists have.
// CHECK-LABEL: tile.kernel @listed
// CHECK-SAME: %kv_num_blocks: !tile.view<?x?x?xi32> {tile.bind = "kv_num_blocks", tile.sizes = ["batch", "heads", "ceildiv(seq_q, 256)"]
// CHECK-SAME: tile.sizes = ["batch * full_blocks", "heads", "ceildiv(seq_q, 256)", "ceildiv(seq_kv, 128)"]
// Of more workgroups than there is room for, those with most blocks come first.
// CHECK: %[[BLOCK_ROW:.*]] = scf.if %{{.*}} -> (i32) {
// CHECK-DAG: tile.load %kv_num_blocks[{{.*}}] : <?x?x?xi32> -> !tile.rows<64xi32>
// CHECK-DAG: tile.load %full_kv_num_blocks[{{.*}}] : <?x?x?xi32> -> !tile.rows<64xi32>
// CHECK: scf.for
// CHECK: tile.reduce sum
// CHECK: } else {
// CHECK: tile.wave_row %[[BLOCK_ROW]] rows(32)
// CHECK: %[[PARTIAL:.*]] = arith.minui
// CHECK: %[[FULL:.*]] = arith.minui
// CHECK: %[[FIRST:.*]] = tile.entry %{{.*}} of %kv_indices_slice, %full_kv_indices_slice
// CHECK: %[[FINAL:.*]] = tile.for_tiles %t = 0 to %{{.*}} init({{.*}}, %[[LISTED:old_fetch_k]] = %[[FIRST]] : i32) schedule(@s)
// CHECK: tile.step @fetch_k -> i32
// CHECK: arith.muli %[[LISTED]], %
// CHECK: %[[OF_K:.*]] = arith.addi
// CHECK-NEXT: tile.fetch %k_ring[%t] from(%[[OF_K]])
// CHECK: %[[NEXT:.*]] = arith.addi %t, %c1_i32
// CHECK: %[[PLACE:.*]] = arith.divui %[[NEXT]], %
// CHECK-NEXT: %[[ENTRY:.*]] = tile.entry %[[PLACE]] of %kv_indices_slice, %full_kv_indices_slice
// CHECK-NEXT: tile.yield %[[ENTRY]]
// CHECK: tile.step @fetch_v {
// CHECK: arith.muli %[[LISTED]], %
// CHECK: tile.fetch %v_ring[%t] from(
// CHECK: tile.step @mask
// CHECK: arith.muli %[[LISTED]], %
// CHECK: %[[IS_LAST:.*]] = arith.cmpi uge, %[[LISTED]], %
// CHECK-NOT: tile.mask
// CHECK: tile.map({{.*}}) at({{.*}}) when(%[[IS_LAST]]) rarely
// CHECK: arith.cmpi slt
// CHECK: %[[IS_PARTIAL:.*]] = arith.cmpi ult, %{{.*}}, %[[PARTIAL]] : i32
// CHECK: %[[CUT:.*]] = arith.andi %[[IS_PARTIAL]], %{{.*}} : i1
// CHECK: tile.map({{.*}}) at({{.*}}) when(%[[CUT]])
attn.forward @listed element_type(bf16) head_dim(64) schedule(@s) waves(8) kv_tile(64) block_lists(256, 128) mask_mod(@m)
attn.mask_mod @m(%batch: i32, %head: i32, %query: i32, %key: i32) {
  %near = arith.cmpi sge, %query, %key : i32
  attn.yield %near : i1
}
tile.schedule @s { tile.cluster compute { fetch_k(0) fetch_v(0) read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) } }

// -----

// What is only added to scores is what their product begins with, in its units. A distance is linear where a tile lies
// on one side of the diagonal, which scalar numbers say; where it does not, its product with the slope has the slope's
// sign, and the same bits.
// CHECK-LABEL: tile.kernel @distances
// CHECK: %[[PER_SCALE:.*]] = arith.divf
// CHECK: tile.step @start
// CHECK: %[[AHEAD:.*]] = arith.cmpi sge, %{{.*}}, %{{.*}} : i32
// CHECK: %[[BEHIND:.*]] = arith.cmpi sle, %{{.*}}, %{{.*}} : i32
// CHECK: %[[KNOWN:.*]] = arith.ori %[[AHEAD]], %[[BEHIND]] : i1
// CHECK: %[[SIGN:.*]] = arith.select %[[AHEAD]], %{{.*}}, %{{.*}} : f32
// CHECK: %[[FIRST:.*]] = tile.map(%{{.*}} = %{{.*}} : {{.*}}, %[[FACTOR:.*]] = %[[PER_SCALE]] : f32, {{.*}} = %[[SIGN]] : f32) at({{.*}}) when(%[[KNOWN]])
// CHECK-NOT: math.absf
// CHECK: arith.mulf %{{.*}}, %[[FACTOR]]
// CHECK: %[[OTHERS:.*]] = arith.xori %[[KNOWN]]
// CHECK: tile.map(%{{.*}} = %[[FIRST]] :{{.*}}when(%[[OTHERS]])
// CHECK: math.copysign
// CHECK: tile.mma %{{.*}}, %{{.*}}, %start
attn.forward @distances element_type(bf16) head_dim(64) schedule(@s) waves(4) kv_tile(64) score_mod(@alibi)
attn.score_mod @alibi(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32,
    %slopes: tensor<?xf32> {attn.sizes = ["heads"]}) {
  %slope = attn.read %slopes[%head] : tensor<?xf32> -> f32
  %distance = arith.subi %query, %key : i32
  %keys = arith.sitofp %distance : i32 to f32
  %length = math.absf %keys : f32
  %penalty = arith.mulf %slope, %length : f32
  %result = arith.subf %score, %penalty : f32
  attn.yield %result : f32
}
tile.schedule @s { tile.cluster compute { fetch_k(0) fetch_v(0) read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) } }

// -----

// Followed by what is no sum, scores are scaled and added to in one instruction, and modified in turn.
// CHECK-LABEL: tile.kernel @sum_then_cap
// CHECK-NOT: tile.step @start
// CHECK: tile.step @mask
// CHECK: tile.map(%[[SCORE:.*]] = %qk : {{.*}}, %[[SCALE:.*]] = %scale : f32
// CHECK: math.fma %[[SCORE]], %[[SCALE]]
// CHECK: tile.map
// CHECK: arith.minimumf
attn.forward @sum_then_cap element_type(bf16) head_dim(64) schedule(@s) waves(4) kv_tile(64) score_mod(@rise, @cap)
attn.score_mod @rise(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32) {
  %keys = arith.sitofp %key : i32 to f32
  %result = arith.addf %keys, %score : f32
  attn.yield %result : f32
}
attn.score_mod @cap(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32, %most: f32) {
  %result = arith.minimumf %score, %most : f32
  attn.yield %result : f32
}
tile.schedule @s { tile.cluster compute { fetch_k(0) fetch_v(0) read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) } }

// -----

// Scores that are modified come in log2 units, and references are subtracted as they are. The factor goes into numbers:
// of the last modification, and through its score into those of the one before.
// CHECK-LABEL: tile.kernel @log2_units
// CHECK: %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
// CHECK: tile.step @mask
// CHECK: %[[CAPPED:.*]] = tile.map(%[[SCORE:.*]] = %qk : {{.*}}, %[[SCALE:.*]] = %scale : f32, %[[CAP:.*]] = %soft_cap : f32)
// CHECK: %[[SCALED:.*]] = arith.mulf %[[SCORE]], %[[SCALE]]
// CHECK: math.exp2 %[[SCALED]]
// CHECK: %[[ROOT:.*]] = math.rsqrt
// CHECK: %[[FACTOR:.*]] = arith.mulf %[[CAP]], %{{.*}}
// CHECK: %[[SUMMAND:.*]] = arith.mulf %[[CAP]], %{{.*}}
// CHECK: %[[RESULT:.*]] = math.fma %[[ROOT]], %[[FACTOR]], %[[SUMMAND]]
// CHECK-NEXT: tile.yield %[[RESULT]]
// CHECK: tile.map(%[[SCORE:.*]] = %[[CAPPED]] : {{.*}}, %[[SLOPE:.*]] = %slope : f32)
// CHECK: %[[KEYS:.*]] = arith.sitofp
// CHECK: %[[LOG2E:.*]] = arith.constant 1.44269502 : f32
// CHECK: %[[STEEPER:.*]] = arith.mulf %[[SLOPE]], %[[LOG2E]]
// CHECK: %[[FALL:.*]] = arith.mulf %[[KEYS]], %[[STEEPER]]
// CHECK: %[[RESULT:.*]] = arith.subf %[[SCORE]], %[[FALL]]
// CHECK-NEXT: tile.yield %[[RESULT]]
// CHECK: tile.settle {{.*}} scale(%[[ONE]])
// CHECK: tile.exp2 {{.*}} scale(%[[ONE]])
attn.forward @log2_units element_type(bf16) head_dim(64) schedule(@s) waves(4) kv_tile(64) score_mod(@cap, @fall)
attn.score_mod @cap(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32, %soft_cap: f32) {
  %rise = math.exp2 %score : f32
  %root = math.rsqrt %rise : f32
  %result = math.fma %root, %soft_cap, %soft_cap : f32
  attn.yield %result : f32
}
attn.score_mod @fall(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32, %slope: f32) {
  %keys = arith.sitofp %key : i32 to f32
  %fall = arith.mulf %keys, %slope : f32
  %result = arith.subf %score, %fall : f32
  attn.yield %result : f32
}
tile.schedule @s { tile.cluster compute { fetch_k(0) fetch_v(0) read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) } }

// -----

// A product with a positive number and a sum, at the end of what is bounded, are left to the exponentials, LSE and sink.
// CHECK-LABEL: tile.kernel @tail
// CHECK: %[[TWICE:.*]] = tile.map(%[[CAP:.*]] = %soft_cap : f32) -> f32
// CHECK-NEXT: %[[TWO:.*]] = arith.constant 2.000000e+00 : f32
// CHECK-NEXT: arith.mulf %[[TWO]], %[[CAP]]
// CHECK: %[[LOG2E:.*]] = arith.constant 1.44269502 : f32
// CHECK-NEXT: %[[IN_LOG2:.*]] = arith.mulf %[[TWICE]], %[[LOG2E]]
// CHECK: %[[FACTOR:.*]] = arith.maxnumf %[[IN_LOG2]]
// CHECK: %[[SHARE:.*]] = arith.divf %{{.*}}, %[[TWICE]]
// CHECK: %[[OF_SCALE:.*]] = arith.mulf %[[FACTOR]], %[[SHARE]]
// CHECK: %[[MOVED:.*]] = arith.select %{{.*}}, %{{.*}}, %[[OF_SCALE]]
// CHECK: tile.step @mask
// CHECK: %[[TANH:.*]] = math.tanh
// CHECK-NEXT: tile.yield %[[TANH]]
// CHECK: tile.settle {{.*}} scale(%[[FACTOR]])
// CHECK: tile.exp2 {{.*}} scale(%[[FACTOR]])
// CHECK: %[[REFERENCE:.*]] = tile.map({{.*}} = %[[MOVED]] : f32)
// CHECK: tile.log_sum %{{.*}} reference(%[[REFERENCE]])
attn.forward @tail element_type(bf16) head_dim(64) lse schedule(@s) waves(4) kv_tile(64) score_mod(@cap)
attn.score_mod @cap(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32, %soft_cap: f32) attributes {
    attn.requires = [["soft_cap > 0", "a positive number"], ["soft_cap <= 1000", "a small number"]]} {
  %two = arith.constant 2.0 : f32
  %twice = arith.mulf %two, %soft_cap : f32
  %share = math.tanh %score : f32
  %capped = arith.mulf %share, %twice : f32
  %result = arith.subf %capped, %soft_cap : f32
  attn.yield %result : f32
}
tile.schedule @s { tile.cluster compute { fetch_k(0) fetch_v(0) read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) } }

// -----

// Not where the number may be of any size: a reference that is multiplied is rounded, and weights with it.
// CHECK-LABEL: tile.kernel @no_tail
// CHECK: tile.step @mask
// CHECK: math.tanh
// CHECK: arith.mulf
// CHECK: tile.yield
attn.forward @no_tail element_type(bf16) head_dim(64) schedule(@s) waves(4) kv_tile(64) score_mod(@cap)
attn.score_mod @cap(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32, %soft_cap: f32) attributes {
    attn.requires = [["soft_cap > 0", "a positive number"]]} {
  %share = math.tanh %score : f32
  %result = arith.mulf %share, %soft_cap : f32
  attn.yield %result : f32
}
tile.schedule @s { tile.cluster compute { fetch_k(0) fetch_v(0) read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) } }

// -----

// Nothing is looked up on tiles that lie beyond a table.
// CHECK-LABEL: tile.kernel @table
// CHECK: tile.step @start
// CHECK: %[[SIZE:.*]] = tile.dim %table, 1
// CHECK: %[[BEGINS:.*]] = arith.cmpi slt, %{{.*}}, %[[SIZE]]
// CHECK: %[[ENDS:.*]] = arith.cmpi sge
// CHECK: %[[FINDS:.*]] = arith.andi %[[BEGINS]], %[[ENDS]]
// CHECK: scf.if %[[FINDS]]
// CHECK: tile.gather %table
// CHECK: else
// CHECK-NEXT: scf.yield
attn.forward @table element_type(bf16) head_dim(64) schedule(@s) waves(4) kv_tile(64) score_mod(@biased)
attn.score_mod @biased(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32,
    %table: tensor<?x?xf32> {attn.sizes = ["heads", "2 * max_distance + 1"]}, %offset: i32) {
  %place = arith.addi %query, %offset : i32
  %index = arith.subi %place, %key : i32
  %bias = attn.read %table[%head, %index] : tensor<?x?xf32> -> f32
  %result = arith.addf %score, %bias : f32
  attn.yield %result : f32
}
tile.schedule @s { tile.cluster compute { fetch_k(0) fetch_v(0) read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) } }
