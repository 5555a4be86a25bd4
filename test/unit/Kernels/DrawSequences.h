// Sequences of lengths of their own, drawn: packed or not, some empty, some with rows that they do not use.
#pragma once

#include "Draw.h"
#include "hocket/Attention/ForwardProblem.h"

#include <algorithm>
#include <vector>

namespace hocket::attention {

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

/// Of the longest sequences that there may be, `problem.seqQ` and `seqKv`, some of all lengths.
inline void addSequences(ForwardProblem &problem, Draw &draw) {
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

} // namespace hocket::attention
