// Shapes, and the rules that hold for every kernel.
#include "hocket/Attention/ForwardProblem.h"

#include <algorithm>
#include <charconv>
#include <cmath>

using namespace hocket;
using namespace hocket::attention;
using manifest::saturatingAdd;
using manifest::saturatingMultiply;
using manifest::TensorRole;
using manifest::TensorSpec;
using manifest::Value;

/// Extents stay far below what 64-bit offsets hold.
static constexpr int64_t kMaxExtent = int64_t(1) << 31, kMaxHeadDim = 1 << 16;
/// Row numbers of packed tensors are 32-bit, like the lists that have them.
static constexpr int64_t kMaxRowNumber = INT32_MAX;
/// Rows of a page that kernels take.
static constexpr int64_t kMaxPageSize = 1 << 16;
/// Beyond, a product of 1 would be a score outside of the range of docs/Accuracy.md: 2^26 ln 2,
/// rounded.
static constexpr double kMaxScale = 4.65e7;
/// Of the random bytes of dropout.
static constexpr int64_t kLargestByte = 255;
/// Halves of a seed and of an offset.
static constexpr int64_t kDropoutWords = 4;
/// Rows that a kernel may treat as one tile.
static constexpr int64_t kTileRows = 256;

static constexpr ForwardFlag kFlags[] = {
    {"lse", &ForwardSemantics::wantLse},
};

std::span<const ForwardFlag> attention::forwardFlags() { return kFlags; }

static constexpr SequenceList kLists[] = {
    {"cu_seqlens_q", "packed-q", "packed_queries", &SequenceLists::packedQ},
    {"cu_seqlens_k", "packed-kv", "packed_keys", &SequenceLists::packedKv},
    {"seqused_q", "used-q", "query_lengths", &SequenceLists::usedQ},
    {"seqused_k", "used-kv", "key_lengths", &SequenceLists::usedKv},
};

std::span<const SequenceList> attention::sequenceLists() { return kLists; }

std::string ForwardSemantics::kernelSuffix() const {
  std::string text = "d" + std::to_string(headDim);
  if (headDimV != headDim)
    text += "x" + std::to_string(headDimV);
  text += "_" + std::string(toString(dtype)) + "_" + std::string(visibility.name());
  if (sink)
    text += "_sink";
  for (const SequenceList &list : kLists)
    if (lists.*list.value)
      text += "_" + std::string(list.clause);
  if (lists.inPages())
    text += (lists.pageLists ? "_page_lists" : "_pages") + std::to_string(lists.pageSize);
  if (dropout)
    text += "_dropout";
  if (blocks.any())
    text += "_blocks" + std::to_string(blocks.queries) + "x" + std::to_string(blocks.keys);
  for (const Modification &modification : modifications)
    text += "_" + modification.name;
  return text;
}

std::string_view attention::toString(Layout layout) {
  return layout == Layout::BSHD ? "bshd" : "bhsd";
}

Result<Layout> attention::parseLayout(std::string_view text) {
  if (text == "bshd")
    return Layout::BSHD;
  if (text == "bhsd")
    return Layout::BHSD;
  return invalidInput("layout '" + std::string(text) + "' is not known; use bshd or bhsd");
}

std::string_view attention::toString(PageLayout layout) {
  return layout == PageLayout::NHD ? "nhd" : "hnd";
}

Result<PageLayout> attention::parsePageLayout(std::string_view text) {
  for (PageLayout layout : {PageLayout::NHD, PageLayout::HND})
    if (text == toString(layout))
      return layout;
  return invalidInput("page layout '" + std::string(text) + "' is not known; use nhd or hnd");
}

int64_t Dropout::threshold() const {
  return static_cast<int64_t>(std::floor((1 - probability) * kLargestByte));
}

double ForwardProblem::effectiveScale() const {
  return scale.value_or(1.0 / std::sqrt(static_cast<double>(headDim)));
}

/// The strides of a dense tensor of `sequence` rows for each of `heads`.
static TensorStrides denseStrides(Layout layout, int64_t sequence, int64_t heads, int64_t dim) {
  int64_t batch = saturatingMultiply(saturatingMultiply(sequence, heads), dim);
  if (layout == Layout::BSHD)
    return {batch, saturatingMultiply(heads, dim), dim};
  return {batch, dim, saturatingMultiply(sequence, dim)};
}

/// What does not depend on tensors.
static manifest::Variables scalarVariables(const ForwardProblem &problem);

/// The extents of `tensor` that the modification says; those that cannot be told are 0.
static std::vector<int64_t> wholeExtents(const CapturedTensor &tensor,
                                         const manifest::Variables &variables) {
  std::vector<int64_t> extents;
  for (const std::string &size : tensor.sizes) {
    Result<manifest::Expression> expression = manifest::Expression::parse(size);
    Result<Value> value = expression.ok() ? expression->evaluate(variables) : expression.error();
    extents.push_back(value.ok() && value->isInteger() ? value->asInteger() : 0);
  }
  return extents;
}

