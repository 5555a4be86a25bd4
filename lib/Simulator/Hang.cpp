// What a workgroup that does not end is doing: the loop that a wave is in, what could let it out,
// and who waits for it.
//
// A workgroup counts as hanging when it passes its limit of wave-instructions or of processor time.
// It then goes on for a while with one wave watched instruction by instruction; what the wave keeps
// coming back to is its loop. A barrier is met by whoever has not ended, so one that is never met
// means that a wave which should come to it is in such a loop.
#include "SourceLines.h"
#include "ThreadClock.h"
#include "Workgroup.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <map>

using namespace hocket;
using namespace hocket::sim;
using llvm::StringRef;

/// Instructions of the watched wave, and of all waves together.
static constexpr uint64_t watchedSteps = 1 << 16, allSteps = 1 << 19;
/// Instructions between two looks at the clock, and at whether a stop was requested.
static constexpr uint64_t lookEvery = 1 << 18;

void Workgroup::startLimits() {
  remaining = context.instructionLimit;
  nextLook = remaining - std::min(remaining, lookEvery);
  started = context.secondsLimit > 0 ? threadSeconds() : 0;
}

bool Workgroup::looks() {
  if (remaining > nextLook)
    return false;
  nextLook = remaining - std::min(remaining, lookEvery);
  return true;
}

bool Workgroup::isStopped() { return looks() && context.stop.stop_requested(); }

bool Workgroup::pastLimits() {
  if (remaining == 0)
    return true;
  if (!looks())
    return false;
  if (context.stop.stop_requested())
    return true;
  return context.secondsLimit > 0 && threadSeconds() - started > context.secondsLimit;
}

namespace {
/// The loop that a wave has been seen in.
class SeenLoop {
public:
  SeenLoop(const Workgroup &group, const std::vector<uint32_t> &trail);

  /// "keeps the wave in a loop ..."; empty if no instruction came twice.
  std::string describe() const;
  /// The slot of the instruction that decides, or of the last one.
  uint32_t decisive() const { return exits.empty() ? last : exits.back(); }
  bool contains(uint32_t index) const { return turns != 0 && index >= first && index <= last; }
  std::string placeOf(uint32_t index) const;

private:
  void classify(uint32_t index);
  std::string mention(uint32_t index) const {
    return "'" + group.context.text->disassemble(index).text + "' at " + placeOf(index);
  }

  const Workgroup &group;
  mutable SourceLines lines;
  std::map<uint32_t, uint64_t> visits;
  uint32_t first = 0, last = 0;
  uint64_t turns = 0;
  std::vector<uint32_t> exits, reads, barriers;
};
} // namespace

SeenLoop::SeenLoop(const Workgroup &group, const std::vector<uint32_t> &trail)
    : group(group), lines(group.context.code->debugFile) {
  // The way into the loop is in the trail's first half, if at all.
  for (size_t i = trail.size() / 2; i < trail.size(); ++i)
    ++visits[trail[i]];
  std::erase_if(visits, [](const auto &visit) { return visit.second < 2; });
  if (visits.empty())
    return;
  first = visits.begin()->first, last = visits.rbegin()->first;
  for (const auto &[index, count] : visits) {
    turns = std::max(turns, count);
    classify(index);
  }
}

void SeenLoop::classify(uint32_t index) {
  const std::string text = group.context.text->disassemble(index).text;
  const StringRef name = StringRef(text).split(' ').first;
  if (name == "s_barrier")
    barriers.push_back(index);
  const Encoding encoding = group.context.text->instructions()[index].encoding;
  const bool memory = encoding == Encoding::SMEM || encoding == Encoding::FLAT ||
                      encoding == Encoding::MUBUF || encoding == Encoding::DS;
  if (memory && (name.contains("_load") || name.contains("_read") || name.contains("_atomic")))
    reads.push_back(index);
  if (!name.starts_with("s_cbranch"))
    return;
  // A branch that the wave takes one way only is where the other way leads out.
  const Instruction &branch = group.context.text->instructions()[index];
  const uint32_t next = index + branch.size;
  const uint32_t target = next + static_cast<uint32_t>(static_cast<int16_t>(branch.words[0]));
  if (!visits.count(next) || !visits.count(target))
    exits.push_back(index);
}

