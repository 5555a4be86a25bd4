// Sequences of lengths of their own: where each lies, as far as that is known, and what lists must fulfil.
#include "Attention/ProblemParts.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::attention;
using manifest::saturatingAdd;
using manifest::saturatingMultiply;

/// Rows of a page that kernels take.
static constexpr int64_t kMaxPageSize = 1 << 16;

static constexpr SequenceList kLists[] = {
    {"cu_seqlens_q", "packed-q", "packed_queries", &SequenceLists::packedQ},
    {"cu_seqlens_k", "packed-kv", "packed_keys", &SequenceLists::packedKv},
    {"seqused_q", "used-q", "query_lengths", &SequenceLists::usedQ},
    {"seqused_k", "used-kv", "key_lengths", &SequenceLists::usedKv},
};

std::span<const SequenceList> attention::sequenceLists() { return kLists; }

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

/// Queries of a sequence, which is skipped where they are no more than `skipped`.
static int64_t longEnough(int64_t queries, int64_t skipped) { return queries > skipped ? queries : 0; }

int64_t ForwardProblem::newRowsOf(int64_t sequence) const {
  if (!update.appends)
    return 0;
  return lists.packedQ ? longEnough(knownRows(known, "cu_seqlens_q", "seqused_q", sequence, 0).second, minSeqlenQ) : newRows;
}

