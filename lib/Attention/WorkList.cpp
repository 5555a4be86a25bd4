// Lists of work.
//
// All of it is sums over sequences of what is known in closed form (WorkFormulas.h), so that a kernel (MakeWorkList.cpp)
// can find the place of each entry alone: how many entries of a sequence take more than so many tiles.
#include "hocket/Attention/WorkList.h"

#include "Attention/ProblemParts.h"
#include "Grid/WorkFormulas.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <tuple>

using namespace hocket;
using namespace hocket::attention;
using manifest::saturatingAdd;
using manifest::saturatingMultiply;

/// Workgroups that a grid counts, and rows of the workspace, stay within 32 bits.
static constexpr int64_t kMostListedWorkgroups = int64_t(1) << 24, kMostWorkSlots = 1 << 16;
/// No more slices than `WorkLine` says: parts of slices, as an entry names them, stay within 32 bits, too.
static constexpr int64_t kPartsOfSlot = 5;
static_assert(kPartsOfSlot * kMostWorkSlots <= INT32_MAX / (kWorkParts * kWorkParts));

static int64_t divideUp(int64_t a, int64_t b) { return a / b + (a % b > 0); }

// Of problems that nobody has judged yet: messages about them say how large their lists would be.
static int64_t slotsOf(const ForwardProblem &problem) {
  return std::clamp<int64_t>(problem.workSlots, 1, kMostWorkSlots);
}
static int64_t groupOf(const ForwardProblem &problem) {
  return problem.kvHeads > 0 ? problem.heads / problem.kvHeads : 0;
}

namespace {
/// Computes what WorkFormulas.h says.
struct HostArithmetic {
  using Number = int64_t;
  using Condition = bool;
  using Scale = float;

  int64_t constant(int64_t value) { return value; }
  int64_t add(int64_t a, int64_t b) { return a + b; }
  int64_t sub(int64_t a, int64_t b) { return a - b; }
  int64_t mul(int64_t a, int64_t b) { return a * b; }
  int64_t min(int64_t a, int64_t b) { return std::min(a, b); }
  int64_t max(int64_t a, int64_t b) { return std::max(a, b); }
  bool less(int64_t a, int64_t b) { return a < b; }
  bool both(bool a, bool b) { return a && b; }
  template <typename T> T pick(bool condition, T a, T b) { return condition ? a : b; }
  int64_t floorShift(int64_t a, unsigned bits) { return a >> bits; }
  int64_t ceilShift(int64_t a, unsigned bits) { return (a + (int64_t(1) << bits) - 1) >> bits; }
  int64_t floorDivide(int64_t a, int64_t b) { return a / b; }
  int64_t quotient(int64_t a, int64_t b) { return a / b; }
  int64_t lowBits(int64_t a, unsigned bits) { return a & ((int64_t(1) << bits) - 1); }
  float scale(float factor) { return factor; }
  float fraction(int64_t whole, int64_t rest, int64_t of) {
    return static_cast<float>(whole) + static_cast<float>(rest) / static_cast<float>(of);
  }
  float inverse(float a, float b) { return a / b; }
  int64_t scaled(int64_t a, float scale) { return static_cast<int64_t>(static_cast<float>(a) * scale); }
};

using HostWork = SequenceWork<HostArithmetic>;
using HostLine = WorkLine<HostArithmetic>;
using HostCut = WorkCut<HostArithmetic>;

/// All sequences of a problem, and how they are cut.
class WorkOfProblem {
public:
  explicit WorkOfProblem(const ForwardProblem &problem);
  std::vector<int32_t> list();

private:
  /// Some rows of a sequence and, where they are cut, some of the keys: what an entry says, and what it is ordered by.
  struct Entry {
    int64_t distance; ///< from the end of its segment, in tiles
    int64_t sequence, kind;
    std::array<int64_t, kWorkEntry> fields;
  };
  /// Of the same distance and sequence: items' first pieces and what is alone, further pieces, what is whole.
  static constexpr int64_t kFirst = 0, kFurther = 1, kWhole = 2;