std::string SeenLoop::placeOf(uint32_t index) const {
  return describePlace(group, group.context.text->addressOf(index), lines);
}

std::string SeenLoop::describe() const {
  if (turns == 0)
    return "";
  const std::string from = placeOf(first), to = placeOf(last);
  std::string text = "keeps the wave in a loop, ";
  text += from == to ? "at " + from : from + " to " + to;
  if (exits.empty())
    text += ", that nothing leads out of";
  else if (exits.size() > 1)
    text += ", as does " + mention(exits.front());
  if (!barriers.empty())
    text += "; it passes the barrier at " + placeOf(barriers.front()) + " in each turn";
  if (reads.empty())
    return text + "; nothing in it reads memory";
  return text + "; it reads memory, first with " + mention(reads.front());
}

/// "wave 3" or "waves 1, 3".
static std::string list(const std::vector<unsigned> &waves) {
  return (waves.size() == 1 ? "wave " : "waves ") +
         llvm::join(llvm::map_range(waves, [](unsigned wave) { return std::to_string(wave); }),
                    ", ");
}

std::vector<uint32_t> Workgroup::watch(Wave &wave) {
  std::vector<uint32_t> trail;
  remaining = allSteps;
  while (remaining != 0 && trail.size() < watchedSteps) {
    uint64_t quantum = 0;
    Wave *next = pick(quantum);
    if (!next && !releaseBarrier())
      break;
    for (uint64_t i = 0; next && i != quantum && next->stop == Stop::None && remaining; ++i) {
      if (next == &wave)
        trail.push_back(wave.pc);
      runWave<false>(*next, 1);
    }
    if (!error.empty())
      break;
  }
  return trail;
}

std::string Workgroup::limitText() const {
  if (executed() >= context.instructionLimit)
    return std::to_string(context.instructionLimit) + " wave-instructions";
  std::string seconds = std::to_string(context.secondsLimit);
  seconds.erase(seconds.find_last_not_of('0') + 1);
  if (seconds.back() == '.')
    seconds.pop_back();
  return seconds + " s of processor time";
}

void Workgroup::failLimit(Wave &wave) {
  if (context.stop.stop_requested()) {
    error = stoppedMessage;
    return;
  }
  const std::string limit = limitText();
  // Nobody is told of what the wave does from here on: it is past its limit.
  for (unsigned i = 0; i < waveCount; ++i)
    waves[i].observer = nullptr;
  std::unique_ptr<Observer> silent = std::move(observer);
  const std::vector<uint32_t> trail = watch(wave);
  observer = std::move(silent);
  for (unsigned i = 0; i < waveCount; ++i)
    waves[i].observer = observer.get();
  error.clear(); // what it does beyond its limit is not what is wrong with it

  const SeenLoop loop(*this, trail);
  std::vector<unsigned> waiting, with;
  const Wave *atBarrier = nullptr;
  for (unsigned i = 0; i < waveCount; ++i) {
    if (waves[i].stop == Stop::Barrier) {
      waiting.push_back(i);
      atBarrier = atBarrier ? atBarrier : &waves[i];
    } else if (&waves[i] != &wave && waves[i].stop == Stop::None && loop.contains(waves[i].pc)) {
      with.push_back(i);
    }
  }
  Text &text = *context.text;
  std::string what = loop.describe();
  const uint32_t at = what.empty() ? std::min(wave.pc, text.dwords() - 1) : loop.decisive();
  if (what.empty())
    what = "is where the wave is";
  if (!with.empty())
    what += "; " + list(with) + (with.size() == 1 ? " is" : " are") + " in it too";
  // A barrier is one dword.
  if (atBarrier && atBarrier->pc != 0)
    what += "; " + list(waiting) + (waiting.size() == 1 ? " waits" : " wait") +
            " at the barrier at " + loop.placeOf(atBarrier->pc - 1) + ", which wave " +
            std::to_string(wave.index) + " never reaches";
  what += "; the workgroup has passed its limit of " + limit +
          ", raise it if the kernel is not stuck";
  failWave(wave, text.instructions()[at], what.c_str());
}
