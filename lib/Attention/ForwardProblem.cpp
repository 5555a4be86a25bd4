// Shapes, and the rules that hold for every kernel.
#include "Attention/ProblemParts.h"

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
/// Beyond, a product of 1 would be a score outside of the range of docs/Accuracy.md: 2^26 ln 2,
/// rounded.
static constexpr double kMaxScale = 4.65e7;
/// Kernels reach pools of pages of less by offsets of 32 bits.
static constexpr uint64_t kNearPoolBytes = uint64_t(1) << 31;
/// Of the random bytes of dropout.
static constexpr int64_t kLargestByte = 255;
/// Halves of a seed and of an offset.
static constexpr int64_t kDropoutWords = 4;
/// Rows that a kernel may treat as one tile.
static constexpr int64_t kTileRows = 256;

static constexpr ForwardFlag kFlags[] = {
#define HOCKET_FLAG(name, member, option, help) {option, &ForwardSemantics::member},
#include "hocket/Attention/ProblemFields.def"
};

std::span<const ForwardFlag> attention::forwardFlags() { return kFlags; }

/// "_rows64_keys128_channels", with other words in front of each.
static std::string describeBlocks(const DescaleBlocks &blocks, const std::string &in) {
  std::string text;
  if (blocks.rows != 0)
    text += in + "rows" + std::to_string(blocks.rows);
  if (blocks.keys != 0)
    text += in + "keys" + std::to_string(blocks.keys);
  if (blocks.values != 0)
    text += in + "values" + std::to_string(blocks.values);
  return blocks.channels ? text + in + "channels" : text;
}

