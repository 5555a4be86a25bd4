// --append and its like: new keys for a cache, from the command line into a problem.
#pragma once

#include "Options.h"

#include "hocket/Attention/ForwardProblem.h"

namespace hocket::run {

/// The numbers of the options in the table of the subcommand.
struct AppendOptionIds {
  unsigned append, asStored, rotary, rotaryDim;
};

/// What is appended to the keys of `problem`, which lie in dense tensors so far; without lengths of their own they have
/// room for no more than that.
Status readAppend(const Options &options, const AppendOptionIds &ids, attention::ForwardProblem &problem);

} // namespace hocket::run
