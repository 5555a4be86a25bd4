// Keys in pages: rings over the pools, whose rows go through the sequence's table.
// RUN: hocket-opt %s --convert-attn-to-tile=schedule=mine --cse -split-input-file | FileCheck %s

// CHECK-LABEL: tile.kernel @table(
// CHECK-SAME: %k: !tile.view<?x?x?x128xbf16> {tile.bind = "k", tile.sizes = ["num_pages", "page_size", "kv_heads"], tile.strides = ["k_stride_b", "k_stride_s", "k_stride_h"]}
// CHECK-SAME: %seqused_k: !tile.view<?xi32>
// CHECK-SAME: %block_table: !tile.view<?x?xi32> {tile.bind = "block_table", tile.sizes = ["batch", "max_pages"], tile.strides = ["block_table_stride_b"]}
// CHECK-SAME: ["page_size == 16", "the kernel's pages have 16 rows"]
// A sequence has as many keys as it uses, and no more than its table has room for.
// CHECK: %[[USED:.*]] = tile.load %seqused_k[%[[BATCH:.*]]] :
// CHECK: %[[TABLE:.*]] = tile.select %block_table[%[[BATCH]]] :
// CHECK: %[[PAGES:.*]] = tile.dim %[[TABLE]], 0
// CHECK: %[[ROOM:.*]] = arith.muli %[[PAGES]], %c16_i32
// CHECK: %[[LEAST:.*]] = arith.minsi %[[ROOM]], %[[USED]]
// CHECK: %[[KEYS:.*]] = arith.maxsi %[[LEAST]], %c0_i32
// CHECK: %[[K:.*]] = tile.ring %k[%c0_i32, %{{.*}}] pages(16 rows %[[KEYS]])
// CHECK: %[[V:.*]] = tile.ring %v[%c0_i32, %{{.*}}] pages(16 rows %[[KEYS]])
// Two tiles are looked up in front of the loop, and in it always the one behind the next.
// CHECK: %[[FIRST:.*]] = tile.look_up %[[TABLE]] for %[[K]][%c0_i32]
// CHECK: %[[SECOND:.*]] = tile.look_up %[[TABLE]] for %[[K]][%c1_i32]
// CHECK: tile.for_tiles %[[T:.*]] = 0 to %{{.*}} init({{.*}}%[[HERE:.*]] = %[[FIRST]] : !tile.pages<{{.*}}>, %[[NEXT:.*]] = %[[SECOND]] :
// CHECK: tile.step @fetch_k
// CHECK: %[[LATER:.*]] = arith.addi %[[T]], %c2_i32
// CHECK: %[[AHEAD:.*]] = tile.look_up %[[TABLE]] for %[[K]][%[[LATER]]]
// CHECK: tile.fetch %[[K]][%[[T]]] from(%[[T]]) pages(%[[HERE]] :
// CHECK: tile.yield %[[NEXT]], %[[AHEAD]] :
// CHECK: tile.fetch %[[V]][%[[T]]] from(%[[T]]) pages(%[[HERE]] :
// CHECK-COUNT-2: tile.retain
tile.schedule @mine {
  tile.cluster memory { fetch_k(0) fetch_v(0) }
  tile.cluster compute { read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) }
}
attn.forward @table element_type(bf16) head_dim(128) key_lengths pages(16)

// -----

// Lists of pages say how many keys there are: the last page is not full.
// CHECK-LABEL: tile.kernel @lists(
// CHECK-SAME: tile.bind = "kv_indptr", tile.sizes = ["batch + 1"]
// CHECK-SAME: tile.bind = "kv_page_indices", tile.sizes = ["total_pages"]
// CHECK-SAME: tile.bind = "kv_last_page_len", tile.sizes = ["batch"]
// CHECK: %[[TABLE:.*]] = tile.slice_rows %kv_page_indices from %{{.*}} size %{{.*}} along(0) : <?xi32>
// CHECK: %[[COUNT:.*]] = tile.dim %[[TABLE]], 0
// CHECK: %[[BEFORE:.*]] = arith.subi %[[COUNT]], %c1_i32
// CHECK: %[[FULL:.*]] = arith.muli %[[BEFORE]], %c48_i32
// CHECK: arith.addi %[[FULL]],
// CHECK: tile.look_up %[[TABLE]] for
tile.schedule @mine {
  tile.cluster memory { fetch_k(0) fetch_v(0) }
  tile.cluster compute { read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) }
}
attn.forward @lists element_type(bf16) head_dim(128) packed_queries pages(48) page_lists

