// What an attention forward computes: types, head dimensions, mask, options, and shapes.
//
// O[b,i,h,:] = sum_j softmax_j(scale * Q[b,i,h,:] . K[b,j,h / (heads/kvHeads),:]) V[b,j,...,:],
// over the keys j that query i sees (Visibility.h). A row that sees no key gives O = 0 and LSE =
// -inf. LSE is the natural logarithm of the sum of exponentials, float32 [batch, heads, seqQ],
// contiguous.
//
// Three structs, that need not know of one another: the semantics are what a kernel is compiled
// for, the geometry is what it is launched for, the tuning is how, where there is a choice. What
// else there is to know (variables of manifests, checks, buffers, names) is derived from them and
// from the list of tensors.
#pragma once

#include "hocket/Attention/BlockLists.h"
#include "hocket/Attention/HeadTypes.h"
#include "hocket/Attention/Modification.h"
#include "hocket/Attention/Visibility.h"
#include "hocket/Attention/WorkList.h"
#include "hocket/Manifest/Tensors.h"
#include "hocket/Support/ElementType.h"
#include "hocket/Support/Result.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::attention {

/// Which lists in device memory say where sequences lie and how long they are (docs/PackedAndPaged.md).
/// Without any, tensors have the same rows for each index of the batch.
struct SequenceLists {
  /// Sequences lie one behind the other; "cu_seqlens_q", "cu_seqlens_k" (i32, [batch + 1]) have the first
  /// row of each, and the end.
  bool packedQ = false, packedKv = false;
  /// Sequences use only so many of their rows: "seqused_q", "seqused_k" (i32, [batch]).
  bool usedQ = false, usedKv = false;
  /// K and V are pools of pages of so many rows, which sequences have anywhere; 0: they are not.
  int64_t pageSize = 0;
  /// Where pages are is in lists of pages ("kv_indptr", i32 [batch + 1]; "kv_page_indices", i32 [tablePages];
  /// "kv_last_page_len", i32 [batch]); otherwise in a table ("block_table", i32 [batch, tablePages]), and keys have
  /// lengths (`usedKv`).
  bool pageLists = false;
  /// The pools may have any size, and not less than 2 GiB each: slower. Follows from sizes (`ForwardProblem::semantics`).
  bool farPages = false;
  /// A head's part of a page has elements in vectors of 16 bytes. Follows from `Geometry::pageLayout`.
  bool vectorPages = false;

  bool inPages() const { return pageSize != 0; }
  bool any() const { return packedQ || packedKv || usedQ || usedKv || inPages(); }
  bool operator==(const SequenceLists &) const = default;
};

/// One of the lists: what its tensor is called, and on command lines and in `attn.forward`.
struct SequenceList {
  std::string_view tensor; ///< "cu_seqlens_q"
  std::string_view name;   ///< "packed-q"
  std::string_view clause; ///< "packed_queries"
  bool SequenceLists::*value;
};
std::span<const SequenceList> sequenceLists();

/// Which two elements of a head rotary embedding turns together: neighbours, or those of two halves of what it turns.
enum class Rotary { None, Interleaved, Half };
/// "none", "interleaved", "half".
std::string_view toString(Rotary rotary);
Result<Rotary> parseRotary(std::string_view text);

/// Elements that rotary embedding turns are whole such groups.
inline constexpr int64_t kRotaryUnit = 16;

/// What is done to a cache in front of attention, in the same plan (docs/Caches.md).
struct CacheUpdate {
  /// "k_new" and "v_new" ([batch, newRows, kvHeads, head dimension]; where queries are packed [totalQ, kvHeads, head
  /// dimension], a row for each query) are written to K and V behind the keys that each sequence has, and are keys like
  /// those then. "seqused_k" says how many there were before; lists of pages, with
  /// whose pages the rows are given their place, how many there are afterwards. What has no room is not written.
  bool appends = false;
  /// Turns what is written to K by its position, and Q, in the workspace: row i of Q by the position of new row i where
  /// there is a mask, else by that of the first. The numbers are "rotary_cos" and "rotary_sin" ([positions,
  /// rotaryDim / 2], of O's type); elements of a head from `rotaryDim` on stay as they are.
  Rotary rotary = Rotary::None;
  int64_t rotaryDim = 0; ///< a multiple of `kRotaryUnit`
  /// The new rows have the types of K and V and are written as they are. Otherwise they have O's, are divided by the
  /// descales, if there are any, and rounded to the types of K and V.
  bool asStored = false;