  void findLine();
  Entry entryOf(int64_t sequence, int64_t item, int64_t copy) const;
  void addPieces(int64_t sequence, std::vector<Entry> &entries);
  void addWhole(int64_t sequence, std::vector<Entry> &entries);

  const ForwardProblem &problem;
  std::vector<HostWork> sequences;
  std::vector<HostCut> cuts;
  HostArithmetic a;
  HostLine line = HostLine::none(a);
};
} // namespace

/// Items whose rows are heads, in a group of so many: queries, or parts of them.
static int64_t groupItems(int64_t queries, int64_t group) {
  return divideUp(queries * divideUp(group, kWorkHeadsOfPart), kWorkQueries);
}

static HostWork workOf(const ForwardProblem &problem, int64_t sequence) {
  Lengths lengths = problem.lengthsOf(sequence);
  int64_t group = groupOf(problem), blocks = divideUp(lengths.q, kWorkRows);
  int64_t parts = std::max<int64_t>(divideUp(group, kWorkHeadsOfPart), 1), alike = std::max<int64_t>(group, 1);
  HostWork work{blocks, group, lengths.q, lengths.kv, alike, divideUp(alike * kWorkQueries, parts),
                0,      false, problem.visibility.laterRowsSeeMore()};
  int64_t together = groupItems(lengths.q, group);
  if (mayGroupHeads(problem) && together < group * blocks)
    work.items = together, work.copies = 1, work.grouped = true;
  work.reach = divideUp(mostKeysOfRow(problem) + (work.grouped ? kWorkQueries : kWorkRows) - 1, kWorkKeys) + 1;
  return work;
}

WorkOfProblem::WorkOfProblem(const ForwardProblem &problem) : problem(problem) {
  for (int64_t sequence = 0; sequence != problem.batch; ++sequence)
    sequences.push_back(workOf(problem, sequence));
  if (problem.work.slices)
    findLine();
  int64_t place = 0;
  for (const HostWork &sequence : sequences) {
    cuts.push_back(sequence.cut(a, line, place));
    place = a.lowBits(place + sequence.onLine(a, line), kWorkPlaceBits);
  }
}

void WorkOfProblem::findLine() {
  int64_t twice = 0, most = 0;
  for (const HostWork &sequence : sequences) {
    twice += sequence.copies * sequence.items * sequence.twiceMean(a);
    most = std::max(most, sequence.mostTiles(a));
  }
  int64_t all = twice * problem.kvHeads, slots = 2 * slotsOf(problem), share = std::min(all / slots, kWorkMostShare);
  // Else whatever comes last makes no difference.
  if (share < most * kWorkFine)
    line = HostLine::of(a, share, all % slots, slots);
}

WorkOfProblem::Entry WorkOfProblem::entryOf(int64_t sequence, int64_t item, int64_t copy) const {
  bool grouped = sequences[sequence].grouped;
  int64_t row = item * (grouped ? kWorkQueries : kWorkRows);
  return {0, sequence, kWhole, {sequence, row, grouped ? -1 : copy, 0, 0}};
}

/// The pieces of what is cut of a sequence.
void WorkOfProblem::addPieces(int64_t sequence, std::vector<Entry> &entries) {
  const HostWork &own = sequences[sequence];
  const HostCut &cut = cuts[sequence];
  for (int64_t item = own.items - cut.items; item != own.items; ++item)
    for (int64_t copy = 0; copy != own.copies; ++copy)
      for (int64_t piece = 0; piece != cut.pieces; ++piece) {
        Entry entry = entryOf(sequence, item, copy);
        entry.kind = piece == 0 ? kFirst : kFurther;
        entry.distance = line.tilesOf(a, piece == 0 ? cut.first : kWorkParts);
        entry.fields[kWorkSlice] = piece == 0 ? 1 - cut.pieces : piece, entry.fields[kWorkCut] = cut.number(a);
        entries.push_back(entry);
      }
}

