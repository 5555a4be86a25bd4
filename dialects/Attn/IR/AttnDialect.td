// The attn dialect: what is computed, and nothing of how.
#ifndef HOCKET_ATTN_DIALECT_TD
#define HOCKET_ATTN_DIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def AttnDialect : Dialect {
  let name = "attn";
  let cppNamespace = "::hocket::attn";
  let summary = "Attention problems: types, masks, options and user-written modifications";
  let description = [{
    One op describes a problem as its user sees it. `convert-attn-to-tile` expands it into a kernel
    of the `tile` dialect, which can be dumped, edited and compiled in its place.
  }];
  let useDefaultAttributePrinterParser = 1;
}

def Attn_VisibilityAttr : AttrDef<AttnDialect, "Visibility"> {
  let mnemonic = "visibility";
  let summary = "which keys a query sees, as far as a range of keys says it";
  let description = [{
    With d = i + seq_kv - seq_q, the key that stands beside query i when both end together, query i sees
    key j if `j >= d - left` and `j <= d + right`; a side that is left out has no end. `mask(none)` has
    neither, `mask(causal)` is `right` = 0, `mask(window(left, right))` gives both, `?` for no end.
  }];
  let parameters = (ins OptionalParameter<"std::optional<int64_t>">:$left,
      OptionalParameter<"std::optional<int64_t>">:$right);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    bool isAll() const { return !getLeft() && !getRight(); }
    bool isCausal() const { return !getLeft() && getRight() == 0; }
  }];
}

def Attn_BlockOrder : I32EnumAttr<"BlockOrder", "which workgroup works on which rows and heads", [
    I32EnumAttrCase<"HeavyFirst", 0, "heavy_first">,
    I32EnumAttrCase<"Linear", 1, "linear">,
    I32EnumAttrCase<"Paired", 2, "paired">]> {
  let cppNamespace = "::hocket::attn";
}