  bool turns() const { return rotary != Rotary::None; }
  bool operator==(const CacheUpdate &) const = default;
};

/// Whose numbers descales are, where that is not a KV head: 0 and false are that. `rows` and `keys` are multiples of 32, or
/// `keys` is 1. A number for each key, or value, lies as rows of K and V do: f32 [batch, kvHeads, seqKv], packed [kvHeads,
/// totalKv], or in pages [numPages, page size, kvHeads] with any strides.
struct DescaleBlocks {
  int64_t rows = 0;      ///< "q_descale" is f32 [batch, heads, ceil(seqQ / rows)]
  int64_t keys = 0;      ///< "k_descale" is f32 [batch, kvHeads, ceil(seqKv / keys)]
  bool channels = false; ///< "v_descale" is f32 [batch, kvHeads, valueHeadDim()]
  int64_t values = 0;    ///< 1: "v_descale" has a number for each value
  bool any() const { return rows != 0 || keys != 0 || channels || values != 0; }
  bool operator==(const DescaleBlocks &) const = default;
};

/// Elements of a block of the mx formats.
inline constexpr int64_t kMxBlock = 32;

/// What is computed, whatever the sizes.
struct ForwardSemantics {
  HeadTypes dtype; ///< of Q, K, V and O
  int64_t headDim = 128;           ///< of Q and K
  int64_t headDimV = 0;            ///< of V and O; 0: as headDim
  Visibility visibility;
  bool wantLse = false;
  /// What a number of Q, K and V counts is said by "q_descale", "k_descale" and "v_descale" (f32 [batch, kvHeads]).
  bool descale = false;
  DescaleBlocks descaleBlocks;
  /// O is divided by the number "output_scale" (f32 [1]) before it is rounded: what a number of O of 8 bits counts.
  bool outputScale = false;
  /// Each 32 elements of a row of Q and K count a power of two: "q_scale" (i32 [batch, heads, seqQ, ceil(headDim / 128)], words
  /// of four bytes of E8M0, the first the lowest) and "k_scale" [batch, kvHeads, seqKv, ...]; packed [heads, totalQ, ...] and
  /// [kvHeads, totalKv, ...]. Of V of 4 bits each 32 keys of an element of a head do: "v_scale" [batch, kvHeads,
  /// ceil(seqKv / 128), headDimV], words of four blocks of keys; bytes of blocks beyond the last key must not be NaN (255).
  bool mxScales = false;
  /// A number for each head ("sink", f32 [heads]) is one more score of each of its rows, without a value.
  bool sink = false;
  /// Weights are dropped at random before they meet V; LSE is that of all weights (`Dropout`).
  bool dropout = false;
  /// Lists of blocks say which keys are seen (BlockLists.h); masks hide keys of the partial ones alone.
  BlockSizes blocks;
  /// The lists are made of the masks, by a launch in front: they are written, and can be read by later launches.
  bool makesBlocks = false;
  /// Applied to the scaled scores in this order; masks hide keys beside `visibility`, after all else.
  std::vector<Modification> modifications;
  SequenceLists lists;
  CacheUpdate update;
  WorkUse work;

  /// Whether "v_scale" is there: V has elements of 4 bits.
  bool hasValueScales() const { return dtype.v == ElementType::F4E2M1; }
  int64_t valueHeadDim() const { return headDimV != 0 ? headDimV : headDim; }
  /// Of "q", "k", "v", "o" and what has rows like them.
  ElementType typeOf(std::string_view tensor) const;
  /// Whether there is a mask of any kind.
  bool isMasked() const;
  bool isModified() const { return sink || dropout || blocks.any() || !modifications.empty(); }
  /// "d128_bf16_causal", "d192x128_fp16_none_alibi": how kernels for it are called.
  std::string kernelSuffix() const;
  bool operator==(const ForwardSemantics &) const = default;
};