/// What is whole of a sequence; of what takes as much later rows first.
void WorkOfProblem::addWhole(int64_t sequence, std::vector<Entry> &entries) {
  const HostWork &own = sequences[sequence];
  const HostCut &cut = cuts[sequence];
  for (int64_t item = own.items - cut.items - 1; item >= 0; --item)
    for (int64_t copy = 0; copy != own.copies; ++copy) {
      Entry entry = entryOf(sequence, item, copy);
      entry.kind = cut.isAlone ? kFirst : kWhole;
      entry.distance = cut.isAlone ? line.tilesOf(a, cut.first) : own.tiles(a, item);
      entries.push_back(entry);
    }
}

std::vector<int32_t> WorkOfProblem::list() {
  // Pieces stand in front, those of the same rows one behind the other.
  std::vector<Entry> entries;
  for (int64_t sequence = 0; sequence != problem.batch; ++sequence)
    addPieces(sequence, entries);
  size_t slices = entries.size();
  for (int64_t sequence = 0; sequence != problem.batch; ++sequence)
    addWhole(sequence, entries);
  std::vector<size_t> order(entries.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(), [&](size_t i, size_t j) {
    const Entry &a = entries[i], &b = entries[j];
    return std::tuple(-a.distance, a.sequence, a.kind) < std::tuple(-b.distance, b.sequence, b.kind);
  });
  std::vector<int32_t> numbers(static_cast<size_t>((mostWorkEntries(problem) + 1) * kWorkFields));
  numbers[kWorkCount] = static_cast<int32_t>(entries.size());
  numbers[kWorkSliceCount] = static_cast<int32_t>(slices);
  for (size_t number = 0; number != entries.size(); ++number) {
    int32_t *line = &numbers[(number + 1) * kWorkFields];
    std::copy(entries[number].fields.begin(), entries[number].fields.end(), line);
    line[kWorkEntry] = static_cast<int32_t>(order[number]);
  }
  return numbers;
}

bool attention::mayGroupHeads(const ForwardSemantics &semantics) {
  return !semantics.dropout;
}

int64_t attention::mostWorkParts(const ForwardProblem &problem) {
  if (!problem.work.slices)
    return 0;
  return divideUp(kPartsOfSlot * slotsOf(problem), std::max<int64_t>(problem.kvHeads, 1));
}

int64_t attention::mostWorkEntries(const ForwardProblem &problem) {
  int64_t group = groupOf(problem);
  int64_t blocks = saturatingMultiply(problem.batch, divideUp(problem.seqQ, kWorkRows));
  if (problem.lists.packedQ)
    blocks = std::min(blocks, saturatingAdd(problem.batch, problem.totalQ / kWorkRows));
  return saturatingAdd(saturatingMultiply(blocks, group), mostWorkParts(problem));
}

std::vector<int32_t> attention::makeWorkList(const ForwardProblem &problem) { return WorkOfProblem(problem).list(); }

/// What each number of an entry may be.
std::vector<manifest::NumberRange> attention::workNumbers(const ForwardProblem &problem) {
  int64_t group = groupOf(problem);
  int64_t parts = divideUp(group, kWorkHeadsOfPart), pieces = std::max<int64_t>(mostWorkParts(problem), 1);
  return {{0, problem.batch - 1, false, "a sequence"},
          {0, saturatingMultiply(problem.seqQ, parts), false, "the first row of an entry"},
          {mayGroupHeads(problem) ? -1 : 0, group - 1, false, "a head of a group, or -1 for all"},
          {1 - pieces, pieces - 1, false, "a slice of the keys"},
          {0, (pieces + 1) * kWorkParts * kWorkParts - 1, false, "how the keys are cut"},
          {0, std::max<int64_t>(mostWorkEntries(problem) - 1, 0), false, "the entry that is next in order"}};
}