static TensorSpec captured(const CapturedTensor &tensor, const std::vector<int64_t> &extents) {
  TensorSpec spec{tensor.name, TensorRole::Input, tensor.type, extents.back(), {}, true,
                  /*strided=*/false};
  int64_t stride = extents.back();
  for (size_t dimension = extents.size() - 1; dimension-- > 0;) {
    int64_t extent = extents[dimension];
    std::string number = std::to_string(dimension);
    // Of an extent of 1 the kernel may ask for any index.
    spec.dimensions.insert(spec.dimensions.begin(),
                           {"dimension " + number, tensor.name + "_stride_" + number, extent,
                            extent == 1 ? 0 : stride});
    stride = saturatingMultiply(stride, extent);
  }
  return spec;
}

/// The tensors of block lists; those of full blocks are the last two.
static std::vector<CapturedTensor> blockTensors(const BlockSizes &blocks) {
  std::string rows = "ceildiv(seq_q, " + std::to_string(blocks.queries) + ")";
  std::string columns = "ceildiv(seq_kv, " + std::to_string(blocks.keys) + ")";
  std::vector<CapturedTensor> tensors;
  for (std::string prefix : {"", "full_"}) {
    tensors.push_back({prefix + "kv_num_blocks", DataType::I32, {"batch", "heads", rows}});
    tensors.push_back({prefix + "kv_indices", DataType::I32, {"batch", "heads", rows, columns}});
  }
  return tensors;
}

/// Block lists, and what each modification captures.
static std::vector<std::vector<CapturedTensor>> capturedTensors(const ForwardProblem &problem) {
  std::vector<std::vector<CapturedTensor>> lists;
  if (problem.blocks.queries > 0 && problem.blocks.keys > 0)
    lists.push_back(blockTensors(problem.blocks));
  for (const Modification &modification : problem.modifications)
    lists.push_back(modification.tensors);
  return lists;
}

/// Appends what modifications capture, each once.
static void addCaptured(const ForwardProblem &problem, std::vector<TensorSpec> &list) {
  if (problem.modifications.empty() && !problem.blocks.any())
    return;
  manifest::Variables variables = scalarVariables(problem);
  for (const std::vector<CapturedTensor> &tensors : capturedTensors(problem))
    for (const CapturedTensor &tensor : tensors) {
      if (std::any_of(list.begin(), list.end(),
                      [&](const TensorSpec &known) { return known.name == tensor.name; }))
        continue;
      auto given = problem.capturedExtents.find(tensor.name);
      list.push_back(captured(tensor, given != problem.capturedExtents.end() &&
                                              given->second.size() == tensor.sizes.size()
                                          ? given->second
                                          : wholeExtents(tensor, variables)));
      if (tensor.name.starts_with("full_kv_") && !problem.fullBlocks && problem.blocks.any())
        list.back().wanted = false;
    }
}

/// What `known` says of sequence `index` in the list `name`; null: nothing.
static const int32_t *knownOf(const KnownSequences &known, std::string_view name, int64_t index) {
  auto found = known.lists.find(name);
  if (found == known.lists.end() || index >= static_cast<int64_t>(found->second.size()))
    return nullptr;
  return &found->second[static_cast<size_t>(index)];
}

/// The first row and the length of a sequence: `whole` where no list says otherwise.
static std::pair<int64_t, int64_t> knownRows(const KnownSequences &known, std::string_view starts,
                                             std::string_view lengths, int64_t index,
                                             int64_t whole) {
  int64_t first = 0, length = whole;
  if (const int32_t *begin = knownOf(known, starts, index))
    if (const int32_t *end = knownOf(known, starts, index + 1))
      first = *begin, length = *end - int64_t(*begin);
  if (const int32_t *used = knownOf(known, lengths, index))
    length = std::min<int64_t>(length, *used);
  return {first, length};
}

/// The rows that lists of pages give a sequence; `whole` where they are not known.
static int64_t rowsOfPages(const ForwardProblem &problem, int64_t sequence, int64_t whole) {
  const int32_t *first = knownOf(problem.known, "kv_indptr", sequence);
  const int32_t *end = knownOf(problem.known, "kv_indptr", sequence + 1);
  const int32_t *last = knownOf(problem.known, "kv_last_page_len", sequence);
  if (!problem.lists.pageLists || !first || !end || !last)
    return whole;
  int64_t pages = *end - int64_t(*first);
  return pages > 0 ? (pages - 1) * problem.lists.pageSize + *last : 0;
}