def Attn_ForwardOp : Op<AttnDialect, "forward", [
    Symbol, HasParent<"::mlir::ModuleOp">, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "O = softmax(scale Q K^T + mask) V, for every batch and head";
  let description = [{
    Q is (batch, seq_q, heads, head_dim), K is (batch, seq_kv, kv_heads, head_dim), V is (batch,
    seq_kv, kv_heads, head_dim_v), O is (batch, seq_q, heads, head_dim_v); `head_dim_v` is
    `head_dim` where it is left out. The order of the dimensions in memory is given by run-time strides.
    Batch, lengths, heads and scale are run-time values. `mask(causal)` is bottom-right: query i sees key j when
    j <= i + seq_kv - seq_q. With `lse` the natural log-sum-exp of every row is written too (f32,
    (batch, heads, seq_q)). A row that sees no key gives O = 0 and LSE = -inf.

    `waves` is the number of waves of a workgroup, 32 query rows each, `kv_tile` the keys of a tile; where they are
    left out, schedule and head decide (docs/HeadSizes.md). `workgroups` is how many workgroups are to share a compute
    unit: the kernel is made to fit into its share of registers and LDS, or refused; where it is left out, the schedule
    says whether that matters. `block_order(heavy_first)`, the default, starts the blocks of rows with most visible keys
    first and keeps neighbouring heads on one XCD; `paired` takes the second half of those that start together in the
    opposite order, so that of two workgroups on a compute unit one has much to do and one little; `linear` does nothing
    of that.

    `element_type` is that of Q, K, V and O; where they differ, it lists them: `element_type(q = bf16, k = f16)`;
    a tensor that is not listed has Q's type. `convert-attn-to-tile` takes these mixes and refuses others:
    all tensors bf16, f16 or f32; Q bf16 or f16 with K and V floats of 8 bits, which are widened to Q's type; Q, K and V
    floats of 8 bits, which may differ; Q and K i8 with V a float of 8 or 16 bits. Where Q has 8 bits, an O of bf16 or
    f16 must be listed. Beside all of these O may be a float of 8 bits: what is beyond its largest number becomes that.
    With `output_scale` O is divided by the number in `output_scale` (f32, (1)) first.

    With `descale` Q, K and V are multiplied by numbers of their own, `q_descale`, `k_descale` and `v_descale` (f32,
    (batch, kv_heads)): what a number of 8 bits counts. With `descale_rows(n)` `q_descale` has a number for each n rows of a
    head, (batch, heads, ceil(seq_q / n)), with `descale_keys(n)` `k_descale` for each n keys, (batch, kv_heads,
    ceil(seq_kv / n)): n is a multiple of 32. With `descale_channels` `v_descale` has one for each element of a head,
    (batch, kv_heads, head_dim_v). Rows and keys are those of a sequence. With `descale_keys(1)` each key has a number, and
    with `descale_values(1)` each value, in `v_descale`: (batch, kv_heads, seq_kv), of packed keys (kv_heads, total_kv), and
    in pages (num_pages, p, kv_heads) with any strides.

    With `mx` each 32 elements of a row of Q and K are multiplied by a power of two (E8M0). `q_scale` (i32, (batch, heads,
    seq_q, ceil(head_dim / 128))) and `k_scale` ((batch, kv_heads, seq_kv, ...)) have four of them in a word, the first in the
    lowest byte, and no batch but all rows where rows are packed. Q and K are floats of 8 bits or f4E2M1FN, of which memory has pairs as bytes, the first in the lower half.
    V is a float of 8 bits without scales, or f4E2M1FN with one for each 32 keys of an element of a head: `v_scale` (i32, (batch,
    kv_heads, ceil(seq_kv / 128), head_dim_v)) has those of four blocks of keys in a word. Weights are f4E2M1FN beside such a V, with a
    power of two for each 32 keys of a query. Keys are not packed then.

    With `group_rows` the query heads of a KV head share rows: these are the pairs of a query and a head of the group, the
    heads of a query one after the other, 32 for each wave. Keys are fetched once for all pairs of a workgroup and not
    once for each head. That is for few queries (decoding); nothing but the order of work is different.

    With `split_waves`, which needs `group_rows`, all waves of a workgroup have the same 32 rows, and each works on its
    part of the keys of every tile. After the loop, they combine their results through LDS.

    With `split` the kernel is a producer of split KV (docs/SplitKV.md): the workgroups of one block of
    rows share its keys, and what each computes is written to the workspace, normalised, in f32, with
    its LSE; `attn.combine` makes O of it. `lse` then only says that LSE is wanted in the end.

    `score_mod(@a, @b)` applies modifications (`attn.score_mod`) to the scaled scores, one after the other;
    `mask_mod(@c)` hides, beside what `mask` does, each key that one of the predicates (`attn.mask_mod`) does
    not let the query see. Masks come last. Tiles of keys that predicates are known to hide are not
    visited, and in tiles that they are known to leave whole they cost nothing (docs/Modifications.md).

    With `sink` a number for each head, `sink` (f32, (heads)), is one more score of each of its rows, without a
    value: it is in the denominator, and in LSE. A row that sees no key then gives O = 0 and LSE = sink.

    *Sequences of lengths of their own* (docs/PackedAndPaged.md). With `packed_queries` Q and O are (total_q, heads,
    head dimension) and LSE is (heads, total_q): sequence b has the rows from `cu_seqlens_q[b]` to behind
    `cu_seqlens_q[b + 1]` (i32, (batch + 1), device memory). With `packed_keys` K and V are (total_kv, kv_heads, head
    dimension), and `cu_seqlens_k` says whose rows are whose. `query_lengths` and `key_lengths` say that sequence b uses
    only the first `seqused_q[b]`, `seqused_k[b]` (i32, (batch)) of its rows; they go with dense tensors, too. Masks and
    modifications count from each sequence's own lengths; `seq_q` and `seq_kv` of the problem are the largest that are
    possible, and what `attn.sizes` of captured tensors mean. No kernel depends on lengths.

    ```mlir
    attn.forward @prefill element_type(bf16) head_dim(128) mask(causal) packed_queries packed_keys
    ```

    With `appended_keys` each sequence has `new_rows` keys more than `seqused_k` says, or with `packed_queries` as many as
    it has queries: the launch before wrote them.

    With `pages(p)` K and V are pools of pages of p rows, (num_pages, p, kv_heads, head dimension) with any strides, and
    key i of a sequence is row i mod p of the page that has number i div p in its table. Either `block_table` (i32,
    (batch, max_pages)) has the pages of each sequence, and `key_lengths` says how many keys that are; or, with
    `page_lists`, `kv_page_indices` (i32, (total_pages)) has them from number `kv_indptr[b]` (i32, (batch + 1)) on, and
    `kv_last_page_len[b]` (i32, (batch)) the rows of the last one. What tables say behind a sequence's end is not read.
    Pages may be shared. No kernel depends on page numbers. A pool is smaller than 2 GiB, or has any size with
    `far_pages`. With `vector_pages` elements lie in vectors of 16 bytes, x of them: a head's part of a page of K is
    (head dimension / x, p, x), of V (p / x, head dimension, x).

    ```mlir
    attn.forward @decode element_type(bf16) head_dim(128) key_lengths pages(16)
    ```

    With `work_list` workgroups take what they work on from a list in device memory, `work_list` (i32,
    (work_entries + 1, 6), docs/WorkLists.md): entry i is for the workgroups of number i * kv_heads + KV head. An entry
    has a sequence, the first of 128 rows, whose head of the KV head's group they are rows of, or -1 where rows are the
    heads of the group, of 4 queries, a slice of the keys, how the keys are cut, and the entry that is number i in
    order. Keys are cut with `split` alone, where the first `work_parts` entries may be slices, whose results go to the
    workspace. Workgroups after the number of entries, which comes before them, stop. With modifications, sinks or
    dropout entries name heads.

    ```mlir
    attn.forward @mixed element_type(bf16) head_dim(128) mask(causal) packed_queries key_lengths pages(16) work_list
    ```

    With `dropout` weights are dropped before they are multiplied with V: kept are those whose random byte
    (`tile.random_bytes`) is at most `dropout_threshold`, and O is divided by `dropout_keep`. LSE is that of all
    weights. `dropout_seed` and `dropout_offset` (64 bits) are added to what the tensor `dropout_state` has (i32,
    (4): the two in halves, lower ones first), which may be empty.

    With `block_lists(m, n)` the blocks of `n` keys that a block of `m` queries sees come as data, in the layout of
    PyTorch's BlockMask (int32): `kv_num_blocks` (batch, heads, blocks of queries) and `kv_indices` (.., blocks of
    keys), of which the first so many count, and the same with `full_`, which may be missing. Predicates hide
    keys in the blocks of the first list alone; `mask` does in both. Blocks of no list are not visited.

    ```mlir
    attn.forward @capped element_type(bf16) head_dim(128) mask(causal) lse score_mod(@cap)
    attn.score_mod @cap(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32) {
      %cap = arith.constant 5.000000e+01 : f32
      %limited = arith.minimumf %score, %cap : f32
      attn.yield %limited : f32
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttr:$element_type, OptionalAttr<DictionaryAttr>:$tensor_types,
      I64Attr:$head_dim, OptionalAttr<I64Attr>:$head_dim_v,
      OptionalAttr<Attn_VisibilityAttr>:$mask, UnitAttr:$lse,
      UnitAttr:$split, OptionalAttr<I64Attr>:$waves, OptionalAttr<I64Attr>:$kv_tile,
      OptionalAttr<I64Attr>:$workgroups,
      DefaultValuedAttr<Attn_BlockOrder, "::hocket::attn::BlockOrder::HeavyFirst">:$block_order,
      UnitAttr:$descale, OptionalAttr<I64Attr>:$descale_rows, OptionalAttr<I64Attr>:$descale_keys,
      UnitAttr:$descale_channels, OptionalAttr<I64Attr>:$descale_values, UnitAttr:$output_scale, UnitAttr:$mx, UnitAttr:$sink, UnitAttr:$packed_queries, UnitAttr:$packed_keys, UnitAttr:$query_lengths,
      UnitAttr:$key_lengths, UnitAttr:$appended_keys, OptionalAttr<I64Attr>:$page_size, UnitAttr:$page_lists,
      UnitAttr:$far_pages, UnitAttr:$vector_pages, UnitAttr:$dropout, UnitAttr:$group_rows, UnitAttr:$split_waves,
      UnitAttr:$work_list,
      OptionalAttr<I64Attr>:$query_block, OptionalAttr<I64Attr>:$key_block,
      OptionalAttr<FlatSymbolRefArrayAttr>:$score_mods,
      OptionalAttr<FlatSymbolRefArrayAttr>:$mask_mods, OptionalAttr<FlatSymbolRefAttr>:$schedule);
  let assemblyFormat = [{
    $sym_name `element_type` `(` custom<ElementTypes>($element_type, $tensor_types) `)` `head_dim` `(` $head_dim `)`
    oilist(`head_dim_v` `(` $head_dim_v `)` | `mask` `(` custom<Visibility>($mask) `)` | `lse` $lse
      | `split` $split | `waves` `(` $waves `)` | `kv_tile` `(` $kv_tile `)` | `workgroups` `(` $workgroups `)`
      | `block_order` `(` $block_order `)` | `schedule` `(` $schedule `)` | `descale` $descale
      | `descale_rows` `(` $descale_rows `)` | `descale_keys` `(` $descale_keys `)` | `descale_channels` $descale_channels
      | `descale_values` `(` $descale_values `)` | `output_scale` $output_scale | `mx` $mx
      | `sink` $sink | `dropout` $dropout
      | `packed_queries` $packed_queries | `packed_keys` $packed_keys | `query_lengths` $query_lengths
      | `key_lengths` $key_lengths | `appended_keys` $appended_keys | `pages` `(` $page_size `)` | `page_lists` $page_lists
      | `far_pages` $far_pages
      | `vector_pages` $vector_pages | `group_rows` $group_rows | `split_waves` $split_waves
      | `work_list` $work_list
      | `block_lists` `(` $query_block `,` $key_block `)`
      | `score_mod` `(` custom<Symbols>($score_mods) `)` | `mask_mod` `(` custom<Symbols>($mask_mods) `)`)
    attr-dict-with-keyword
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Of the tensor `name`: "q", "k", "v" or "o".
    ::mlir::Type getTensorType(::llvm::StringRef name);
    /// Elements of a head of V and O: `head_dim_v`, or `head_dim` where it is left out.
    int64_t getValueHeadDim() { return getHeadDimV() ? *getHeadDimV() : getHeadDim(); }
    /// Which keys a query sees: `mask`, or all where it is left out.
    VisibilityAttr getKeyVisibility() {
      return getMask() ? *getMask() : VisibilityAttr::get(getContext(), std::nullopt, std::nullopt);
    }
    /// What changes scores, or hides keys, by a region; in order, scores first.
    ::llvm::SmallVector<::mlir::FlatSymbolRefAttr> getModifications();
    /// The dimensions of heads, by name.
    std::array<std::pair<const char *, int64_t>, 2> getHeadDims() {
      return {{{"head_dim", getHeadDim()}, {"head_dim_v", getValueHeadDim()}}};
    }
  }];
}

def Attn_CombineOp : Op<AttnDialect, "combine", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "O, and LSE, of the partial results that producers of split KV left in the workspace";
  let description = [{
    The second launch of split KV (docs/SplitKV.md). `head_dim` is that of V and O; `waves` the waves
    of a workgroup, which work on rows of their own, or with `split_waves` share the slices of their rows. A row that no
    slice gave a visible key gets O = 0 and LSE = -inf. With `work_list` the slices are those of the list's first entries, and rows lie as `packed_queries`
    and `query_lengths` say; what entries name whole is not touched.

    ```mlir
    attn.combine @fold element_type(bf16) head_dim(64) lse
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttr:$element_type, I64Attr:$head_dim,
      UnitAttr:$lse, UnitAttr:$work_list, UnitAttr:$packed_queries, UnitAttr:$query_lengths,
      UnitAttr:$split_waves, DefaultValuedAttr<I64Attr, "4">:$waves);
  let assemblyFormat = [{
    $sym_name `element_type` `(` $element_type `)` `head_dim` `(` $head_dim `)` (`lse` $lse^)?
    (`work_list` $work_list^)? (`packed_queries` $packed_queries^)? (`query_lengths` $query_lengths^)?
    (`split_waves` $split_waves^)? (`waves` `(` $waves^ `)`)? attr-dict-with-keyword
  }];
  let hasVerifier = 1;
}

