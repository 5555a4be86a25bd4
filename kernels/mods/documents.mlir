// Documents packed into one sequence: a query sees the keys of its own document, by number.
attn.mask_mod @documents(%batch: i32, %head: i32, %query: i32, %key: i32,
    %query_documents: tensor<?x?xi32> {attn.sizes = ["batch", "seq_q"]},
    %key_documents: tensor<?x?xi32> {attn.sizes = ["batch", "seq_kv"]}) {
  %own = attn.read %query_documents[%batch, %query] : tensor<?x?xi32> -> i32
  %other = attn.read %key_documents[%batch, %key] : tensor<?x?xi32> -> i32
  %seen = arith.cmpi eq, %own, %other : i32
  attn.yield %seen : i1
}