Lengths ForwardProblem::lengthsOf(int64_t sequence) const {
  int64_t keys = rowsOfPages(*this, sequence, seqKv);
  return {knownRows(known, "cu_seqlens_q", "seqused_q", sequence, seqQ).second,
          knownRows(known, "cu_seqlens_k", "seqused_k", sequence, keys).second};
}

int64_t ForwardProblem::pageOf(int64_t sequence, int64_t index) const {
  const int32_t *page = nullptr;
  if (!lists.pageLists)
    page = knownOf(known, "block_table", sequence * tablePages + index);
  else if (const int32_t *first = knownOf(known, "kv_indptr", sequence))
    page = knownOf(known, "kv_page_indices", *first + index);
  return page ? *page : -1;
}

Lengths ForwardProblem::firstRowsOf(int64_t sequence) const {
  return {knownRows(known, "cu_seqlens_q", "seqused_q", sequence, seqQ).first,
          knownRows(known, "cu_seqlens_k", "seqused_k", sequence, seqKv).first};
}

namespace {
/// A table of pages: `rows` times `extent` numbers.
struct PageTable {
  std::string name;
  int64_t extent, rows;
};
} // namespace

static std::vector<PageTable> pageTables(const ForwardProblem &problem) {
  if (!problem.lists.inPages())
    return {};
  if (!problem.lists.pageLists)
    return {{"block_table", problem.tablePages, problem.batch}};
  return {{"kv_indptr", saturatingAdd(problem.batch, 1), 1},
          {"kv_page_indices", problem.tablePages, 1},
          {"kv_last_page_len", problem.batch, 1}};
}

std::vector<TensorSpec> ForwardProblem::tensors() const {
  auto tensor = [&](const char *name, TensorRole role, bool isPacked, int64_t sequence,
                    int64_t perSequence, int64_t dim) {
    auto given = strides.find(name);
    TensorStrides at = given != strides.end() ? given->second
                                              : denseStrides(layout, sequence, perSequence, dim);
    // Kernels work on blocks of rows: those behind the only one must not lie within it.
    if (sequence == 1)
      at.sequence = std::max(at.sequence, dim);
    std::string stride = std::string(name) + "_stride_";
    TensorSpec spec{name, role, dtype, dim,
                    {{"batch", stride + "b", batch, at.batch},
                     {"head", stride + "h", perSequence, at.head},
                     {"sequence", stride + "s", sequence, at.sequence, kTileRows}}};
    if (isPacked)
      spec.dimensions.erase(spec.dimensions.begin());
    return spec;
  };
  // The batch counts pages, the sequence their rows.
  auto pool = [&](const char *name, int64_t dim) {
    auto given = strides.find(name);
    Layout order = pageLayout == PageLayout::NHD ? Layout::BSHD : Layout::BHSD;
    TensorStrides at =
        given != strides.end() ? given->second : denseStrides(order, lists.pageSize, kvHeads, dim);
    std::string stride = std::string(name) + "_stride_";
    return TensorSpec{name, TensorRole::Input, dtype, dim,
                      {{"page", stride + "b", numPages, at.batch},
                       {"head", stride + "h", kvHeads, at.head},
                       {"sequence", stride + "s", lists.pageSize, at.sequence}}};
  };
  auto keys = [&](const char *name, int64_t dim) {
    return lists.inPages() ? pool(name, dim)
                           : tensor(name, TensorRole::Input, lists.packedKv, lists.packedKv ? totalKv : seqKv,
                                    kvHeads, dim);
  };
  TensorSpec lse{"lse", TensorRole::Output, DataType::F32, seqQ,
                 {{"batch", "lse_stride_b", batch, saturatingMultiply(heads, seqQ)},
                  {"head", "lse_stride_h", heads, seqQ}},
                 /*wanted=*/wantLse, /*strided=*/false};
  if (lists.packedQ) {
    lse.rowElements = totalQ;
    lse.dimensions = {{"head", "lse_stride_h", heads, totalQ}};
  }
  int64_t rowsQ = lists.packedQ ? totalQ : seqQ;
  std::vector<TensorSpec> list = {
      tensor("q", TensorRole::Input, lists.packedQ, rowsQ, heads, headDim),
      keys("k", headDim), keys("v", headDimV),
      tensor("o", TensorRole::Output, lists.packedQ, rowsQ, heads, headDimV), std::move(lse)};
  if (sink)
    list.push_back({"sink", TensorRole::Input, DataType::F32, heads, {}, true, /*strided=*/false});
  for (const SequenceList &entry : kLists)
    if (lists.*entry.value) {
      bool isStarts = entry.value == &SequenceLists::packedQ || entry.value == &SequenceLists::packedKv;
      list.push_back({std::string(entry.tensor), TensorRole::Input, DataType::I32,
                      saturatingAdd(batch, isStarts), {}, true, /*strided=*/false});
    }
  for (auto &[name, extent, rows] : pageTables(*this)) {
    TensorSpec table{name, TensorRole::Input, DataType::I32, extent, {}, true, /*strided=*/false};
    if (rows > 1 || name == "block_table")
      table.dimensions = {{"batch", name + "_stride_b", rows, extent}};
    list.push_back(std::move(table));
  }
  if (dropout)
    list.push_back({"dropout_state", TensorRole::Input, DataType::I32, kDropoutWords, {}, dropping.inMemory,
                    /*strided=*/false});
  addCaptured(*this, list);
  return list;
}