def Attn_WorkListOp : Op<AttnDialect, "work_list", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "the list of work for `attn.forward ... work_list`, from lengths in device memory";
  let description = [{
    Writes `work_list` as `attn.forward` reads it, longest work first. Lengths are those that `packed_queries` and the
    like say, as there, and `mask` counts in what work takes. With `single_heads` entries never have the heads of a
    group for rows. With `split` work is cut into slices where `work_slots` workgroups that run at a time would wait for
    it, and what is to begin first stands first. No row is taken to see more than `row_keys` keys.

    ```mlir
    attn.work_list @list mask(causal) packed_queries key_lengths
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<Attn_VisibilityAttr>:$mask, UnitAttr:$split,
      UnitAttr:$single_heads, UnitAttr:$packed_queries, UnitAttr:$packed_keys, UnitAttr:$query_lengths,
      UnitAttr:$key_lengths, UnitAttr:$appended_keys, OptionalAttr<I64Attr>:$page_size, UnitAttr:$page_lists);
  let assemblyFormat = [{
    $sym_name oilist(`mask` `(` custom<Visibility>($mask) `)` | `split` $split | `single_heads` $single_heads
      | `packed_queries` $packed_queries | `packed_keys` $packed_keys | `query_lengths` $query_lengths
      | `key_lengths` $key_lengths | `appended_keys` $appended_keys | `pages` `(` $page_size `)`
      | `page_lists` $page_lists)
    attr-dict-with-keyword
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    VisibilityAttr getKeyVisibility() {
      return getMask() ? *getMask() : VisibilityAttr::get(getContext(), std::nullopt, std::nullopt);
    }
  }];
}

def Attn_BlockListsOp : Op<AttnDialect, "block_lists", [
    Symbol, HasParent<"::mlir::ModuleOp">, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "lists of the blocks that masks show, for `attn.forward ... block_lists`";
  let description = [{
    Writes `kv_num_blocks` and `kv_indices`, and, where `full_blocks` is 1, `full_kv_num_blocks` and `full_kv_indices`,
    as `attn.forward` reads them, of blocks of `m` queries and `n` keys: a block that `mask` and the predicates of
    `mask_mod` show in part is partial, one that they show whole full, and where there are no full ones partial as
    well. Elements behind the last query or key do not count. Every element is looked at, whatever the predicates are;
    entries of indices that no count reaches are not written. The lists' extents are `block_batch` and `block_heads`: 1
    where all batches or heads share them, and then the masks' batch or head is 0.

    ```mlir
    attn.block_lists @lists blocks(128, 128) mask(causal) mask_mod(@even)
    attn.mask_mod @even(%batch: i32, %head: i32, %query: i32, %key: i32) {
      %one = arith.constant 1 : i32
      %zero = arith.constant 0 : i32
      %bit = arith.andi %key, %one : i32
      %seen = arith.cmpi eq, %bit, %zero : i32
      attn.yield %seen : i1
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$query_block, I64Attr:$key_block,
      OptionalAttr<Attn_VisibilityAttr>:$mask, OptionalAttr<FlatSymbolRefArrayAttr>:$mask_mods);
  let assemblyFormat = [{
    $sym_name `blocks` `(` $query_block `,` $key_block `)`
    oilist(`mask` `(` custom<Visibility>($mask) `)` | `mask_mod` `(` custom<Symbols>($mask_mods) `)`)
    attr-dict-with-keyword
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    VisibilityAttr getKeyVisibility() {
      return getMask() ? *getMask() : VisibilityAttr::get(getContext(), std::nullopt, std::nullopt);
    }
  }];
}

def Attn_TransposedListsOp : Op<AttnDialect, "transposed_lists", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "lists of blocks of queries for each block of keys, of those of `attn.block_lists`";
  let description = [{
    Of `kv_num_blocks` and `kv_indices`, of blocks of `m` queries and `n` keys, it makes `q_num_blocks` and `q_indices`:
    for each block of keys the blocks of queries that list it, ascending. The same of full blocks, where `full_blocks`
    is 1. The lists' extents are `block_batch` and `block_heads`. Entries that no count reaches are not written.

    ```mlir
    attn.transposed_lists @lists blocks(128, 128)
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$query_block, I64Attr:$key_block);
  let assemblyFormat = [{ $sym_name `blocks` `(` $query_block `,` $key_block `)` attr-dict-with-keyword }];
  let hasVerifier = 1;
}

def Attn_BackwardPart : I32EnumAttr<"BackwardPart", "which of a backward's kernels", [
    I32EnumAttrCase<"Delta", 0, "delta">,
    I32EnumAttrCase<"DkDv", 1, "dkdv">,
    I32EnumAttrCase<"Dk", 2, "dk">,
    I32EnumAttrCase<"Dv", 3, "dv">,
    I32EnumAttrCase<"Dq", 4, "dq">,
    I32EnumAttrCase<"Sink", 5, "sink">,
    I32EnumAttrCase<"Captured", 6, "captured">,
    I32EnumAttrCase<"Fused", 7, "fused">,
    I32EnumAttrCase<"Convert", 8, "convert">,
    I32EnumAttrCase<"Sum", 9, "sum">]> {
  let cppNamespace = "::hocket::attn";
}

def Attn_Accumulation : I32EnumAttr<"Accumulation", "how dQ is added up in memory", [
    I32EnumAttrCase<"F32", 0, "f32">,
    I32EnumAttrCase<"Packed", 1, "packed">]> {
  let cppNamespace = "::hocket::attn";
}

def Attn_BackwardOp : Op<AttnDialect, "backward", [
    Symbol, HasParent<"::mlir::ModuleOp">, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a part of the gradients dQ, dK, dV of an attention forward";
  let description = [{
    From Q, K, V, O, LSE and dO, the gradient of O, come dQ, dK and dV, of the shapes and element type of Q, K and V:

        P = exp(scale Q K^T - LSE)         delta = rowsum(dO * O)
        dV = P^T dO      dS = P * (dO V^T - delta)      dK = scale dS^T Q      dQ = scale dS K

    A row whose LSE is -inf or +inf has seen nothing and gives nothing. What query heads share in K and V is summed in
    f32. P and dS are rounded to the element type before they are multiplied. No sum depends on timing, but for `fused`.

    An op is one kernel, the `part`: `delta` comes first and leaves delta and LSE in log2 units in the workspace, f32
    (batch, heads, seq_q) each. With `lse_gradient` it subtracts the gradient of LSE, `dlse` (f32, LSE's shape), from
    delta, which is all that gradient does. `dkdv` then works on keys and loops over queries, or `dk` and `dv` do, each for
    itself, for heads whose gradients do not fit into registers together; `dq` works on queries and loops over keys.
    `sink` makes of what `delta` left the gradient of the sink, `d_sink` (f32, (heads)): of each head the sum over
    batches and rows of -exp(sink - LSE) delta, in a fixed order. `captured` makes the gradient of the tensor
    `gradient_of` that one of the score modifications reads, "d_" and its name, of its shape and type: a workgroup has
    some of its elements and goes through all scores that they are part of. The tensor is read at places whose indices
    are the batch, the head, the query and the key themselves, the key last, where an extent of 1 serves all; or the
    batch and the head, and an index of any kind, the last.

    `fused` makes dK, dV and dQ in one loop: it works on keys as `dkdv` does, waves exchange dS through LDS, and what a
    workgroup's keys add to dQ is added in memory, atomically, in whatever order workgroups come to it. `accumulate`
    says in which type: `f32`, or `packed`, pairs of the element type, half the bytes, and rounded with each addition.
    The sums lie in the workspace behind what `delta` leaves there, which sets them to 0 when it has the same
    `accumulate`; `convert` makes dQ of them. No block lists, and a target that reads transposed from LDS.

    With `group_parts` a kernel that works on keys has several workgroups for the same keys, as many as the variable of
    that name says. They share the query heads of a KV head evenly or, where there are more of them than heads, the
    queries of each head. Each leaves what it makes of dK and dV in f32, in `parts_dk` and `parts_dv` ((batch, seq_kv,
    kv_heads * group_parts, D)); `sum` adds these up, in order, and rounds once.

    Types, heads, masks, `score_mod`, whose derivative is that of `attn-derive-score-mods`, and `dropout` are as in
    `attn.forward`; with dropout, dO meets the weights that were kept, and delta is multiplied by `dropout_keep`, as
    are dQ, dK and dV until they are stored. `packed_queries`, `packed_keys`, `query_lengths` and `key_lengths` are as
    there, too: gradients lie as what they are of, and rows that no sequence uses are neither read nor written.
    `block_lists(m, n)` are those of `attn.forward`: `dq` and `captured` read its tensors, `dkdv`, `dk` and `dv` read
    lists of blocks of queries for each block of keys, `q_num_blocks`, `q_indices` and the `full_` ones, which
    `attn.transposed_lists` makes of the others.
    `waves` is the number of waves of a workgroup, 32 rows each of
    what it works on, `loop_tile` the rows of a tile of what it loops over; left out, they follow from the head.

    ```mlir
    attn.backward @rows part(delta) element_type(bf16) head_dim(64)
    attn.backward @keys part(dkdv) element_type(bf16) head_dim(64) mask(causal)
    attn.backward @queries part(dq) element_type(bf16) head_dim(64) mask(causal)
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Attn_BackwardPart:$part, TypeAttr:$element_type, I64Attr:$head_dim,
      OptionalAttr<I64Attr>:$head_dim_v, OptionalAttr<Attn_VisibilityAttr>:$mask,
      OptionalAttr<I64Attr>:$waves, OptionalAttr<I64Attr>:$loop_tile,
      DefaultValuedAttr<Attn_BlockOrder, "::hocket::attn::BlockOrder::HeavyFirst">:$block_order,
      UnitAttr:$dropout, UnitAttr:$packed_queries, UnitAttr:$packed_keys, UnitAttr:$query_lengths,
      UnitAttr:$key_lengths, OptionalAttr<StrAttr>:$gradient_of, OptionalAttr<Attn_Accumulation>:$accumulate,
      UnitAttr:$lse_gradient, UnitAttr:$group_parts, OptionalAttr<I64Attr>:$query_block,
      OptionalAttr<I64Attr>:$key_block, OptionalAttr<FlatSymbolRefArrayAttr>:$score_mods,
      OptionalAttr<FlatSymbolRefArrayAttr>:$mask_mods, OptionalAttr<FlatSymbolRefAttr>:$schedule);
  let assemblyFormat = [{
    $sym_name `part` `(` $part `)` `element_type` `(` $element_type `)` `head_dim` `(` $head_dim `)`
    oilist(`head_dim_v` `(` $head_dim_v `)` | `mask` `(` custom<Visibility>($mask) `)`
      | `waves` `(` $waves `)` | `loop_tile` `(` $loop_tile `)` | `dropout` $dropout
      | `packed_queries` $packed_queries | `packed_keys` $packed_keys | `query_lengths` $query_lengths
      | `key_lengths` $key_lengths | `gradient_of` `(` $gradient_of `)` | `accumulate` `(` $accumulate `)`
      | `lse_gradient` $lse_gradient | `group_parts` $group_parts | `block_order` `(` $block_order `)`
      | `schedule` `(` $schedule `)`
      | `block_lists` `(` $query_block `,` $key_block `)`
      | `score_mod` `(` custom<Symbols>($score_mods) `)` | `mask_mod` `(` custom<Symbols>($mask_mods) `)`)
    attr-dict-with-keyword
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    int64_t getValueHeadDim() { return getHeadDimV() ? *getHeadDimV() : getHeadDim(); }
    VisibilityAttr getKeyVisibility() {
      return getMask() ? *getMask() : VisibilityAttr::get(getContext(), std::nullopt, std::nullopt);
    }
    /// Whether it is a loop, which follows a schedule.
    bool isLoop() {
      return llvm::is_contained(
          {BackwardPart::DkDv, BackwardPart::Dk, BackwardPart::Dv, BackwardPart::Dq, BackwardPart::Fused}, getPart());
    }
    std::array<std::pair<const char *, int64_t>, 2> getHeadDims() {
      return {{{"head_dim", getHeadDim()}, {"head_dim_v", getValueHeadDim()}}};
    }
  }];
}

class Attn_ModificationOp<string mnemonic> : Op<AttnDialect, mnemonic, [
    FunctionOpInterface, IsolatedFromAbove, HasParent<"::mlir::ModuleOp">, SingleBlock]> {
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
      OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  code extraModificationDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
  }];
}

