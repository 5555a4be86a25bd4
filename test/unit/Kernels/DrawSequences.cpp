// See DrawSequences.h.
#include "DrawSequences.h"

#include <algorithm>
#include <cstdint>
#include <vector>

using namespace hocket;
using namespace hocket::attention;

namespace {
/// How many rows each sequence has, 0 to `most`, and what it uses of them.
struct DrawnRows {
  std::vector<int32_t> starts = {0}, used;
  DrawnRows(Draw &draw, int64_t batch, int64_t most, bool isPadded) {
    for (int64_t i = 0; i != batch; ++i) {
      int64_t length = draw.oneIn(4) ? 0 : draw.oneIn(3) ? most : draw.between(0, most);
      used.push_back(static_cast<int32_t>(length));
      int64_t room = isPadded ? length + draw.between(0, most - length) : length;
      starts.push_back(static_cast<int32_t>(starts.back() + room));
    }
  }
};
} // namespace

void hocket::addSequences(ForwardProblem &problem, Draw &draw) {
  problem.lists = {draw.oneIn(4) == 0, draw.oneIn(4) == 0, draw.oneIn(3), draw.oneIn(3)};
  problem.lists.usedKv |= !problem.lists.any();
  DrawnRows q(draw, problem.batch, problem.seqQ, problem.lists.usedQ);
  DrawnRows kv(draw, problem.batch, problem.seqKv, problem.lists.usedKv);
  problem.totalQ = std::max(1, q.starts.back()), problem.totalKv = std::max(1, kv.starts.back());
  if (problem.lists.packedQ)
    problem.known.lists["cu_seqlens_q"] = q.starts;
  if (problem.lists.packedKv)
    problem.known.lists["cu_seqlens_k"] = kv.starts;
  if (problem.lists.usedQ)
    problem.known.lists["seqused_q"] = q.used;
  if (problem.lists.usedKv)
    problem.known.lists["seqused_k"] = kv.used;
}

void hocket::addPages(ForwardProblem &problem, Draw &draw) {
  problem.lists.packedKv = false;
  problem.known.lists.erase("cu_seqlens_k");
  problem.pageLayout = draw.of({PageLayout::NHD, PageLayout::HND, PageLayout::Vectorised});
  int64_t size = problem.pageLayout == PageLayout::Vectorised
                     ? draw.of<int64_t>({8, 16, 24, 40, 64, 104, 128, 1056})
                     : draw.of<int64_t>({1, 7, 16, 32, 48, 64, 100, 128, 1056});
  problem.lists.pageSize = size;
  problem.lists.pageLists = draw.oneIn(2);
  DrawnRows rows(draw, problem.batch, problem.seqKv, false);
  auto pagesOf = [&](int64_t length) { return (length + size - 1) / size; };
  int64_t needed = 0;
  for (int32_t length : rows.used)
    needed += pagesOf(length);
  problem.numPages = needed + draw.between(1, 5);
  auto anyPage = [&] { return static_cast<int32_t>(draw.between(0, problem.numPages - 1)); };
  // Most lie in order of a permutation; one in eight is somebody else's as well.
  std::vector<int32_t> order(static_cast<size_t>(problem.numPages));
  for (size_t i = 0; i != order.size(); ++i)
    order[i] = static_cast<int32_t>(i);
  for (size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[static_cast<size_t>(draw.between(0, static_cast<int64_t>(i) - 1))]);
  size_t next = 0;
  auto takePage = [&] { return draw.oneIn(8) ? anyPage() : order[next++]; };
  if (problem.lists.pageLists) {
    std::vector<int32_t> starts = {0}, indices, last;
    for (int32_t length : rows.used) {
      for (int64_t page = 0; page != pagesOf(length); ++page)
        indices.push_back(takePage());
      starts.push_back(static_cast<int32_t>(indices.size()));
      last.push_back(static_cast<int32_t>(length == 0 ? 0 : (length - 1) % size + 1));
    }
    indices.push_back(INT32_MAX);
    problem.tablePages = static_cast<int64_t>(indices.size());
    problem.known.lists["kv_indptr"] = starts;
    problem.known.lists["kv_page_indices"] = indices;
    problem.known.lists["kv_last_page_len"] = last;
    problem.lists.usedKv = false;
    problem.known.lists.erase("seqused_k");
    return;
  }
  problem.tablePages = pagesOf(problem.seqKv) + draw.between(0, 2);
  std::vector<int32_t> table(static_cast<size_t>(problem.batch * problem.tablePages), INT32_MAX);
  for (int64_t sequence = 0; sequence != problem.batch; ++sequence)
    for (int64_t page = 0; page != pagesOf(rows.used[static_cast<size_t>(sequence)]); ++page)
      table[static_cast<size_t>(sequence * problem.tablePages + page)] = takePage();
  problem.known.lists["block_table"] = table;
  problem.lists.usedKv = true;
  problem.known.lists["seqused_k"] = rows.used;
}