TensorSpec ForwardProblem::tensor(std::string_view name) const {
  for (TensorSpec &tensor : tensors())
    if (tensor.name == name)
      return std::move(tensor);
  return {}; // a bug of the caller: there is no memory of that name
}

TensorStrides attention::stridesOf(const TensorSpec &tensor) {
  TensorStrides strides;
  for (const manifest::TensorDimension &dimension : tensor.dimensions) {
    bool isOuter = dimension.name == "batch" || dimension.name == "page";
    int64_t &stride = isOuter                    ? strides.batch
                      : dimension.name == "head" ? strides.head
                                                 : strides.sequence;
    stride = dimension.stride;
  }
  return strides;
}

/// The shortest decimal that reads back as `value`.
static std::string shortest(double value) {
  char text[32];
  auto end = std::to_chars(text, text + sizeof(text), value).ptr;
  return std::string(text, end);
}

std::string ForwardProblem::describe() const {
  std::string text(toString(dtype));
  text += " B" + std::to_string(batch) + " H" + std::to_string(heads);
  if (kvHeads != heads)
    text += "/" + std::to_string(kvHeads);
  text += " Sq" + std::to_string(seqQ) + " Skv" + std::to_string(seqKv) + " D" +
          std::to_string(headDim);
  if (headDimV != headDim)
    text += "/" + std::to_string(headDimV);
  if (visibility != Visibility())
    text += " " + std::string(visibility.name());
  text += " " + std::string(toString(layout));
  for (const SequenceList &list : kLists)
    if (lists.*list.value)
      text += " " + std::string(list.name);
  if (lists.inPages())
    text += (lists.pageLists ? " page-lists" : " pages") + std::to_string(lists.pageSize) + "x" +
            std::to_string(numPages) + " " + std::string(toString(pageLayout)) + " table" +
            std::to_string(tablePages);
  if (lists.packedQ)
    text += " Tq" + std::to_string(totalQ);
  if (lists.packedKv)
    text += " Tkv" + std::to_string(totalKv);
  for (const TensorSpec &tensor : tensors())
    if (auto given = strides.find(tensor.name); given != strides.end())
      text += " " + tensor.name + "=" + std::to_string(given->second.batch) + "," +
              std::to_string(given->second.sequence) + "," + std::to_string(given->second.head);
  if (scale)
    text += " scale=" + shortest(*scale);
  for (const ForwardFlag &flag : kFlags)
    if (this->*flag.value)
      text += " " + std::string(flag.name);
  if (sink)
    text += " sink";
  if (dropout)
    text += " dropout=" + shortest(dropping.probability) + "," + std::to_string(dropping.seed) + "," +
            std::to_string(dropping.offset) + (dropping.inMemory ? "+memory" : "");
  if (blocks.any())
    text += " blocks=" + std::to_string(blocks.queries) + "x" + std::to_string(blocks.keys) +
            (fullBlocks ? "+full" : "");
  for (const Modification &modification : modifications)
    text += " " + modification.name;
  for (const auto &[name, value] : numbers)
    text += " " + name + "=" + shortest(value);
  for (const auto &[name, extents] : capturedExtents) {
    text += " " + name + "=";
    for (size_t i = 0; i != extents.size(); ++i)
      text += (i == 0 ? "" : "x") + std::to_string(extents[i]);
  }
  if (tuning.numSplits != 0)
    text += " splits" + std::to_string(tuning.numSplits);
  return text;
}

