// Keys in pages: which sequence has which of them.
#include "PageOptions.h"

#include "Verify/Random.h"

#include <algorithm>
#include <numeric>

using namespace hocket;
using namespace hocket::run;
using namespace hocket::attention;

/// What stands in tables where nothing is: no page has that number.
static constexpr int32_t kNoPage = INT32_MAX;
/// One page in so many is nobody's, and some at least.
static constexpr int64_t kUnusedShare = 4, kLeastUnused = 3;
static constexpr int64_t kMostPages = int64_t(1) << 28;
/// Of a sequence; kernels take no more.
static constexpr int64_t kMostKeys = int64_t(1) << 30;

namespace {
/// The pages of each sequence.
using PagesOfSequences = std::vector<std::vector<int32_t>>;
} // namespace

/// `lengths` rows in pages of `size`, the first `shared` of those that are full without the rows that are `added` the
/// same for all; and how many pages there are.
static PagesOfSequences dealPages(const std::vector<int64_t> &lengths, int64_t size, int64_t shared,
                                  const std::vector<int64_t> &added, uint64_t seed, int64_t &count) {
  PagesOfSequences result;
  int32_t next = 0;
  std::vector<int32_t> common;
  for (size_t sequence = 0; sequence != lengths.size(); ++sequence) {
    int64_t length = lengths[sequence], before = length - added[sequence];
    auto &pages = result.emplace_back();
    for (int64_t index = 0; index * size < length; ++index) {
      bool isCommon = index < shared && (index + 1) * size <= before;
      if (isCommon && index == static_cast<int64_t>(common.size()))
        common.push_back(next++);
      pages.push_back(isCommon ? common[static_cast<size_t>(index)] : next++);
    }
  }
  count = next + std::max(kLeastUnused, next / kUnusedShare);
  // Where each of them lies.
  std::vector<int32_t> places(static_cast<size_t>(count));
  std::iota(places.begin(), places.end(), 0);
  verify::Generator generator(seed, 0x9a6e);
  for (int64_t i = count - 1; i > 0; --i)
    std::swap(places[static_cast<size_t>(i)],
              places[static_cast<size_t>(generator.bits(static_cast<uint64_t>(i)) % static_cast<uint64_t>(i + 1))]);
  for (auto &pages : result)
    for (int32_t &page : pages)
      page = places[static_cast<size_t>(page)];
  return result;
}

static void setTable(ForwardProblem &problem, const PagesOfSequences &pages) {
  int64_t columns = std::max<int64_t>((problem.seqKv + problem.lists.pageSize - 1) / problem.lists.pageSize, 1);
  std::vector<int32_t> table(static_cast<size_t>(problem.batch * columns), kNoPage);
  for (size_t sequence = 0; sequence != pages.size(); ++sequence)
    std::copy(pages[sequence].begin(), pages[sequence].end(), table.begin() + static_cast<int64_t>(sequence) * columns);
  problem.tablePages = columns;
  problem.known.lists["block_table"] = std::move(table);
}

static void setLists(ForwardProblem &problem, const PagesOfSequences &pages, const std::vector<int64_t> &lengths) {
  std::vector<int32_t> starts = {0}, indices, last;
  for (size_t sequence = 0; sequence != pages.size(); ++sequence) {
    indices.insert(indices.end(), pages[sequence].begin(), pages[sequence].end());
    starts.push_back(static_cast<int32_t>(indices.size()));
    int64_t before = std::max<int64_t>(static_cast<int64_t>(pages[sequence].size()) - 1, 0) * problem.lists.pageSize;
    last.push_back(static_cast<int32_t>(lengths[sequence] - before));
  }
  // Lists have room for more.
  indices.push_back(kNoPage);
  problem.tablePages = static_cast<int64_t>(indices.size());
  problem.known.lists.erase("seqused_k");
  problem.lists.usedKv = false;
  problem.lists.pageLists = true;
  problem.known.lists["kv_indptr"] = std::move(starts);
  problem.known.lists["kv_page_indices"] = std::move(indices);
  problem.known.lists["kv_last_page_len"] = std::move(last);
}

Status run::readPages(const Options &options, const PageOptionIds &ids, ForwardProblem &problem) {
  if (!options.has(ids.size)) {
    for (auto [id, name] : {std::pair(ids.layout, "page-layout"), {ids.table, "page-table"}, {ids.shared, "shared-pages"}})
      if (options.has(id))
        return invalidInput("--" + std::string(name) + " is of keys in pages; say how many rows a page has "
                            "(--page-size)");
    return Status::success();
  }
  Result<int64_t> size = options.integer(ids.size, 1, INT64_MIN, INT64_MAX);
  if (!size.ok())
    return size.error();
  Result<int64_t> shared = options.integer(ids.shared, 0, 0, INT32_MAX);
  if (!shared.ok())
    return shared.error();
  Result<int64_t> seed = options.integer(ids.seed, 1, INT64_MIN, INT64_MAX);
  if (!seed.ok())
    return seed.error();
  if (options.has(ids.layout)) {
    Result<PageLayout> layout = parsePageLayout(options.string(ids.layout));
    if (!layout.ok())
      return layout.error();
    problem.pageLayout = *layout;
  }
  std::string table = options.has(ids.table) ? options.string(ids.table) : "vllm";
  if (table != "vllm" && table != "csr")
    return invalidInput("--page-table is '" + table + "', expected vllm or csr");
  problem.lists.pageSize = *size;
  if (*size < 1)
    return invalidInput("page-size is " + std::to_string(*size) + ", it must be at least 1");
  // What is wrong with the rest the problem says.
  if (problem.batch < 1)
    return Status::success();
  if (problem.seqKv > kMostKeys)
    return invalidInput("sequences have up to " + std::to_string(problem.seqKv) + " keys, at most " +
                        std::to_string(kMostKeys) + " can lie in pages; use shorter ones");
  int64_t columns = (std::max<int64_t>(problem.seqKv, 1) - 1) / *size + 1;
  if (table == "vllm" && problem.batch > kMostPages / columns)
    return invalidInput("the table has " + std::to_string(columns) + " pages for each of " + std::to_string(problem.batch) +
                        " sequences, at most " + std::to_string(kMostPages) + " entries are possible; use larger pages, "
                        "or --page-table csr");
  std::vector<int64_t> lengths, added;
  int64_t wanted = 0;
  for (int64_t sequence = 0; sequence != problem.batch; ++sequence) {
    lengths.push_back(problem.lengthsOf(sequence).kv);
    added.push_back(problem.newRowsOf(sequence));
    wanted += (lengths.back() + *size - 1) / *size;
    if (wanted > kMostPages)
      return invalidInput("the keys lie in more than " + std::to_string(kMostPages) + " pages; use larger ones");
  }
  problem.known.lists.erase("cu_seqlens_k");
  problem.lists.packedKv = false;
  PagesOfSequences pages = dealPages(lengths, *size, *shared, added, static_cast<uint64_t>(*seed), problem.numPages);
  if (table == "csr") {
    setLists(problem, pages, lengths);
    return Status::success();
  }
  problem.lists.usedKv = true;
  setTable(problem, pages);
  std::vector<int32_t> &used = problem.known.lists["seqused_k"];
  used.clear();
  for (size_t sequence = 0; sequence != lengths.size(); ++sequence)
    used.push_back(static_cast<int32_t>(lengths[sequence] - added[sequence]));
  return Status::success();
}