std::string ForwardSemantics::kernelSuffix() const {
  std::string text = "d" + std::to_string(headDim);
  if (valueHeadDim() != headDim)
    text += "x" + std::to_string(valueHeadDim());
  text += "_" + optionName(dtype) + "_" + std::string(visibility.name());
  if (descale)
    text += "_descale" + describeBlocks(descaleBlocks, "_");
  if (outputScale)
    text += "_output_scale";
  if (sink)
    text += "_sink";
  for (const SequenceList &list : sequenceLists())
    if (lists.*list.value)
      text += "_" + std::string(list.clause);
  if (lists.inPages())
    text += (lists.pageLists ? "_page_lists" : "_pages") + std::to_string(lists.pageSize) + (lists.farPages ? "_far" : "") +
            (lists.vectorPages ? "_vectors" : "");
  if (update.appends && !lists.pageLists)
    text += "_appended_keys";
  if (work.any())
    text += work.slices ? "_work_slices" : "_work";
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

static constexpr std::string_view kPageLayouts[] = {"nhd", "hnd", "vectorised"};

std::string_view attention::toString(PageLayout layout) { return kPageLayouts[static_cast<size_t>(layout)]; }

Result<PageLayout> attention::parsePageLayout(std::string_view text) {
  for (PageLayout layout : {PageLayout::NHD, PageLayout::HND, PageLayout::Vectorised})
    if (text == toString(layout))
      return layout;
  return invalidInput("page layout '" + std::string(text) + "' is not known; use nhd, hnd or vectorised");
}

static constexpr std::string_view kRotaries[] = {"none", "interleaved", "half"};

std::string_view attention::toString(Rotary rotary) { return kRotaries[static_cast<size_t>(rotary)]; }

Result<Rotary> attention::parseRotary(std::string_view text) {
  for (Rotary rotary : {Rotary::None, Rotary::Interleaved, Rotary::Half})
    if (text == toString(rotary))
      return rotary;
  return invalidInput("rotary '" + std::string(text) + "' is not known; use none, interleaved or half");
}

ElementType ForwardSemantics::typeOf(std::string_view tensor) const {
  bool isAsStored = update.asStored && (tensor == "k_new" || tensor == "v_new");
  return dtype.of(isAsStored ? tensor.substr(0, 1) : tensor);
}

bool ForwardSemantics::isMasked() const {
  return visibility != Visibility() ||
         std::any_of(modifications.begin(), modifications.end(),
                     [](const Modification &modification) { return modification.isMask; });
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

/// A number for each key of each head, of keys that follow one another or of pages.
static TensorSpec numbersOfKeys(const ForwardProblem &problem, const std::string &name) {
  const SequenceLists &lists = problem.lists;
  if (lists.inPages()) {
    auto given = problem.strides.find(name);
    const TensorStrides at = given != problem.strides.end() ? given->second
                                                            : denseStrides(Layout::BSHD, lists.pageSize, problem.kvHeads, 1);
    return {name, TensorRole::Input, ElementType::F32, 1,
            {{"page", name + "_stride_b", problem.numPages, at.batch},
             {"sequence", name + "_stride_s", lists.pageSize, at.sequence},
             {"head", name + "_stride_h", problem.kvHeads, at.head}}};
  }
  const int64_t rows = lists.packedKv ? problem.totalKv : problem.seqKv;
  TensorSpec spec{name, TensorRole::Input, ElementType::F32, rows,
                  {{"batch", name + "_stride_b", problem.batch, saturatingMultiply(problem.kvHeads, rows)},
                   {"head", name + "_stride_h", problem.kvHeads, rows}}, true, /*strided=*/false};
  if (lists.packedKv)
    spec.dimensions.erase(spec.dimensions.begin());
  return spec;
}

static void addDescales(const ForwardProblem &problem, std::vector<TensorSpec> &list) {
  const DescaleBlocks &blocks = problem.descaleBlocks;
  auto add = [&](const std::string &name, int64_t heads, int64_t count) {
    TensorSpec numbers{name, TensorRole::Input, ElementType::F32, count == 0 ? heads : count,
                       {{"batch", name + "_stride_b", problem.batch, saturatingMultiply(heads, std::max<int64_t>(count, 1))}}, true,
                       /*strided=*/false};
    if (count != 0)
      numbers.dimensions.push_back({"head", name + "_stride_h", heads, count});
    list.push_back(std::move(numbers));
  };
  auto blocksOf = [](int64_t rows, int64_t size) { return size == 0 ? 0 : (rows + size - 1) / size; };
  add("q_descale", blocks.rows != 0 ? problem.heads : problem.kvHeads, blocksOf(problem.seqQ, blocks.rows));
  if (blocks.keys == 1)
    list.push_back(numbersOfKeys(problem, "k_descale"));
  else
    add("k_descale", problem.kvHeads, blocksOf(problem.seqKv, blocks.keys));
  if (blocks.values != 0)
    list.push_back(numbersOfKeys(problem, "v_descale"));
  else
    add("v_descale", problem.kvHeads, blocks.channels ? problem.valueHeadDim() : 0);
}

/// Words of scales of each row; where rows are packed there is no batch.
static void addBlockScales(const ForwardProblem &problem, std::vector<TensorSpec> &list) {
  constexpr int64_t perWord = kMxBlock * 4;
  const int64_t words = (problem.headDim + perWord - 1) / perWord;
  auto add = [&](const std::string &name, int64_t heads, bool isPacked, int64_t rows) {
    int64_t ofHead = saturatingMultiply(words, rows);
    TensorSpec scales{name, TensorRole::Input, ElementType::I32, words,
                      {{"batch", name + "_stride_b", problem.batch, saturatingMultiply(heads, ofHead)},
                       {"head", name + "_stride_h", heads, ofHead},
                       {"sequence", name + "_stride_s", rows, words}}, true, /*strided=*/false};
    if (isPacked)
      scales.dimensions.erase(scales.dimensions.begin());
    list.push_back(std::move(scales));
  };
  const SequenceLists &lists = problem.lists;
  add("q_scale", problem.heads, lists.packedQ, lists.packedQ ? problem.totalQ : problem.seqQ);
  add("k_scale", problem.kvHeads, lists.packedKv, lists.packedKv ? problem.totalKv : problem.seqKv);
  if (!problem.hasValueScales())
    return;
  const int64_t dim = problem.valueHeadDim(), tiles = (problem.seqKv + perWord - 1) / perWord, ofHead = saturatingMultiply(tiles, dim);
  list.push_back({"v_scale", TensorRole::Input, ElementType::I32, dim,
                  {{"batch", "v_scale_stride_b", problem.batch, saturatingMultiply(problem.kvHeads, ofHead)},
                   {"head", "v_scale_stride_h", problem.kvHeads, ofHead},
                   {"block", "v_scale_stride_s", tiles, dim}}, true, /*strided=*/false});
}

/// V of 4 bits has scales of 32 keys of a sequence.
static Status checkValueScales(const ForwardProblem &problem) {
  constexpr int64_t unit = 64;
  if (!problem.hasValueScales())
    return Status::success();
  if (problem.valueHeadDim() % unit != 0)
    return unsupported("head-dim-v is " + std::to_string(problem.valueHeadDim()) + " with V of f4e2m1, which has multiples of " +
                       std::to_string(unit) + "; pad heads of V with zeros");
  if (problem.lists.packedKv)
    return unsupported("scales of V of f4e2m1 are of 32 keys of a sequence, and keys are packed; give V f8e4m3, or keys a batch");
  if (problem.descaleBlocks.values != 0)
    return unsupported("scales of V of f4e2m1 are of 32 keys, and each value has a number (descale-values); leave one of them out");
  if (problem.dropout)
    return unsupported("weights are dropped, and those beside V of f4e2m1 are rounded to 4 bits at once; give V f8e4m3, or leave "
                       "dropout out");
  return Status::success();
}

static Status checkBlockScales(const ForwardProblem &problem) {
  constexpr int64_t unit = 64;
  if (problem.hasValueScales() && !problem.mxScales)
    return unsupported("dtype of v is f4e2m1, whose numbers have scales of blocks; give these, too (mx)");
  if (Status status = checkValueScales(problem); !status)
    return status;
  const auto tensors = {std::pair("q", problem.dtype.q), {"k", problem.dtype.k}};
  for (auto [tensor, type] : tensors)
    if (type == ElementType::F4E2M1 && !problem.mxScales)
      return unsupported("dtype of " + std::string(tensor) + " is f4e2m1, whose numbers have scales of blocks; give these, too (mx)");
  if (!problem.mxScales)
    return Status::success();
  for (auto [tensor, type] : tensors)
    if (infoOf(type).bits > 8 || !infoOf(type).isFloat())
      return unsupported("mx scales multiply floats of 8 and 4 bits, and dtype of " + std::string(tensor) + " is " +
                         std::string(optionName(type)) + "; use f8e4m3 or f4e2m1_v_f8e4m3, or leave mx out");
  if (problem.headDim % unit != 0)
    return unsupported("head-dim is " + std::to_string(problem.headDim) + " with mx scales, which are of multiples of " +
                       std::to_string(unit) + "; pad heads of Q and K with zeros");
  if (problem.lists.inPages())
    return unsupported("mx scales are of keys that follow one another, and there are pages; give keys packed or dense, or use "
                       "descales (descale)");
  if (problem.update.appends || problem.update.turns())
    return unsupported("mx scales are those of all keys, and new ones are appended or turned; quantise keys before, and leave "
                       "append and rotary out");
  if (problem.work.any())
    return unsupported("a list of work has rows of several heads, and mx scales are of one; leave one of them out");
  return Status::success();
}

static Status checkDescales(const ForwardProblem &problem) {
  constexpr int64_t unit = 32;
  const DescaleBlocks &blocks = problem.descaleBlocks;
  if (!blocks.any())
    return Status::success();
  if (!problem.descale)
    return invalidInput("descale-rows, descale-keys, descale-values and descale-channels say whose numbers descales are, and there "
                        "are none; give such (descale)");
  auto checkSize = [&](const std::string &name, int64_t size, bool mayBeOne) {
    if ((size >= 0 && size % unit == 0 && size <= kMaxExtent) || (size == 1 && mayBeOne))
      return Status::success();
    return Status(unsupported(name + " is " + std::to_string(size) + ", which no kernel takes; use a multiple of " +
                              std::to_string(unit) + (mayBeOne ? ", 1" : "") + ", or 0 for one number a KV head"));
  };
  if (Status status = checkSize("descale-rows", blocks.rows, /*mayBeOne=*/false); !status.ok())
    return status;
  if (Status status = checkSize("descale-keys", blocks.keys, /*mayBeOne=*/true); !status.ok())
    return status;
  if (blocks.values < 0 || blocks.values > 1)
    return unsupported("descale-values is " + std::to_string(blocks.values) +
                       ", which no kernel takes; use 1 for a number for each value, or 0 for one a KV head");
  if (blocks.values != 0 && blocks.channels)
    return invalidInput("v_descale has a number for each value (descale-values) or for each element of a head (descale-channels), "
                        "and not both; leave one of them out");
  if (problem.update.appends && !problem.update.asStored && (blocks.keys != 0 || blocks.values != 0 || blocks.channels))
    return unsupported("new keys are divided by one number a KV head; quantise them and append them as they are stored "
                       "(append-as-stored), or give k_descale and v_descale a number a KV head");
  if (problem.work.any() && blocks.rows != 0)
    return unsupported("a list of work has rows of several heads, and descale-rows is of one; leave one of them out");
  return Status::success();
}

/// A tensor of `sequence` rows of `perSequence` heads of `dim` elements.
static TensorSpec rowsOfHeads(const ForwardProblem &problem, const char *name, TensorRole role, bool isPacked,
                              int64_t sequence, int64_t perSequence, int64_t dim) {
  auto given = problem.strides.find(name);
  const ElementType type = problem.typeOf(name);
  dim = countInMemory(type, dim);
  TensorStrides at = given != problem.strides.end() ? given->second
                                                    : denseStrides(problem.layout, sequence, perSequence, dim);
  // Kernels work on blocks of rows: those behind the only one must not lie within it.
  if (sequence == 1)
    at.sequence = std::max(at.sequence, dim);
  std::string stride = std::string(name) + "_stride_";
  TensorSpec spec{name, role, inMemory(type), dim,
                  {{"batch", stride + "b", problem.batch, at.batch},
                   {"head", stride + "h", perSequence, at.head},
                   {"sequence", stride + "s", sequence, at.sequence, kTileRows}}};
  if (isPacked)
    spec.dimensions.erase(spec.dimensions.begin());
  return spec;
}

/// Appends what is written to a cache, and what it is turned by.
static void addUpdate(const ForwardProblem &problem, std::vector<TensorSpec> &list) {
  if (problem.update.appends)
    for (auto [name, dim] : {std::pair("k_new", problem.headDim), {"v_new", problem.valueHeadDim()}})
      list.push_back(rowsOfHeads(problem, name, TensorRole::Input, problem.lists.packedQ,
                                 problem.lists.packedQ ? problem.totalQ : problem.newRows, problem.kvHeads, dim));
  if (!problem.update.turns())
    return;
  int64_t angles = problem.update.rotaryDim / 2;
  for (std::string name : {"rotary_cos", "rotary_sin"})
    list.push_back({name, TensorRole::Input, problem.typeOf(name), angles,
                    {{"position", name + "_stride_p", problem.positions, angles}}, true, /*strided=*/false});
}

/// The list of work.
static TensorSpec workList(const ForwardProblem &problem, TensorRole role) {
  TensorSpec spec{"work_list", role, ElementType::I32, kWorkFields,
                  {{"entry", "work_list_stride", saturatingAdd(mostWorkEntries(problem), 1), kWorkFields}}, true,
                  /*strided=*/false};
  spec.columns = workNumbers(problem);
  return spec;
}

std::vector<TensorSpec> ForwardProblem::temporaries() const {
  std::vector<TensorSpec> list;
  if (update.turns())
    list.push_back(rowsOfHeads(*this, "q_rotated", TensorRole::Output, lists.packedQ, lists.packedQ ? totalQ : seqQ,
                               heads, headDim));
  if (work.list == WorkLists::Made)
    list.push_back(workList(*this, TensorRole::Output));
  return list;
}

std::vector<TensorSpec> ForwardProblem::tensors() const {
  auto tensor = [&](const char *name, TensorRole role, bool isPacked, int64_t sequence,
                    int64_t perSequence, int64_t dim) {
    return rowsOfHeads(*this, name, role, isPacked, sequence, perSequence, dim);
  };
  // The batch counts pages, the sequence their rows.
  auto pool = [&](const char *name, int64_t elements) {
    const int64_t dim = countInMemory(dtype.of(name), elements);
    auto given = strides.find(name);
    Layout order = pageLayout == PageLayout::NHD ? Layout::BSHD : Layout::BHSD;
    TensorStrides at =
        given != strides.end() ? given->second : denseStrides(order, lists.pageSize, kvHeads, dim);
    std::string stride = std::string(name) + "_stride_";
    return TensorSpec{name, TensorRole::Input, inMemory(dtype.of(name)), dim,
                      {{"page", stride + "b", numPages, at.batch},
                       {"head", stride + "h", kvHeads, at.head},
                       {"sequence", stride + "s", lists.pageSize, at.sequence}}};
  };
  auto keys = [&](const char *name, int64_t dim) {
    return lists.inPages() ? pool(name, dim)
                           : tensor(name, TensorRole::Input, lists.packedKv, lists.packedKv ? totalKv : seqKv,
                                    kvHeads, dim);
  };
  TensorSpec lse{"lse", TensorRole::Output, ElementType::F32, seqQ,
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
      keys("k", headDim), keys("v", valueHeadDim()),
      tensor("o", TensorRole::Output, lists.packedQ, rowsQ, heads, valueHeadDim()), std::move(lse)};
  if (descale)
    addDescales(*this, list);
  if (outputScale)
    list.push_back({"output_scale", TensorRole::Input, ElementType::F32, 1, {}, true, /*strided=*/false});
  if (mxScales)
    addBlockScales(*this, list);
  if (sink)
    list.push_back({"sink", TensorRole::Input, ElementType::F32, heads, {}, true, /*strided=*/false});
  for (const SequenceList &entry : sequenceLists())
    if (lists.*entry.value)
      list.push_back({std::string(entry.tensor), TensorRole::Input, ElementType::I32,
                      saturatingAdd(batch, hasFirstRows(entry)), {}, true, /*strided=*/false,
                      numbersOf(*this, entry)});
  for (auto &[name, extent, rows, numbers] : pageTables(*this)) {
    TensorSpec table{name, TensorRole::Input, ElementType::I32, extent, {}, true, /*strided=*/false, numbers};
    if (rows > 1 || name == "block_table")
      table.dimensions = {{"batch", name + "_stride_b", rows, extent}};
    list.push_back(std::move(table));
  }
  addUpdate(*this, list);
  if (work.list == WorkLists::Given)
    list.push_back(workList(*this, TensorRole::Input));
  if (dropout)
    list.push_back({"dropout_state", TensorRole::Input, ElementType::I32, kDropoutWords, {}, dropping.inMemory,
                    /*strided=*/false});
  addCaptured(*this, list);
  return list;
}

ForwardSemantics ForwardProblem::semantics() const {
  ForwardSemantics result = *this;
  result.headDimV = valueHeadDim();
  result.lists.vectorPages |= lists.inPages() && pageLayout == PageLayout::Vectorised;
  for (std::string_view pool : {"k", "v"})
    result.lists.farPages |= lists.inPages() && tensor(pool).spanBytes() >= kNearPoolBytes;
  return result;
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

std::string attention::shortest(double value) {
  char text[32];
  auto end = std::to_chars(text, text + sizeof(text), value).ptr;
  return std::string(text, end);
}

/// An extent where it is not said: 0 where that is its `initial`.
static int64_t orOtherwise(int64_t value, int64_t initial, int64_t otherwise) {
  return value == 0 && initial == 0 ? otherwise : value;
}

/// " B1 H8/2 Sq1000 Skv1000 D128".
static std::string describeExtents(const ForwardProblem &problem) {
  std::string text;
  auto add = [&](std::string_view spelled, int64_t value, int64_t otherwise) {
    if (spelled != "/" || value != otherwise)
      text += std::string(spelled) + std::to_string(value);
  };
#define HOCKET_EXTENT(name, member, initial, otherwise, spelled, option, meta, help)                                   \
  add(spelled, orOtherwise(problem.member, initial, otherwise), otherwise);
#include "hocket/Attention/ProblemFields.def"
  return text;
}

std::string ForwardProblem::describe() const {
  std::string text = optionName(dtype) + describeExtents(*this);
  if (visibility != Visibility())
    text += " " + std::string(visibility.name());
  text += " " + std::string(toString(layout));
  for (const SequenceList &list : sequenceLists())
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
#define HOCKET_COUNT(name, member, option, meta, help, when)                                                           \
  if (member != 0)                                                                                                     \
    text += " " option + std::to_string(member);
#include "hocket/Attention/ProblemFields.def"
  if (update.appends)
    text += " append" + std::to_string(newRows) + (update.asStored ? "+as-stored" : "");
  if (update.turns())
    text += " rotary-" + std::string(toString(update.rotary)) + std::to_string(update.rotaryDim) + "x" +
            std::to_string(positions);
  if (work.any())
    text += std::string(" work-list") + (work.list == WorkLists::Made ? "+made" : "") + (work.slices ? "+slices" : "") +
            std::to_string(workSlots);
  for (const TensorSpec &tensor : tensors())
    if (auto given = strides.find(tensor.name); given != strides.end())
      text += " " + tensor.name + "=" + std::to_string(given->second.batch) + "," +
              std::to_string(given->second.sequence) + "," + std::to_string(given->second.head);
  if (scale)
    text += " scale=" + shortest(*scale);
  for (const ForwardFlag &flag : kFlags)
    if (this->*flag.value)
      text += " " + std::string(flag.name);
  if (descale)
    text += " descale" + describeBlocks(descaleBlocks, "-");
  if (outputScale)
    text += " output-scale";
  if (sink)
    text += " sink";
  if (dropout)
    text += " dropout=" + shortest(dropping.probability) + "," + std::to_string(dropping.seed) + "," +
            std::to_string(dropping.offset) + (dropping.inMemory ? "+memory" : "");
  if (blocks.any())
    text += " blocks=" + std::to_string(blocks.queries) + "x" + std::to_string(blocks.keys) +
            (fullBlocks ? "+full" : "") + (makesBlocks ? "+made" : "");
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
      {"head-dim-v", problem.valueHeadDim(), kMaxHeadDim}, {"num-pages", problem.numPages, kMaxRowNumber},
      {"table-pages", problem.tablePages, kMaxRowNumber}, {"append", problem.newRows, kMaxRowNumber},
      {"positions", problem.positions, kMaxExtent},
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

Status attention::validate(const ForwardProblem &problem) {
  if (Status status = checkExtents(problem); !status.ok())
    return status;
  // Types and scales come first: elements of 4 bits, which have no whole bytes, are in no pages.
  if (Status status = attention::validate(problem.dtype); !status.ok())
    return status;
  if (Status status = checkBlockScales(problem); !status.ok())
    return status;
  if (Status status = checkPages(problem); !status.ok())
    return status;
  if (Status status = checkUpdate(problem); !status.ok())
    return status;
  if (Status status = checkDescales(problem); !status.ok())
    return status;
  if (Status status = checkLists(problem); !status.ok())
    return status;
  if (Status status = checkWork(problem); !status.ok())
    return status;
  if (Status status = checkModifications(problem); !status.ok())
    return status;
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

/// Windows, built in or shipped. A mask of one's own may have the name of one that is shipped.
int64_t attention::mostKeysOfRow(const ForwardProblem &problem) {
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

/// Masks that capture numbers alone; beside no lists also those that capture tensors. No schedule of few registers has
/// room for both.
static bool isCheapMask(const ForwardProblem &problem, const Modification &of) {
  return of.isMask && (of.tensors.empty() || !problem.blocks.any());
}

/// Whether scores and weights are those of the plain formula, some of them hidden.
static bool hasPlainScores(const ForwardProblem &problem) {
  return !problem.dropout && std::all_of(problem.modifications.begin(), problem.modifications.end(),
                                         [&](const Modification &of) { return isCheapMask(problem, of); });
}

/// Whether scores are changed by nothing but numbers: that costs instructions, but few registers.
static bool readsNumbersAlone(const ForwardProblem &problem) {
  return !problem.dropout &&
         std::all_of(problem.modifications.begin(), problem.modifications.end(), [&](const Modification &of) {
           return of.tensors.empty() || isCheapMask(problem, of);
         });
}

/// Whether scores are changed by a number for each query and key, which each tile loads, and by nothing that costs more.
static bool hasBias(const ForwardProblem &problem) {
  auto isMatrix = [](const CapturedTensor &of) {
    return of.sizes.size() >= 2 && of.sizes.back() == "seq_kv" && of.sizes[of.sizes.size() - 2] == "seq_q";
  };
  return !problem.dropout && std::any_of(problem.modifications.begin(), problem.modifications.end(), [&](const auto &of) {
    return !of.isMask && std::any_of(of.tensors.begin(), of.tensors.end(), isMatrix);
  });
}

/// How often scores need the transcendental unit beside their exponentials; 0 with dropout, whose bits cost more. Texts are
/// as the compiler prints them: one op a line.
static int64_t powersOfScores(const ForwardProblem &problem) {
  constexpr std::string_view kOps[] = {"= math.exp",  "= math.log", "= math.sqrt", "= math.rsqrt", "= math.sin",
                                       "= math.cos",  "= math.tanh", "= math.erf", "= math.powf",  "= arith.divf"};
  if (problem.dropout)
    return 0;
  int64_t count = 0;
  for (const Modification &of : problem.modifications) {
    if (of.isMask)
      continue;
    for (std::string_view op : kOps)
      for (size_t at = of.text.find(op); at != std::string::npos; at = of.text.find(op, at + 1))
        ++count;
  }
  return count;
}

/// Tensors that masks read, as documents do: every tile loads them and compares.
static int64_t tensorsOfMasks(const ForwardProblem &problem) {
  int64_t count = 0;
  for (const Modification &of : problem.modifications)
    count += of.isMask ? static_cast<int64_t>(of.tensors.size()) : 0;
  return count;
}

manifest::Variables attention::scalarVariables(const ForwardProblem &problem) {
  manifest::Variables variables = {
#define HOCKET_EXTENT(name, member, initial, otherwise, spelled, option, meta, help)                                   \
  {#name, Value::integer(orOtherwise(problem.member, initial, otherwise))},
#include "hocket/Attention/ProblemFields.def"
      {"causal", Value::integer(causalVariable(problem.visibility))},
      {"mask_left", Value::integer(problem.visibility.kind().left)},
      {"mask_right", Value::integer(problem.visibility.kind().right)},
      {"row_keys", Value::integer(mostKeysOfRow(problem))},
      {"plain_scores", Value::integer(hasPlainScores(problem))},
      {"number_scores", Value::integer(readsNumbersAlone(problem))},
      {"bias", Value::integer(hasBias(problem))},
      {"score_mods", Value::integer(std::count_if(problem.modifications.begin(), problem.modifications.end(),
                                                  [](const Modification &of) { return !of.isMask; }))},
      {"score_powers", Value::integer(powersOfScores(problem))},
      {"mask_tensors", Value::integer(tensorsOfMasks(problem))},
      {"block_queries", Value::integer(problem.blocks.any() ? problem.blocks.queries : 0)},
      {"scale", Value::real(problem.effectiveScale())},
      {"in_pages", Value::integer(problem.lists.inPages())},
      {"vector_pages", Value::integer(problem.lists.inPages() && problem.pageLayout == PageLayout::Vectorised)},
      {"num_splits", Value::integer(std::max<int64_t>(problem.tuning.numSplits, 1))},
      {"dropout_threshold", Value::integer(problem.dropping.threshold())},
      {"dropout_keep", Value::real(1 - problem.dropping.probability)},
      {"dropout_seed", Value::integer(problem.dropping.seed)},
      {"dropout_offset", Value::integer(problem.dropping.offset)},
      {"full_blocks", Value::integer(problem.fullBlocks ? 1 : 0)},
      {"descale_keys", Value::integer(problem.descaleBlocks.keys)},
      {"descale_values", Value::integer(problem.descaleBlocks.values)},
      {"dropout_words", Value::integer(problem.dropping.inMemory ? kDropoutWords : 0)},
  };
  if (problem.blocks.any()) {
    auto extents = problem.capturedExtents.find("kv_indices");
    bool isGiven = extents != problem.capturedExtents.end() && extents->second.size() > 1;
    variables.emplace("block_batch", Value::integer(isGiven ? extents->second[0] : problem.batch));
    variables.emplace("block_heads", Value::integer(isGiven ? extents->second[1] : problem.heads));
  }
  if (problem.work.any()) {
    variables.emplace("work_entries", Value::integer(mostWorkEntries(problem)));
    variables.emplace("work_parts", Value::integer(mostWorkParts(problem)));
    variables.emplace("work_slots", Value::integer(problem.workSlots));
  }
#define HOCKET_COUNT(name, member, option, meta, help, when)                                                           \
  if (when)                                                                                                            \
    variables.emplace(#name, Value::integer(problem.member));
#include "hocket/Attention/ProblemFields.def"
  if (problem.lists.packedQ)
    variables.emplace("total_q", Value::integer(problem.totalQ));
  if (problem.lists.packedKv)
    variables.emplace("total_kv", Value::integer(problem.totalKv));
  if (problem.lists.inPages()) {
    variables.emplace("num_pages", Value::integer(problem.numPages));
    variables.emplace("page_size", Value::integer(problem.lists.pageSize));
    variables.emplace(problem.lists.pageLists ? "total_pages" : "max_pages", Value::integer(problem.tablePages));
  }
  if (problem.update.appends)
    variables.emplace("new_rows", Value::integer(problem.newRows));
  if (problem.update.turns())
    variables.emplace("positions", Value::integer(problem.positions));
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
  std::vector<TensorSpec> between = problem.temporaries();
  tensors.insert(tensors.end(), between.begin(), between.end());
  addVariables(variables, tensors);
  if (addresses)
    addAddresses(variables, tensors, *addresses);
  return variables;
}