static Status checkExtents(const ForwardProblem &problem) {
  struct Field {
    const char *name;
    int64_t value, limit;
  };
  const Field fields[] = {
      {"batch", problem.batch, kMaxExtent},         {"heads", problem.heads, kMaxExtent},
      {"kv-heads", problem.kvHeads, kMaxExtent},    {"seq-q", problem.seqQ, kMaxExtent},
      {"seq-kv", problem.seqKv, kMaxExtent},        {"head-dim", problem.headDim, kMaxHeadDim},
      {"total-q", problem.totalQ, kMaxRowNumber},   {"total-kv", problem.totalKv, kMaxRowNumber},
      {"head-dim-v", problem.headDimV, kMaxHeadDim}, {"num-pages", problem.numPages, kMaxRowNumber},
      {"table-pages", problem.tablePages, kMaxRowNumber},
  };
  for (const Field &field : fields) {
    if (field.value < 1)
      return invalidInput(std::string(field.name) + " is " + std::to_string(field.value) +
                          ", it must be at least 1");
    if (field.value > field.limit)
      return invalidInput(std::string(field.name) + " is " + std::to_string(field.value) +
                          ", at most " + std::to_string(field.limit) + " are possible");
  }
  if (problem.heads % problem.kvHeads != 0)
    return invalidInput("heads (" + std::to_string(problem.heads) +
                        ") is not a multiple of kv-heads (" + std::to_string(problem.kvHeads) +
                        "); every KV head serves the same number of query heads");
  if (problem.scale && !std::isfinite(*problem.scale))
    return invalidInput("scale is not a finite number; leave it out to take 1 / sqrt(head-dim)");
  if (std::fabs(problem.effectiveScale()) > kMaxScale)
    return invalidInput("scale is " + shortest(problem.effectiveScale()) + ", at most " +
                        shortest(kMaxScale) +
                        " in size is possible: scaled scores beyond 2^26 in log2 units have no "
                        "weights in f32; multiply Q by a power of two, which loses nothing, and "
                        "divide the scale by it");
  if (problem.dropout && !(problem.dropping.probability >= 0 && problem.dropping.probability < 1))
    return invalidInput("dropout is " + shortest(problem.dropping.probability) +
                        ", expected a probability from 0 to less than 1");
  if (problem.tuning.numSplits < 0 || problem.tuning.numSplits > mostSplits)
    return invalidInput("num-splits is " + std::to_string(problem.tuning.numSplits) +
                        ", it must be 0 to " + std::to_string(mostSplits) +
                        ": 0 to let the heuristic choose, 1 for none");
  return Status::success();
}

/// Strides must be those of a tensor that can have any.
static Status checkStrideNames(const ForwardProblem &problem,
                               const std::vector<TensorSpec> &tensors) {
  std::string known;
  for (const TensorSpec &tensor : tensors)
    if (tensor.strided)
      known += (known.empty() ? "" : ", ") + tensor.name;
  for (const auto &[name, strides] : problem.strides)
    if (!std::any_of(tensors.begin(), tensors.end(), [&](const TensorSpec &tensor) {
          return tensor.name == name && tensor.strided;
        }))
      return invalidInput("strides are given for '" + name + "'; tensors with strides are " +
                          known);
  return Status::success();
}

/// What is known of one list: as many numbers as it has, ascending where they are the first rows of
/// sequences, and nothing beyond the `rows` that there are.
static Status checkList(const ForwardProblem &problem, const SequenceList &list,
                        const std::vector<int32_t> &numbers) {
  std::string name(list.tensor);
  if (!(problem.lists.*list.value))
    return invalidInput("'" + name + "' is known, but the problem has no such list; set it in 'lists'");
  bool ofQ = list.value == &SequenceLists::packedQ || list.value == &SequenceLists::usedQ;
  bool isStarts = list.value == &SequenceLists::packedQ || list.value == &SequenceLists::packedKv;
  int64_t wanted = problem.batch + isStarts, total = ofQ ? problem.totalQ : problem.totalKv;
  if (static_cast<int64_t>(numbers.size()) != wanted)
    return invalidInput("'" + name + "' has " + std::to_string(numbers.size()) +
                        " numbers, expected " + std::to_string(wanted) + ": the batch" +
                        (isStarts ? " and one more" : ""));
  int64_t most = ofQ ? problem.seqQ : problem.seqKv;
  for (size_t i = 0; i != numbers.size(); ++i) {
    std::string which = "'" + name + "' has " + std::to_string(numbers[i]) + " at " + std::to_string(i);
    if (numbers[i] < 0)
      return invalidInput(which + ", a number from 0 on is needed");
    if (!isStarts && numbers[i] > most)
      return invalidInput(which + ", sequences have at most " + std::to_string(most) +
                          " rows (seq-" + (ofQ ? "q" : "kv") + ")");
    if (isStarts && numbers[i] > total)
      return invalidInput(which + ", the tensor has " + std::to_string(total) + " rows (total-" +
                          (ofQ ? "q" : "kv") + ")");
    if (!isStarts || i == 0)
      continue;
    if (numbers[i] < numbers[i - 1])
      return invalidInput(which + ", behind " + std::to_string(numbers[i - 1]) +
                          ": the first rows of sequences cannot descend");
    bool hasLengths = ofQ ? problem.lists.usedQ : problem.lists.usedKv;
    if (!hasLengths && numbers[i] - int64_t(numbers[i - 1]) > most)
      return invalidInput("'" + name + "' gives sequence " + std::to_string(i - 1) + " " +
                          std::to_string(numbers[i] - numbers[i - 1]) +
                          " rows, sequences have at most " + std::to_string(most) + " (seq-" +
                          (ofQ ? "q" : "kv") + ")");
  }
  return Status::success();
}