/// An option of the semantics that is on or off; those there are say how it is spelt.
struct ForwardFlag {
  std::string_view name; ///< in `attn.forward`, the registry, on command lines and in a variant's name: "lse"
  bool ForwardSemantics::*value;
};
std::span<const ForwardFlag> forwardFlags();

/// The order of dimensions in memory: batch, sequence, head, dim or batch, head, sequence, dim.
enum class Layout { BSHD, BHSD };
std::string_view toString(Layout layout);
Result<Layout> parseLayout(std::string_view text);

/// The order of dimensions of pages: page, row, head, dim or page, head, row, dim; or, x being the elements of 16 bytes,
/// page, head, dim / x, row, dim % x for K and page, head, row / x, dim, row % x for V.
enum class PageLayout { NHD, HND, Vectorised };
/// Elements of a vector, x.
inline int64_t vectorElements(ElementType type) { return 16 / bytesOf(type); }
std::string_view toString(PageLayout layout);
Result<PageLayout> parsePageLayout(std::string_view text);

/// Strides of one tensor in elements; the head dimension is contiguous. Of pages, `batch` is from page to page and
/// `sequence` from row to row of one; with vectors, of which a head's part of a page is contiguous, it is the dimension.
struct TensorStrides {
  int64_t batch = 0, sequence = 0, head = 0;
  bool operator==(const TensorStrides &) const = default;
};

/// What the lists hold, where the host knows it.
struct KnownSequences {
  std::map<std::string, std::vector<int32_t>, std::less<>> lists; ///< by the tensors' names
  bool operator==(const KnownSequences &) const = default;
};

/// Tensors of one shape for the whole batch; packed ones have `totalQ`, `totalKv` rows instead.
struct Geometry {
  int64_t batch = 1;
  int64_t heads = 1;   ///< query heads
  int64_t kvHeads = 1; ///< divides heads
  int64_t seqQ = 1; ///< of sequences with lengths of their own the most that are possible
  int64_t seqKv = 1;
  int64_t totalQ = 1, totalKv = 1; ///< rows of packed tensors
  /// Numbers that may be 0, as ProblemFields.def says.
#define HOCKET_COUNT(name, member, option, meta, help, when) int64_t member = 0;
#include "hocket/Attention/ProblemFields.def"
  int64_t numPages = 1;   ///< of the pools of K and V
  int64_t tablePages = 1; ///< entries of a sequence in a table of pages, or of all lists of them
  PageLayout pageLayout = PageLayout::NHD;
  int64_t newRows = 1;   ///< of "k_new" and "v_new", of each sequence; where queries are packed at most, `seqQ`
  int64_t positions = 1; ///< of "rotary_cos" and "rotary_sin"
  /// With a list of work: how many workgroups run at a time, for which long work is cut.
  int64_t workSlots = kUsualWorkSlots;
  /// Plans do not depend on it; what is known is checked, and what is verified must be known.
  KnownSequences known;
  Layout layout = Layout::BSHD;
  /// Explicit strides, by the names of tensors, instead of those of the dense `layout`.
  std::map<std::string, TensorStrides, std::less<>> strides;

  Lengths lengths() const { return {seqQ, seqKv}; }
  bool operator==(const Geometry &) const = default;
};

/// The most slices that keys may be split into: each has a result of its own in the workspace.
inline constexpr int64_t mostSplits = 1024;

/// How it is computed, where there is a choice. Nothing of it changes what is.
struct ForwardTuning {
  /// Slices of the keys that workgroups of their own work on (docs/SplitKV.md): 0 as the heuristic
  /// says, 1 for none, more: so many.
  int64_t numSplits = 0;

  bool isSplit() const { return numSplits > 1; }
  bool operator==(const ForwardTuning &) const = default;
};

