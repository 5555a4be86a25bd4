// Rows of sequences, numbered.
#include "Verify/Attention/RowNumbers.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::attention;

RowNumbers::RowNumbers(const ForwardProblem &problem)
    : lists(problem.lists), pageLayout(problem.pageLayout), common(problem.lengths()), batch(problem.batch), heads(problem.heads),
      kvHeads(problem.kvHeads), firstQueries{0}, firstKeys{0} {
  if (isDense())
    return;
  for (int64_t sequence = 0; sequence != problem.batch; ++sequence) {
    Lengths own = problem.lengthsOf(sequence);
    lengths.push_back(own);
    firstRows.push_back(problem.firstRowsOf(sequence));
    firstQueries.push_back(firstQueries.back() + heads * own.q);
    firstKeys.push_back(firstKeys.back() + kvHeads * own.kv);
    if (!lists.inPages())
      continue;
    auto &ownPages = pages.emplace_back();
    for (int64_t key = 0; key < own.kv; key += lists.pageSize)
      ownPages.push_back(problem.pageOf(sequence, key / lists.pageSize));
  }
}

RowNumbers::Place RowNumbers::query(int64_t row) const {
  if (isDense()) {
    int64_t group = row / common.q;
    return {group / heads, group % heads, row % common.q};
  }
  // The last sequence that begins at or before it: those without rows begin where the next one does.
  auto behind = std::upper_bound(firstQueries.begin(), firstQueries.end(), row);
  int64_t sequence = behind - firstQueries.begin() - 1;
  int64_t within = row - firstQueries[sequence];
  return {sequence, within / lengths[sequence].q, within % lengths[sequence].q};
}

static constexpr std::string_view kOfQueries[] = {"q", "q_rotated", "o", "dq", "do", "lse", "dlse"},
                                  kOfKeys[] = {"k", "v", "dk", "dv"};

static bool isOneOf(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// LSE, or its gradient.
static bool isOfLse(const manifest::TensorSpec &tensor) { return tensor.name == "lse" || tensor.name == "dlse"; }

bool RowNumbers::hasRowsOf(std::string_view name) {
  return isOneOf(kOfQueries, name) || isOneOf(kOfKeys, name);
}

std::vector<manifest::TensorSpec> RowNumbers::rowByRow(const ForwardProblem &problem,
                                                       std::vector<manifest::TensorSpec> tensors) {
  if (problem.lists.any())
    for (manifest::TensorSpec &spec : tensors)
      if (isOfLse(spec))
        spec.rowElements = 1;
  return tensors;
}

int64_t RowNumbers::placeInPage(const manifest::TensorSpec &tensor, int64_t slot, int64_t stride) const {
  if (pageLayout != PageLayout::Vectorised)
    return slot * stride;
  int64_t vector = vectorElements(tensor.type);
  if (tensor.name == "k")
    return slot * vector;
  return slot / vector * vector * tensor.rowElements + slot % vector;
}

verify::RowPieces RowNumbers::pieces(const manifest::TensorSpec &tensor) const {
  if (!lists.inPages() || pageLayout != PageLayout::Vectorised || !isOneOf(kOfKeys, tensor.name))
    return {};
  uint64_t element = bytesOf(tensor.type), vector = vectorElements(tensor.type) * element;
  if (tensor.name == "k")
    return {vector, vector * static_cast<uint64_t>(lists.pageSize)};
  return {element, vector};
}

std::vector<uint64_t> RowNumbers::offsets(const manifest::TensorSpec &tensor) const {
  if (isDense() || !hasRowsOf(tensor.name))
    return tensor.rowOffsets();
  bool ofKeys = isOneOf(kOfKeys, tensor.name), isLse = isOfLse(tensor);
  bool isPacked = ofKeys ? lists.packedKv : lists.packedQ;
  auto strideOf = [&](std::string_view dimension) -> int64_t {
    for (const manifest::TensorDimension &known : tensor.dimensions)
      if (known.name == dimension)
        return known.stride;
    return isLse && dimension == "sequence" ? 1 : 0;
  };
  int64_t ofBatch = strideOf(ofKeys && lists.inPages() ? "page" : "batch"), head = strideOf("head"), row = strideOf("sequence");
  std::vector<uint64_t> result;
  result.reserve(static_cast<size_t>(ofKeys ? keys() : queries()));
  for (int64_t sequence = 0; sequence != sequences(); ++sequence) {
    int64_t first = ofKeys ? firstRows[sequence].kv : firstRows[sequence].q;
    int64_t count = ofKeys ? of(sequence).kv : of(sequence).q;
    if (ofKeys && lists.inPages()) {
      for (int64_t h = 0; h != kvHeads; ++h)
        for (int64_t position = 0; position != count; ++position)
          result.push_back(static_cast<uint64_t>(pages[sequence][position / lists.pageSize] * ofBatch + h * head +
                                                 placeInPage(tensor, position % lists.pageSize, row)) *
                           bytesOf(tensor.type));
      continue;
    }
    int64_t begin = isPacked ? first * row : sequence * ofBatch;
    for (int64_t h = 0; h != (ofKeys ? kvHeads : heads); ++h)
      for (int64_t position = 0; position != count; ++position)
        result.push_back(static_cast<uint64_t>(begin + h * head + position * row) *
                         bytesOf(tensor.type));
  }
  return result;
}

Status attention::checkKnown(const ForwardProblem &problem) {
  auto unknown = [](std::string_view name) {
    return invalidInput("the content of '" + std::string(name) +
                        "' is not known, and so not what would be right; say it in 'known'");
  };
  for (const SequenceList &list : sequenceLists())
    if (problem.lists.*list.value && !problem.known.lists.contains(list.tensor))
      return unknown(list.tensor);
  if (problem.work.list == WorkLists::Given && !problem.known.lists.contains("work_list"))
    return unknown("work_list");
  for (std::string_view table : {"block_table", "kv_indptr", "kv_page_indices", "kv_last_page_len"})
    for (const manifest::TensorSpec &spec : problem.tensors())
      if (spec.name == table && !problem.known.lists.contains(table))
        return unknown(table);
  return Status::success();
}