/// What pages ask of the rest of the problem.
static Status checkPages(const ForwardProblem &problem) {
  const SequenceLists &lists = problem.lists;
  if (!lists.inPages())
    return lists.pageLists ? invalidInput("page-lists need pages; say how many rows one has (page-size)")
                           : Status::success();
  if (lists.pageSize < 1 || lists.pageSize > kMaxPageSize)
    return invalidInput("page-size is " + std::to_string(lists.pageSize) + ", it must be 1 to " +
                        std::to_string(kMaxPageSize));
  if (lists.packedKv)
    return invalidInput("keys are packed and in pages; leave one of them out");
  if (!lists.pageLists && !lists.usedKv)
    return invalidInput("a table of pages does not say how many keys a sequence has; give lengths (used-kv), or lists "
                        "of pages, which do");
  if (problem.blocks.any())
    return invalidInput("block lists are of dense keys; leave them out where keys are in pages");
  return Status::success();
}

/// What is known of tables: as many numbers as they have, and none of a page that a sequence uses out of range.
static Status checkTables(const ForwardProblem &problem) {
  std::vector<PageTable> tables = pageTables(problem);
  for (const PageTable &table : tables) {
    auto found = problem.known.lists.find(table.name);
    if (found == problem.known.lists.end())
      continue;
    if (static_cast<int64_t>(found->second.size()) != saturatingMultiply(table.rows, table.extent))
      return invalidInput("'" + table.name + "' has " + std::to_string(found->second.size()) + " numbers, expected " +
                          std::to_string(saturatingMultiply(table.rows, table.extent)));
  }
  if (!std::all_of(tables.begin(), tables.end(),
                   [&](const PageTable &table) { return problem.known.lists.contains(table.name); }))
    return Status::success();
  std::string name = problem.lists.pageLists ? "kv_page_indices" : "block_table";
  for (int64_t sequence = 0; sequence != problem.batch && !tables.empty(); ++sequence) {
    std::string who = "sequence " + std::to_string(sequence);
    int64_t room = problem.tablePages;
    if (problem.lists.pageLists) {
      int64_t first = *knownOf(problem.known, "kv_indptr", sequence);
      int64_t end = *knownOf(problem.known, "kv_indptr", sequence + 1);
      int64_t last = *knownOf(problem.known, "kv_last_page_len", sequence);
      if (first < 0 || end < first || end > problem.tablePages)
        return invalidInput("'kv_indptr' gives " + who + " the pages from " + std::to_string(first) + " to behind " +
                            std::to_string(end) + ", of " + std::to_string(problem.tablePages) +
                            " there are; numbers must not descend");
      if (end > first && (last < 1 || last > problem.lists.pageSize))
        return invalidInput("'kv_last_page_len' gives " + who + " " + std::to_string(last) +
                            " rows of its last page, expected 1 to " + std::to_string(problem.lists.pageSize));
      room = end - first;
    }
    int64_t keys = problem.lengthsOf(sequence).kv;
    if (keys > problem.seqKv)
      return invalidInput(who + " has " + std::to_string(keys) + " keys, sequences have at most " +
                          std::to_string(problem.seqKv) + " (seq-kv)");
    int64_t pages = (keys + problem.lists.pageSize - 1) / problem.lists.pageSize;
    if (pages > room)
      return invalidInput(who + " has " + std::to_string(keys) + " keys in pages of " +
                          std::to_string(problem.lists.pageSize) + ", its table has " + std::to_string(room) +
                          " pages; give it more entries");
    for (int64_t index = 0; index != pages; ++index)
      if (int64_t page = problem.pageOf(sequence, index); page < 0 || page >= problem.numPages)
        return invalidInput("'" + name + "' has page " + std::to_string(page) + " for " + who + " at " +
                            std::to_string(index) + ", there are " + std::to_string(problem.numPages) +
                            " (num-pages)");
  }
  return Status::success();
}

static Status checkLists(const ForwardProblem &problem) {
  std::vector<PageTable> tables = pageTables(problem);
  for (const auto &[name, numbers] : problem.known.lists) {
    if (std::any_of(tables.begin(), tables.end(), [&, &name = name](const PageTable &table) { return table.name == name; }))
      continue;
    const auto *list = std::find_if(std::begin(kLists), std::end(kLists),
                                    [&](const SequenceList &list) { return list.tensor == name; });
    if (list == std::end(kLists))
      return invalidInput("there is no list '" + name +
                          "'; known are cu_seqlens_q, cu_seqlens_k, seqused_q and seqused_k" +
                          (tables.empty() ? "" : ", and the tables of pages"));
    if (Status status = checkList(problem, *list, numbers); !status.ok())
      return status;
  }
  return checkTables(problem);
}