/// What is dropped, of a problem with `dropout`. A weight is kept if the byte of its place (docs/Modifications.md) is at
/// most `threshold()`, and O divided by 1 - `probability`: Composable Kernel's dropout, bit for bit.
struct Dropout {
  double probability = 0; ///< of dropping, from 0 to less than 1
  int64_t seed = 0, offset = 0;
  /// What is in the tensor "dropout_state", int32 [4], the halves of a seed and of an offset, lower ones first, is
  /// added to the two above: so that one launch serves many calls.
  bool inMemory = false;

  int64_t threshold() const;
  bool operator==(const Dropout &) const = default;
};

struct ForwardProblem : ForwardSemantics, Geometry {
  Dropout dropping; ///< what `dropout` asks for
  bool fullBlocks = false; ///< of `blocks`, whether some are listed as full
  std::optional<double> scale; ///< factor on Q K^T; default 1 / sqrt(headDim)
  /// Variables that modifications name: "soft_cap". Whole numbers can be captured as integers.
  std::map<std::string, double, std::less<>> numbers;
  /// Extents of captured tensors that are not those that the modification says: 1 where a dimension is
  /// broadcast.
  std::map<std::string, std::vector<int64_t>, std::less<>> capturedExtents;
  ForwardTuning tuning;

  /// What a kernel for it is compiled for: with `farPages` where a pool has 2 GiB and more, and
  /// `vectorPages` where the layout of pages asks for them.
  ForwardSemantics semantics() const;
  double effectiveScale() const;
  /// "q", "k", "v", "o", "lse", in this order, each with dimensions batch (unless it is packed), head and
  /// sequence (of LSE, the sequence is the row, unless it is packed); "sink", "dropout_state", block lists, lists of
  /// sequences, what is appended and turned by, and what modifications capture, if there are any.
  std::vector<manifest::TensorSpec> tensors() const;
  /// Tensors that plans keep in their workspace, from one launch to a later one: "q_rotated".
  std::vector<manifest::TensorSpec> temporaries() const;
  /// The one called `name`, which must be one of them.
  manifest::TensorSpec tensor(std::string_view name) const;
  /// The lengths of one sequence, as far as they are known.
  Lengths lengthsOf(int64_t sequence) const;
  /// Keys that are appended to it; none where queries are packed and it is not known how many each has.
  int64_t newRowsOf(int64_t sequence) const;
  /// Whether `row` of a sequence sees `key`, and the keys outside of which it sees none.
  bool sees(int64_t row, int64_t key, int64_t sequence = 0) const {
    return visibility.sees(row, key, lengthsOf(sequence));
  }
  KeyRange visibleKeys(int64_t row, int64_t sequence = 0) const {
    return visibility.range(row, lengthsOf(sequence));
  }
  /// The page that is number `index` of a sequence, where that is known; -1 elsewhere.
  int64_t pageOf(int64_t sequence, int64_t index) const;
  /// Its first rows in packed tensors; 0 in dense ones.
  Lengths firstRowsOf(int64_t sequence) const;
  /// One line that says everything: "bf16 B1 H8/2 Sq1000 Skv1000 D128 causal bshd lse"; strides
  /// ("k=32768,128,4096": batch, sequence, head), scale and splits only where they are given.
  std::string describe() const;
  bool operator==(const ForwardProblem &) const = default;
};

/// The strides of a tensor with all three dimensions.
TensorStrides stridesOf(const manifest::TensorSpec &tensor);

/// Checks what no kernel takes: an extent below 1, a head ratio that is not whole, a scale that is
/// not finite or beyond 4.65e7 in size (docs/Accuracy.md), a number of splits out of range, strides of what is no
/// tensor, lists that are known and descend or reach beyond their tensors, and what `manifest::validate`
/// refuses of a tensor. InvalidInput; the message names the field as
/// hocket-run spells it, without dashes.
Status validate(const ForwardProblem &problem);

/// The problem's lists of sequences and tables of pages, by the names of their tensors.
std::vector<std::string> listNames(const ForwardProblem &problem);

/// The variables that a manifest may use (docs/Manifest.md). Without `addresses` those of tensors
/// and workspace are absent.
manifest::Variables problemVariables(const ForwardProblem &problem,
                                     const manifest::Addresses *addresses = nullptr);

} // namespace hocket::attention
