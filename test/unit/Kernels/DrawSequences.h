// Sequences of lengths of their own, drawn: packed or not, some empty, some with rows that they do not use, some with
// keys in pages.
#pragma once

#include "Draw.h"
#include "hocket/Attention/ForwardProblem.h"

namespace hocket {

/// Of the longest sequences that there may be, `problem.seqQ` and `seqKv`, some of all lengths.
void addSequences(attention::ForwardProblem &problem, Draw &draw);
/// Keys in pages at random places of a pool, some of which are nobody's and some those of two sequences.
void addPages(attention::ForwardProblem &problem, Draw &draw);

} // namespace hocket