static Status checkCaptured(const ForwardProblem &problem, const std::string &who,
                            const std::vector<CapturedTensor> &tensors, const manifest::Variables &variables);

/// Names of modifications, what they are called by, and what they take.
static Status checkModification(const ForwardProblem &problem, const Modification &modification,
                                const manifest::Variables &variables) {
  std::string who = "modification '" + modification.name + "'";
  for (const std::string &number : modification.numbers) {
    Result<manifest::Expression> expression = manifest::Expression::parse(number);
    Result<Value> value = expression.ok() ? expression->evaluate(variables) : expression.error();
    if (!value.ok())
      return invalidInput(who + " takes the number '" + number + "': " + value.error().message +
                          "; give the problem that number");
  }
  return checkCaptured(problem, who, modification.tensors, variables);
}

/// What `who` reads.
static Status checkCaptured(const ForwardProblem &problem, const std::string &who,
                            const std::vector<CapturedTensor> &tensors, const manifest::Variables &variables) {
  for (const CapturedTensor &tensor : tensors) {
    std::vector<int64_t> whole = wholeExtents(tensor, variables);
    for (size_t i = 0; i != whole.size(); ++i)
      if (whole[i] < 1)
        return invalidInput(who + " reads '" + tensor.name + "', whose extent '" +
                            tensor.sizes[i] + "' is no number from 1 on");
    auto given = problem.capturedExtents.find(tensor.name);
    if (given == problem.capturedExtents.end())
      continue;
    bool fits = given->second.size() == whole.size() && given->second.back() == whole.back();
    for (size_t i = 0; fits && i != whole.size(); ++i)
      fits = given->second[i] == whole[i] || given->second[i] == 1;
    if (fits)
      continue;
    auto list = [](const std::vector<int64_t> &extents) {
      std::string text;
      for (int64_t extent : extents)
        text += (text.empty() ? "" : " x ") + std::to_string(extent);
      return text;
    };
    return invalidInput("'" + tensor.name + "' is " + list(given->second) + ", " + who +
                        " reads " + list(whole) +
                        "; every extent but the last may be 1 instead");
  }
  return Status::success();
}

static Status checkModifications(const ForwardProblem &problem) {
  if (problem.modifications.empty() && problem.numbers.empty() && problem.capturedExtents.empty() &&
      !problem.blocks.any())
    return Status::success();
  for (auto [size, what] : {std::pair(problem.blocks.queries, "queries"), {problem.blocks.keys, "keys"}})
    if (problem.blocks.any() && size < 1)
      return invalidInput("blocks of " + std::to_string(size) + " " + what + " are asked for, expected at least 1");
  // What the problem says of itself cannot be said again.
  ForwardProblem bare = problem;
  bare.numbers.clear();
  manifest::Variables own = problemVariables(bare);
  for (const auto &[name, value] : problem.numbers)
    if (own.contains(name) || !std::isfinite(value))
      return invalidInput("number '" + name + "' " +
                          (own.contains(name) ? "is one of the problem's variables; call it otherwise"
                                              : "is not finite"));
  manifest::Variables variables = scalarVariables(problem);
  std::vector<std::string> names;
  for (const Modification &modification : problem.modifications) {
    if (std::find(names.begin(), names.end(), modification.name) != names.end())
      return invalidInput("there are two modifications '" + modification.name +
                          "'; give one of them another name");
    names.push_back(modification.name);
    if (Status status = checkModification(problem, modification, variables); !status.ok())
      return status;
  }
  if (problem.blocks.any())
    if (Status status = checkCaptured(problem, "a kernel with block lists", blockTensors(problem.blocks), variables);
        !status.ok())
      return status;
  std::vector<std::vector<CapturedTensor>> captured = capturedTensors(problem);
  for (const auto &[name, extents] : problem.capturedExtents)
    if (std::none_of(captured.begin(), captured.end(), [&](const std::vector<CapturedTensor> &tensors) {
          return std::any_of(tensors.begin(), tensors.end(),
                             [&](const CapturedTensor &tensor) { return tensor.name == name; });
        }))
      return invalidInput("extents are given for '" + name + "', which no modification reads");
  return Status::success();
}

Status attention::validate(const ForwardProblem &problem) {
  if (Status status = checkExtents(problem); !status.ok())
    return status;
  if (Status status = checkPages(problem); !status.ok())
    return status;
  if (Status status = checkLists(problem); !status.ok())
    return status;
  if (Status status = checkModifications(problem); !status.ok())
    return status;
  if (problem.dtype != DataType::BF16 && problem.dtype != DataType::FP16)
    return invalidInput("dtype is " + std::string(toString(problem.dtype)) +
                        "; use bf16 or fp16");
  std::vector<TensorSpec> tensors = problem.tensors();
  if (Status status = checkStrideNames(problem, tensors); !status.ok())
    return status;
  for (const TensorSpec &tensor : tensors)
    if (Status status = manifest::validate(tensor); !status.ok())
      return status;
  return Status::success();
}