def Attn_ScoreModOp : Attn_ModificationOp<"score_mod"> {
  let summary = "a function of each scaled score, and of where it stands";
  let description = [{
    Takes the score (f32), the batch, the query head, the query's and the key's position in their sequence (i32), and
    what it captures: numbers (`f32`, `i32`) and tensors (`tensor<?xf32>`, also of f16, bf16, i32, i8 and i1, any
    rank), which `attn.read` looks up. It yields the new score. Regions are made of ops of `arith` and `math`
    (docs/Values.md), of `scf.if`, and of `attn.read`.

    A captured number is the value of the expression `attn.value` over the problem's variables (docs/Manifest.md), if
    it has none of the variable that is called as it is. A captured tensor is the problem's tensor that is called as
    it is, or as `attn.bind` says; `attn.sizes` has its extents, expressions too. One that is
    passed with an extent of 1 instead has the same numbers along all of that dimension.

    What must hold of the problem's numbers stands in `attn.requires` of the op, pairs of an expression and of what is
    expected where it does not hold: `attributes {attn.requires = [["reach >= 0", "keys from 0"]]}`. Problems that
    break one are refused.

    ```mlir
    attn.score_mod @alibi(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32,
        %slopes: tensor<?xf32> {attn.sizes = ["heads"]}, %shift: i32 {attn.value = "seq_kv - seq_q"}) {
      %slope = attn.read %slopes[%head] : tensor<?xf32> -> f32
      %diagonal = arith.addi %query, %shift : i32
      %distance = arith.subi %diagonal, %key : i32
      %steps = arith.sitofp %distance : i32 to f32
      %length = math.absf %steps : f32
      %penalty = arith.mulf %slope, %length : f32
      %result = arith.subf %score, %penalty : f32
      attn.yield %result : f32
    }
    ```
  }];
  let extraClassDeclaration = extraModificationDeclaration # [{
    /// Arguments in front of what is captured.
    static constexpr unsigned kOwnArguments = 5;
  }];
}