// -----

// With rows of heads places are found a tile ahead of the fetch: nothing stands in front of it.
// CHECK-LABEL: tile.kernel @decode(
// CHECK: %[[FIRST:.*]] = tile.look_up %[[TABLE:.*]] for %[[K:.*]][%c0_i32]
// CHECK: %[[SECOND:.*]] = tile.look_up %[[TABLE]] for %[[K]][%c1_i32]
// CHECK: %[[THIRD:.*]] = tile.look_up %[[TABLE]] for %[[K]][%c2_i32]
// CHECK: %[[K0:.*]] = tile.locate %[[FIRST]] for %[[K]][%c0_i32]
// CHECK: %[[V0:.*]] = tile.locate %[[FIRST]] for %[[V:.*]][%c0_i32]
// CHECK: init({{.*}}%[[KS:.*]] = %[[K0]] : !tile.places<64x128xbf16, 8>, %[[VS:.*]] = %[[V0]] : !tile.places<64x128xbf16, 8>, %[[NEXT:.*]] = %[[SECOND]] : !tile.pages<64>, %[[AFTER:.*]] = %[[THIRD]] :
// CHECK: tile.step @fetch_k
// CHECK-NEXT: tile.fetch %[[K]][%[[T:.*]]] pages(%[[KS]] :
// CHECK: %[[LATER:.*]] = arith.addi %[[T]], %c1_i32
// CHECK: %[[K1:.*]] = tile.locate %[[NEXT]] for %[[K]][%[[LATER]]]
// CHECK: %[[FAR:.*]] = arith.addi %[[T]], %c3_i32
// CHECK: %[[LAST:.*]] = tile.look_up %[[TABLE]] for %[[K]][%[[FAR]]]
// CHECK: tile.yield %[[K1]], %[[AFTER]], %[[LAST]] :
// CHECK: tile.step @fetch_v
// CHECK-NEXT: tile.fetch %[[V]][%[[T]]] pages(%[[VS]] :
// CHECK: tile.locate %[[NEXT]] for %[[V]]
// CHECK-COUNT-4: tile.retain
tile.schedule @mine {
  tile.cluster memory { fetch_k(0) fetch_v(0) }
  tile.cluster compute { read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) }
}
attn.forward @decode element_type(bf16) head_dim(128) key_lengths pages(16) group_rows

// -----

// Pools of any size: a page lies within 2 GiB, the pool need not.
// CHECK-LABEL: tile.kernel @far(
// CHECK-SAME: ["max(k_stride_b, page_size * k_stride_s) < 1073741824",
// CHECK-NOT: k_bytes
// CHECK: tile.ring %k[%{{.*}}, %{{.*}}] pages(16 rows %{{.*}}) far
// CHECK-NOT: tile.locate
tile.schedule @mine {
  tile.cluster memory { fetch_k(0) fetch_v(0) }
  tile.cluster compute { read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) }
}
attn.forward @far element_type(bf16) head_dim(128) key_lengths pages(16) far_pages group_rows

// -----

// Vectors of V hold keys behind the last one: what those are multiplied with is zero, and so must they be.
// CHECK-LABEL: tile.kernel @vectors(
// CHECK-SAME: "k_stride_s == head_dim && v_stride_s == head_dim_v"
// CHECK: %[[K:.*]] = tile.ring %k[%{{.*}}, %{{.*}}] pages(16 rows %{{.*}}) vectors(columns)
// CHECK: %[[V:.*]] = tile.ring %v[%{{.*}}, %{{.*}}] pages(16 rows %{{.*}}) vectors(rows)
// CHECK: %[[READ:.*]] = tile.read_transposed %[[V]]
// CHECK: tile.mask_depth %[[READ]] tile(%{{.*}}) below(%{{.*}})
tile.schedule @mine {
  tile.cluster memory { fetch_k(0) fetch_v(0) }
  tile.cluster compute { read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) }
}
attn.forward @vectors element_type(bf16) head_dim(128) key_lengths pages(16) vector_pages
