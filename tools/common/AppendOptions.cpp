// New keys of a cache, and rotary embedding.
#include "AppendOptions.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::run;
using namespace hocket::attention;

static Status readRotary(const Options &options, const AppendOptionIds &ids, ForwardProblem &problem) {
  if (!options.has(ids.rotary))
    return options.has(ids.rotaryDim)
               ? Status(invalidInput("--rotary-dim is of --rotary; say which elements are pairs (interleaved or half)"))
               : Status::success();
  Result<Rotary> rotary = parseRotary(options.string(ids.rotary));
  if (!rotary.ok())
    return rotary.error();
  Result<int64_t> dim =
      options.integer(ids.rotaryDim, problem.headDim / kRotaryUnit * kRotaryUnit, INT64_MIN, INT64_MAX);
  if (!dim.ok())
    return dim.error();
  if (*rotary == Rotary::None && options.has(ids.rotaryDim))
    return invalidInput("--rotary-dim is of --rotary, which is none; say which elements are pairs (interleaved or half)");
  problem.update.rotary = *rotary;
  problem.update.rotaryDim = *dim;
  problem.positions = problem.seqKv + std::max<int64_t>(problem.seqQ - problem.newRows, 0);
  return Status::success();
}

/// A number, or "queries": for each query a new key, up to so many of a sequence.
static Result<int64_t> readRows(const Options &options, unsigned id, const ForwardProblem &problem) {
  if (options.string(id) == "queries")
    return problem.seqQ;
  if (problem.lists.packedQ)
    return invalidInput("--append is '" + options.string(id) + "', where queries are packed (--seqlens-q) each sequence "
                        "gets as many new keys as it has queries; say --append queries");
  if (Result<int64_t> rows = options.integer(id, 1, INT64_MIN, INT64_MAX); rows.ok())
    return rows;
  return invalidInput("option '--append' has the value '" + options.string(id) +
                      "', expected how many new keys each sequence gets, or 'queries'");
}

Status run::readAppend(const Options &options, const AppendOptionIds &ids, ForwardProblem &problem) {
  if (!options.has(ids.append)) {
    for (auto [id, does] : {std::pair(ids.rotary, "rotary turns"), {ids.rotaryDim, "rotary-dim turns"},
                            {ids.asStored, "append-as-stored copies"}})
      if (options.has(id))
        return invalidInput("--" + std::string(does) + " new keys; say how many each sequence gets (--append)");
    return Status::success();
  }
  Result<int64_t> rows = readRows(options, ids.append, problem);
  if (!rows.ok())
    return rows.error();
  problem.update.appends = true;
  problem.update.asStored = options.has(ids.asStored);
  problem.newRows = *rows;
  // Packed lengths are those before, and go into pages, which have room for more.
  if (*rows >= 1 && *rows <= INT32_MAX && problem.lists.packedKv)
    problem.seqKv += *rows;
  if (*rows >= 1 && *rows > problem.seqKv)
    return invalidInput("--append writes " + std::to_string(*rows) + " keys, there is room for " +
                        std::to_string(problem.seqKv) + " (--seq-kv)");
  if (*rows >= 1 && problem.batch >= 1 && !problem.lists.packedKv && !problem.lists.usedKv) {
    problem.lists.usedKv = true;
    problem.known.lists["seqused_k"].assign(static_cast<size_t>(problem.batch),
                                            static_cast<int32_t>(problem.seqKv - *rows));
  }
  return readRotary(options, ids, problem);
}
