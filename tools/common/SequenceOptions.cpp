// Lists of lengths on command lines: "300,0,17", "17/64,5/8" (so many rows used of as many as there are),
// "random:COUNT:MOST", with ":SEED" if one likes, or "file:PATH", lengths with commas or space between them.
#include "SequenceOptions.h"

#include "Verify/Random.h"
#include "hocket/Runtime/File.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::run;
using attention::ForwardProblem;
using llvm::StringRef;

namespace {
/// A sequence's rows, and how many of them are used.
struct Rows {
  int64_t used = 0, room = 0;
};
/// Numbers of lists are 32-bit; sums are judged by the problem.
constexpr int64_t kMostRows = INT32_MAX, kMostSequences = 1 << 20;
} // namespace

static Error malformed(StringRef name, StringRef text) {
  return invalidInput("option '--" + name.str() + "' has the value '" + text.str() +
                      "', expected lengths as in '300,0,17', lengths in rooms as in '17/64,5/8', "
                      "'random:COUNT:MOST', or 'file:PATH' of lengths");
}

static Result<std::vector<Rows>> randomLengths(StringRef name, StringRef text) {
  llvm::SmallVector<StringRef> parts;
  text.split(parts, ':');
  int64_t count = 0, most = 0, seed = 1;
  bool right = (parts.size() == 3 || parts.size() == 4) && !parts[1].getAsInteger(10, count) &&
               !parts[2].getAsInteger(10, most) &&
               (parts.size() == 3 || !parts[3].getAsInteger(10, seed));
  if (!right || count < 1 || count > kMostSequences || most < 0 || most > kMostRows)
    return malformed(name, text);
  verify::Generator generator(static_cast<uint64_t>(seed), 0);
  std::vector<Rows> list;
  for (int64_t i = 0; i != count; ++i) {
    auto length = static_cast<int64_t>(generator.bits(static_cast<uint64_t>(i)) %
                                       static_cast<uint64_t>(most + 1));
    list.push_back({length, length});
  }
  return list;
}

static Result<std::vector<Rows>> lengthsOf(const Options &options, unsigned id, StringRef name) {
  std::string text = options.string(id);
  if (StringRef(text).starts_with("random:"))
    return randomLengths(name, text);
  llvm::SmallVector<StringRef> parts;
  std::string content = text;
  if (StringRef path = text; path.consume_front("file:")) {
    Result<std::string> read = runtime::readText(path.str());
    if (!read.ok())
      return read.error();
    content = *std::move(read);
    std::replace(content.begin(), content.end(), ',', ' ');
    llvm::SplitString(content, parts);
    if (parts.empty())
      return invalidInput("option '--" + name.str() + "' names the file '" + path.str() +
                          "', which has no lengths; write at least one");
  } else {
    StringRef(content).split(parts, ',');
  }
  std::vector<Rows> list;
  for (StringRef part : parts) {
    auto [used, room] = part.split('/');
    Rows rows;
    if (used.getAsInteger(10, rows.used) || (part.contains('/') && room.getAsInteger(10, rows.room)))
      return malformed(name, text);
    if (!part.contains('/'))
      rows.room = rows.used;
    if (rows.used < 0 || rows.room < rows.used || rows.room > kMostRows)
      return invalidInput("option '--" + name.str() + "' has a sequence of " + part.str() +
                          " rows, expected a number from 0, no larger than its room");
    list.push_back(rows);
  }
  return list;
}

/// Where sequences begin one behind the other, and how many of their rows they use.
static Status setPacked(ForwardProblem &problem, const std::vector<Rows> &list, bool ofQ) {
  int64_t total = 0, longest = 1;
  std::vector<int32_t> starts = {0}, used;
  bool isPadded = false;
  for (const Rows &rows : list) {
    total += rows.room;
    if (total > kMostRows)
      return invalidInput("the lengths of --seqlens-" + std::string(ofQ ? "q" : "kv") +
                          " add up to more than " + std::to_string(kMostRows) + " rows");
    longest = std::max(longest, rows.used);
    starts.push_back(static_cast<int32_t>(total));
    used.push_back(static_cast<int32_t>(rows.used));
    isPadded |= rows.used != rows.room;
  }
  (ofQ ? problem.totalQ : problem.totalKv) = std::max<int64_t>(total, 1);
  (ofQ ? problem.seqQ : problem.seqKv) = longest;
  (ofQ ? problem.lists.packedQ : problem.lists.packedKv) = true;
  problem.known.lists[ofQ ? "cu_seqlens_q" : "cu_seqlens_k"] = std::move(starts);
  if (!isPadded)
    return Status::success();
  (ofQ ? problem.lists.usedQ : problem.lists.usedKv) = true;
  problem.known.lists[ofQ ? "seqused_q" : "seqused_k"] = std::move(used);
  return Status::success();
}

static Status setUsed(ForwardProblem &problem, const std::vector<Rows> &list, bool ofQ) {
  std::vector<int32_t> used;
  for (const Rows &rows : list)
    used.push_back(static_cast<int32_t>(rows.used));
  (ofQ ? problem.lists.usedQ : problem.lists.usedKv) = true;
  problem.known.lists[ofQ ? "seqused_q" : "seqused_k"] = std::move(used);
  return Status::success();
}

bool run::hasPackedQueries(const Options &options, const SequenceOptionIds &ids) {
  return options.has(ids.seqlensQ);
}

Status run::readSequences(const Options &options, const SequenceOptionIds &ids,
                          ForwardProblem &problem) {
  struct Field {
    unsigned id, other;
    const char *name, *otherName;
    bool ofQ, isPacked;
  };
  // Keys are as many as queries, unless something else is said.
  bool likeQ = options.has(ids.seqlensQ) && !options.has(ids.seqlensKv) && !options.has(ids.seqKv);
  const Field fields[] = {{ids.seqlensQ, ids.usedQ, "seqlens-q", "used-q", true, true},
                          {likeQ ? ids.seqlensQ : ids.seqlensKv, ids.usedKv, "seqlens-kv", "used-kv", false, true},
                          {ids.usedQ, ids.seqlensQ, "used-q", "seqlens-q", true, false},
                          {ids.usedKv, ids.seqlensKv, "used-kv", "seqlens-kv", false, false}};
  if (options.has(ids.seqlensKv) && options.has(ids.seqKv))
    return invalidInput("--seq-kv and --seqlens-kv both say how many keys there are; leave one of them out");
  for (const Field &field : fields) {
    if (!options.has(field.id))
      continue;
    if (options.has(field.other))
      return invalidInput("--" + std::string(field.name) + " and --" + field.otherName +
                          " are of packed and of dense tensors; leave one of them out");
    Result<std::vector<Rows>> list = lengthsOf(options, field.id, field.name);
    if (!list.ok())
      return list.error();
    auto count = static_cast<int64_t>(list->size());
    bool isFirst = problem.known.lists.empty();
    if (isFirst && field.isPacked)
      problem.batch = count;
    if (problem.batch != count)
      return invalidInput("--" + std::string(field.name) + " has " + std::to_string(count) +
                          " sequences, the problem has " + std::to_string(problem.batch));
    Status status = field.isPacked ? setPacked(problem, *list, field.ofQ)
                                   : setUsed(problem, *list, field.ofQ);
    if (!status.ok())
      return status;
  }
  return Status::success();
}