/// A kernel that only tells "no mask" from "causal" must not take a third for one of them.
static int64_t causalVariable(Visibility mask) {
  return mask == Visibility() ? 0 : mask == Visibility::causal() ? 1 : 2;
}

/// The most keys that a row sees, as far as masks of fixed width say: windows, built in or shipped. For choosing kernels
/// only: a mask of one's own may have the name of one that is shipped.
static int64_t mostKeysOfRow(const ForwardProblem &problem) {
  auto number = [&](const char *name) {
    auto found = problem.numbers.find(name);
    double value = found == problem.numbers.end() ? -1 : found->second;
    return static_cast<int64_t>(std::clamp(value, -1.0, static_cast<double>(kMaxExtent)));
  };
  int64_t left = problem.visibility.kind().left, right = problem.visibility.kind().right, tokens = 0;
  for (const Modification &modification : problem.modifications) {
    bool hasTokens = modification.name == "window_with_sinks";
    if (modification.name != "window" && !hasTokens)
      continue;
    left = number("window_left");
    right = right < 0 ? number("window_right") : right;
    tokens = hasTokens ? std::max<int64_t>(number("sink_tokens"), 0) : 0;
  }
  return left < 0 || right < 0 ? problem.seqKv : std::min(problem.seqKv, left + 1 + right + tokens);
}

static manifest::Variables scalarVariables(const ForwardProblem &problem) {
  manifest::Variables variables = {
      {"batch", Value::integer(problem.batch)},
      {"heads", Value::integer(problem.heads)},
      {"kv_heads", Value::integer(problem.kvHeads)},
      {"seq_q", Value::integer(problem.seqQ)},
      {"seq_kv", Value::integer(problem.seqKv)},
      {"head_dim", Value::integer(problem.headDim)},
      {"head_dim_v", Value::integer(problem.headDimV)},
      {"causal", Value::integer(causalVariable(problem.visibility))},
      {"mask_left", Value::integer(problem.visibility.kind().left)},
      {"mask_right", Value::integer(problem.visibility.kind().right)},
      {"row_keys", Value::integer(mostKeysOfRow(problem))},
      {"scale", Value::real(problem.effectiveScale())},
      {"is_bf16", Value::integer(problem.dtype == DataType::BF16)},
      {"is_fp16", Value::integer(problem.dtype == DataType::FP16)},
      {"in_pages", Value::integer(problem.lists.inPages())},
      {"num_splits", Value::integer(std::max<int64_t>(problem.tuning.numSplits, 1))},
      {"dropout_threshold", Value::integer(problem.dropping.threshold())},
      {"dropout_keep", Value::real(1 - problem.dropping.probability)},
      {"dropout_seed", Value::integer(problem.dropping.seed)},
      {"dropout_offset", Value::integer(problem.dropping.offset)},
      {"full_blocks", Value::integer(problem.fullBlocks ? 1 : 0)},
      {"dropout_words", Value::integer(problem.dropping.inMemory ? kDropoutWords : 0)},
      {"element_bytes", Value::integer(bytesOf(problem.dtype))},
  };
  if (problem.lists.packedQ)
    variables.emplace("total_q", Value::integer(problem.totalQ));
  if (problem.lists.packedKv)
    variables.emplace("total_kv", Value::integer(problem.totalKv));
  if (problem.lists.inPages()) {
    variables.emplace("num_pages", Value::integer(problem.numPages));
    variables.emplace("page_size", Value::integer(problem.lists.pageSize));
    variables.emplace(problem.lists.pageLists ? "total_pages" : "max_pages", Value::integer(problem.tablePages));
  }
  for (const auto &[name, value] : problem.numbers) {
    bool isWhole = std::nearbyint(value) == value && std::abs(value) < 0x1p53;
    variables.emplace(name, isWhole ? Value::integer(static_cast<int64_t>(value))
                                    : Value::real(value));
  }
  return variables;
}

manifest::Variables attention::problemVariables(const ForwardProblem &problem,
                                                const manifest::Addresses *addresses) {
  manifest::Variables variables = scalarVariables(problem);
  std::vector<TensorSpec> tensors = problem.tensors();
  for (const TensorSpec &tensor : tensors)
    if (tensor.role == TensorRole::Output)
      variables["want_" + tensor.name] = Value::integer(tensor.wanted);
  addVariables(variables, tensors);
  if (addresses)
    addAddresses(variables, tensors, *addresses);
  return variables;
}