def Attn_MaskModOp : Attn_ModificationOp<"mask_mod"> {
  let summary = "a predicate: whether a query sees a key";
  let description = [{
    As `attn.score_mod`, but without the score; it yields an i1. Which tiles of keys have to be visited, and which
    of them masked, is derived from comparisons of sums of the positions, of constants and of what is the same for
    a whole batch or head.

    ```mlir
    attn.mask_mod @window(%batch: i32, %head: i32, %query: i32, %key: i32,
        %shift: i32 {attn.value = "seq_kv - seq_q"}) {
      %reach = arith.constant 1024 : i32
      %diagonal = arith.addi %query, %shift : i32
      %distance = arith.subi %diagonal, %key : i32
      %near = arith.cmpi sle, %distance, %reach : i32
      attn.yield %near : i1
    }
    ```
  }];
  let extraClassDeclaration = extraModificationDeclaration # [{
    static constexpr unsigned kOwnArguments = 4;
  }];
}

def Attn_ReadOp : Op<AttnDialect, "read", [
    MemoryEffects<[MemRead]>, ParentOneOf<["ScoreModOp", "MaskModOp", "::mlir::scf::IfOp"]>]> {
  let summary = "what a captured tensor has at indices";
  let description = [{
    Zero where an index is negative or not less than the extent. The result has the tensor's element type, or f32
    for bf16 and f16, i32 for i8.

    ```mlir
    %bias = attn.read %biases[%batch, %head, %query, %key] : tensor<?x?x?x?xbf16> -> f32
    ```
  }];
  let arguments = (ins AnyRankedTensor:$tensor, Variadic<I32>:$indices);
  let results = (outs AnyTypeOf<[F32, F16, BF16, I32, I<8>, I1]>:$result);
  let assemblyFormat = "$tensor `[` $indices `]` attr-dict `:` type($tensor) `->` type($result)";
  let hasVerifier = 1;
}

def Attn_YieldOp : Op<AttnDialect, "yield", [
    Pure, Terminator, ReturnLike, ParentOneOf<["ScoreModOp", "MaskModOp"]>]> {
  let summary = "the modified score (f32) or whether the key is seen (i1)";
  let arguments = (ins AnyTypeOf<[F32, I1]>:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

#endif // HOCKET_ATTN_DIALECT_TD