Lengths ForwardProblem::lengthsOf(int64_t sequence) const {
  int64_t room = rowsOfPages(*this, sequence, seqKv);
  int64_t keys = knownRows(known, "cu_seqlens_k", "seqused_k", sequence, room).second;
  if (update.appends && !lists.pageLists)
    keys = std::min(room, keys + newRowsOf(sequence));
  int64_t queries = knownRows(known, "cu_seqlens_q", "seqused_q", sequence, seqQ).second;
  return {longEnough(queries, minSeqlenQ), keys};
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

std::vector<PageTable> attention::pageTables(const ForwardProblem &problem) {
  if (!problem.lists.inPages())
    return {};
  const manifest::NumberRange pages = {0, problem.numPages - 1, false, "a page of 'k' and 'v'"};
  if (!problem.lists.pageLists)
    return {{"block_table", problem.tablePages, problem.batch, pages}};
  // Of a sequence without pages the last one has no rows.
  return {{"kv_indptr", saturatingAdd(problem.batch, 1), 1,
           {0, problem.tablePages, true, "where in 'kv_page_indices' a sequence begins or ends"}},
          {"kv_page_indices", problem.tablePages, 1, pages},
          {"kv_last_page_len", problem.batch, 1,
           {0, problem.lists.pageSize, false, "how many rows of its last page a sequence has"}}};
}

std::vector<std::string> attention::listNames(const ForwardProblem &problem) {
  std::vector<std::string> names;
  for (const SequenceList &list : kLists)
    if (problem.lists.*list.value)
      names.emplace_back(list.tensor);
  for (PageTable &table : pageTables(problem))
    names.push_back(std::move(table.name));
  return names;
}

bool attention::hasFirstRows(const SequenceList &list) {
  return list.value == &SequenceLists::packedQ || list.value == &SequenceLists::packedKv;
}

static bool isOfQ(const SequenceList &list) {
  return list.value == &SequenceLists::packedQ || list.value == &SequenceLists::usedQ;
}

manifest::NumberRange attention::numbersOf(const ForwardProblem &problem, const SequenceList &list) {
  bool ofQ = isOfQ(list);
  std::string rows = ofQ ? "'q' and 'o'" : "'k' and 'v'";
  if (hasFirstRows(list))
    return {0, ofQ ? problem.totalQ : problem.totalKv, true, "a row of " + rows + ", or behind the last"};
  return {0, ofQ ? problem.seqQ : problem.seqKv, false, "how many rows of " + rows + " a sequence uses"};
}

/// What vectors of 16 bytes ask of pages and heads.
static Status checkVectors(const ForwardProblem &problem) {
  if (vectorElements(problem.dtype.v) != vectorElements(problem.dtype.wideOutput()))
    return unsupported("page-layout is vectorised and dtype " + optionName(problem.dtype) +
                       ", and no kernel reads vectors of values of 8 bits; use the layouts nhd or hnd");
  if (problem.dtype == ElementType::F32)
    return unsupported("page-layout is vectorised and dtype f32, of which no kernel reads vectors; use the layouts nhd or hnd");
  const int64_t vector = std::max(vectorElements(problem.dtype.k), vectorElements(problem.dtype.v));
  auto refused = [&](std::string_view name, int64_t found, std::string_view hint) {
    return invalidInput(std::string(name) + " is " + std::to_string(found) + ", pages in the vectorised layout want a multiple of " +
                        std::to_string(vector) + ", as many elements as 16 bytes have; " + std::string(hint));
  };
  if (problem.lists.pageSize % vector != 0)
    return refused("page-size", problem.lists.pageSize, "use such pages, or the layouts nhd or hnd");
  for (auto [name, dim] : {std::pair("head-dim", problem.headDim), {"head-dim-v", problem.valueHeadDim()}})
    if (dim % vector != 0)
      return refused(name, dim, "use the layouts nhd or hnd");
  for (auto [name, dim] : {std::pair("k", problem.headDim), {"v", problem.valueHeadDim()}}) {
    auto given = problem.strides.find(name);
    if (given == problem.strides.end())
      continue;
    const TensorStrides &at = given->second;
    if (at.sequence != dim || at.batch % vector != 0 || at.head % vector != 0)
      return invalidInput("the strides of '" + std::string(name) + "' are " + std::to_string(at.batch) + "," +
                          std::to_string(at.sequence) + "," + std::to_string(at.head) +
                          ", pages in the vectorised layout have a head's part in one piece, a sequence stride of " +
                          std::to_string(dim) + ", and the others multiples of " + std::to_string(vector));
  }
  return Status::success();
}

/// What is known of one list: as many numbers as it has, ascending where they are the first rows of
/// sequences, and nothing beyond the `rows` that there are.
static Status checkList(const ForwardProblem &problem, const SequenceList &list,
                        const std::vector<int32_t> &numbers) {
  std::string name(list.tensor);
  if (!(problem.lists.*list.value))
    return invalidInput("'" + name + "' is known, but the problem has no such list; set it in 'lists'");
  bool ofQ = isOfQ(list), isStarts = hasFirstRows(list);
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
    if (int64_t added = ofQ ? 0 : problem.newRowsOf(static_cast<int64_t>(i));
        added != 0 && numbers[i] + added > most)
      return invalidInput(which + " and gets " + std::to_string(added) + " new rows (append), there is room for " +
                          std::to_string(most) + " (seq-kv)");
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

Status attention::checkPages(const ForwardProblem &problem) {
  const SequenceLists &lists = problem.lists;
  if (problem.minSeqlenQ < 0 || problem.minSeqlenQ > INT32_MAX || (problem.minSeqlenQ != 0 && !lists.packedQ))
    return invalidInput("min-seqlen-q is " + std::to_string(problem.minSeqlenQ) +
                        ", expected 0 or, where queries are packed, how many queries a sequence has at most that is "
                        "skipped, up to 2147483647");
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
  return problem.pageLayout == PageLayout::Vectorised ? checkVectors(problem) : Status::success();
}

Status attention::checkUpdate(const ForwardProblem &problem) {
  const CacheUpdate &update = problem.update;
  const SequenceLists &lists = problem.lists;
  if (!update.appends && update.asStored)
    return invalidInput("append-as-stored says what new keys are; append some (append)");
  if (!update.appends)
    return update.turns() ? Status(invalidInput("rotary turns new keys; append some (append)")) : Status::success();
  if (lists.packedKv)
    return invalidInput("new rows are appended to packed keys, where the next sequence lies; use dense keys with room "
                        "(used-kv) or pages");
  if (!lists.usedKv && !lists.pageLists)
    return invalidInput("new rows are appended behind the keys that a sequence has; say how many that are (used-kv)");
  if (lists.packedQ && problem.newRows != problem.seqQ)
    return invalidInput("append is " + std::to_string(problem.newRows) + ", where queries are packed a sequence gets a "
                        "new key for each of its queries, up to seq-q; give that, " + std::to_string(problem.seqQ));
  if (problem.dtype.k == ElementType::I8 && !update.asStored)
    return unsupported("keys are i8, and new ones are rounded to floats alone; quantise them and append them as they are "
                       "stored (append-as-stored)");
  if (!update.turns())
    return Status::success();
  if (update.rotaryDim < kRotaryUnit || update.rotaryDim > problem.headDim || update.rotaryDim % kRotaryUnit != 0)
    return invalidInput("rotary-dim is " + std::to_string(update.rotaryDim) + ", it must be a multiple of " +
                        std::to_string(kRotaryUnit) + " up to the head-dim, " + std::to_string(problem.headDim));
  // With a mask each query has a position of its own, and there may be more queries than new keys.
  int64_t most = problem.seqKv + (problem.isMasked() ? std::max<int64_t>(problem.seqQ - problem.newRows, 0) : 0);
  if (problem.positions < most)
    return invalidInput("rotary_cos and rotary_sin have " + std::to_string(problem.positions) +
                        " positions, up to " + std::to_string(most) + " are needed (seq-kv); give more");
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
    if (int64_t added = problem.newRowsOf(sequence); keys < added)
      return invalidInput(who + " has " + std::to_string(keys) + " keys after " + std::to_string(added) +
                          " were appended; lists of pages count those that are new");
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

Status attention::checkLists(const ForwardProblem &problem) {
  std::vector<PageTable> tables = pageTables(problem);
  for (const auto &[name, numbers] : problem.known.lists) {
    if (std::any_of(tables.begin(), tables.end(), [&, &name = name](const PageTable &table) { return table.name == name; }))
      continue;
    if (name == "work_list" && problem.work.list == WorkLists::Given)
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