namespace {
/// How often each item of each sequence is named: by number of the head (0 for all), and slice.
class WorkCoverage {
public:
  explicit WorkCoverage(const ForwardProblem &problem) : problem(problem) {}
  Status add(int64_t entry, std::span<const int32_t> fields);
  Status check() const;

private:
  const ForwardProblem &problem;
  struct Pieces {
    int64_t found = 0, slices = 0, cut = 0;
  };
  std::map<std::array<int64_t, 3>, Pieces> named;
};
} // namespace

static std::string describeWorkEntry(int64_t entry) { return "'work_list' has in entry " + std::to_string(entry); }

Status WorkCoverage::add(int64_t entry, std::span<const int32_t> fields) {
  int64_t sequence = fields[kWorkSequence], row = fields[kWorkRow], head = fields[kWorkHead];
  int64_t unit = head < 0 ? kWorkQueries : kWorkRows;
  if (row % unit != 0)
    return invalidInput(describeWorkEntry(entry) + " the row " + std::to_string(row) + ", expected a multiple of " +
                        std::to_string(unit));
  int64_t slice = fields[kWorkSlice], cut = fields[kWorkCut], slices = workSlices(cut);
  Pieces &pieces = named[{sequence, row, head}];
  auto complain = [&](int64_t wanted, const std::string &of) {
    return invalidInput(describeWorkEntry(entry) + " slice " + std::to_string(slice) + ", cut as " + std::to_string(cut) +
                        ", expected " + std::to_string(wanted) + of + ": slices of the same rows follow one another");
  };
  if (pieces.found == 0 && slice != 1 - slices)
    return complain(1 - slices, " of the first of " + std::to_string(slices));
  if (pieces.found == 1 && pieces.slices == 1)
    return invalidInput(describeWorkEntry(entry) + " rows that an entry in front of it has");
  if (pieces.found != 0 && (cut != pieces.cut || slice != pieces.found || slice == slices))
    return complain(pieces.found, " of " + std::to_string(pieces.slices) + ", cut as " + std::to_string(pieces.cut));
  ++pieces.found, pieces.slices = slices, pieces.cut = cut;
  return Status::success();
}

Status WorkCoverage::check() const {
  int64_t group = groupOf(problem);
  for (int64_t sequence = 0; sequence != problem.batch; ++sequence) {
    int64_t queries = problem.lengthsOf(sequence).q;
    bool grouped = named.contains({sequence, 0, -1});
    int64_t unit = grouped ? kWorkQueries : kWorkRows;
    int64_t items = grouped ? groupItems(queries, group) : divideUp(queries, kWorkRows);
    for (int64_t item = 0; item != items; ++item)
      for (int64_t head = grouped ? -1 : 0; head != (grouped ? 0 : group); ++head) {
        auto entry = named.find({sequence, item * unit, head});
        if (entry == named.end() || entry->second.found != entry->second.slices)
          return invalidInput("'work_list' lacks rows of sequence " + std::to_string(sequence) + " from " +
                              std::to_string(item * unit) + " on" +
                              (entry == named.end() ? "" : ", some of whose slices it has"));
      }
    int64_t found = std::distance(named.lower_bound({sequence, INT64_MIN, INT64_MIN}),
                                  named.lower_bound({sequence + 1, INT64_MIN, INT64_MIN}));
    if (found != items * (grouped ? 1 : group))
      return invalidInput("'work_list' has rows of sequence " + std::to_string(sequence) +
                          " that it does not have, or twice");
  }
  return Status::success();
}

Status attention::validateWorkList(const ForwardProblem &problem, std::span<const int32_t> numbers) {
  int64_t most = mostWorkEntries(problem);
  if (static_cast<int64_t>(numbers.size()) != (most + 1) * kWorkFields)
    return invalidInput("'work_list' has " + std::to_string(numbers.size()) + " numbers, expected " +
                        std::to_string((most + 1) * kWorkFields) + ": " + std::to_string(kWorkFields) +
                        " for each of " + std::to_string(most) + " entries, and in front of them");
  int64_t entries = numbers[kWorkCount], slices = numbers[kWorkSliceCount];
  if (entries < 0 || entries > most || slices < 0 || slices > std::min(entries, mostWorkParts(problem)))
    return invalidInput("'work_list' says that it has " + std::to_string(entries) + " entries, " +
                        std::to_string(slices) + " of them slices; there is room for " + std::to_string(most) + " and " +
                        std::to_string(mostWorkParts(problem)));
  std::vector<manifest::NumberRange> ranges = workNumbers(problem);
  WorkCoverage coverage(problem);
  std::vector<bool> isTaken(static_cast<size_t>(entries));
  for (int64_t entry = 0; entry != entries; ++entry) {
    std::span<const int32_t> fields = numbers.subspan((entry + 1) * kWorkFields, kWorkFields);
    for (int64_t field = 0; field != kWorkFields; ++field)
      if (fields[field] < ranges[field].least || fields[field] > ranges[field].most)
        return invalidInput(describeWorkEntry(entry) + " " + std::to_string(fields[field]) + " for " +
                            ranges[field].meaning + ", expected " + std::to_string(ranges[field].least) + " to " +
                            std::to_string(ranges[field].most));
    if (fields[kWorkEntry] >= entries || isTaken[static_cast<size_t>(fields[kWorkEntry])])
      return invalidInput(describeWorkEntry(entry) + " " + std::to_string(fields[kWorkEntry]) +
                          " for the entry that is next in order, expected each below " + std::to_string(entries) +
                          " once");
    isTaken[static_cast<size_t>(fields[kWorkEntry])] = true;
    if (int64_t own = workSlices(fields[kWorkCut]); (own > 1) != (entry < slices))
      return invalidInput(describeWorkEntry(entry) + " " + std::to_string(own) +
                          " slices; the first " + std::to_string(slices) + " entries are slices of several, no others");
    if (Status status = coverage.add(entry, fields); !status.ok())
      return status;
  }
  return coverage.check();
}

/// Whether the host knows all lengths.
static bool areLengthsKnown(const ForwardProblem &problem) {
  for (const SequenceList &list : sequenceLists())
    if (problem.lists.*list.value && !problem.known.lists.contains(list.tensor))
      return false;
  return !problem.lists.pageLists || (problem.known.lists.contains("kv_indptr") &&
                                      problem.known.lists.contains("kv_last_page_len"));
}

Status attention::checkWork(const ForwardProblem &problem) {
  if (!problem.work.any())
    return problem.work.slices ? invalidInput("slices of a list of work are asked for, but no list; ask for that, too")
                               : Status::success();
  if (problem.blocks.any())
    return invalidInput("a list of work goes with ranges of keys, block lists say others; leave one of them out");
  if (problem.tuning.isSplit())
    return invalidInput("num-splits cuts the keys of all sequences alike, a list of work those of long ones; leave "
                        "num-splits out");
  if (problem.workSlots < 1 || problem.workSlots > kMostWorkSlots)
    return invalidInput("work-slots is " + std::to_string(problem.workSlots) + ", it must be 1 to " +
                        std::to_string(kMostWorkSlots));
  if (problem.seqKv > kNoWorkLimit * kWorkKeys)
    return invalidInput("a list of work is of sequences of at most " + std::to_string(kNoWorkLimit * kWorkKeys) +
                        " keys, they have up to " + std::to_string(problem.seqKv) +
                        " (seq-kv); leave the list out, or use a smaller bound");
  if (int64_t most = saturatingMultiply(mostWorkEntries(problem), problem.kvHeads); most > kMostListedWorkgroups)
    return invalidInput("a list of work for " + std::to_string(most) + " workgroups is asked for, at most " +
                        std::to_string(kMostListedWorkgroups) + " are possible; use smaller bounds of lengths (seq-q, total-q)");
  auto known = problem.known.lists.find("work_list");
  if (known == problem.known.lists.end() || !areLengthsKnown(problem))
    return Status::success();
  return validateWorkList(problem, known->second);
}
