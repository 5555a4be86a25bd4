// Numbers of lists against what they may be.
#include "NumberCheck.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <cstring>

using namespace hocket;
using namespace hocket::sim;
using namespace hocket::sim::check;
using hocket::runtime::FindingKind;

static constexpr uint64_t kNumberBytes = sizeof(int32_t);

NumberCheck::NumberCheck(std::span<const runtime::NumberList> facts, const Memory &memory) {
  for (const runtime::NumberList &list : facts) {
    if (list.rows == 0 || list.numbers == 0)
      continue;
    const uint64_t bytes = ((list.rows - 1) * list.rowStride + list.numbers) * kNumberBytes;
    const std::byte *host = memory.translate(list.address, bytes);
    if (!host)
      continue;
    lists.push_back({list, host, host + bytes});
    begin = begin ? std::min(begin, host) : host;
    end = std::max(end, host + bytes);
  }
}

static int32_t numberAt(const std::byte *at) {
  int32_t number;
  std::memcpy(&number, at, sizeof(number));
  return number;
}

/// "'block_table'[1, 3]", or "'cu_seqlens_q'[3]" where there is one row.
static std::string placeInList(const runtime::NumberList &list, uint64_t row, uint64_t column) {
  return "'" + list.name + "'[" + (list.rowStride != 0 ? std::to_string(row) + ", " : "") + std::to_string(column) + "]";
}

std::string NumberCheck::List::complaint(uint64_t offset) const {
  const uint64_t index = offset / kNumberBytes, stride = facts.rowStride;
  // Of rows that lie on top of one another each number is in the first.
  const uint64_t row = stride != 0 ? std::min(index / stride, facts.rows - 1) : 0, column = index - row * stride;
  if (column >= facts.numbers)
    return {};
  const int32_t number = numberAt(begin + offset);
  const bool descends = facts.ascending && column != 0 && number < numberAt(begin + offset - kNumberBytes);
  if (number >= facts.least && number <= facts.most && !descends)
    return {};
  std::string text = "loads " + std::to_string(number) + " from " + placeInList(facts, row, column) +
                     " (device address 0x" + llvm::utohexstr(facts.address + offset, /*LowerCase=*/true) + "), ";
  if (descends)
    return text + "behind " + std::to_string(numberAt(begin + offset - kNumberBytes)) + ": what is " + facts.meaning +
           " cannot descend";
  return text + "which is to be " + facts.meaning + ": " + std::to_string(facts.least) + " to " +
         std::to_string(facts.most);
}

void NumberCheck::check(const std::byte *host, uint32_t bytes, const InstructionInfo &info, uint64_t byte,
                        const Place &place, FindingLog &log) const {
  for (const List &list : lists) {
    if (host >= list.end || host + bytes <= list.begin)
      continue;
    // Whole numbers, from the first one on that begins here.
    const uint64_t skipped = host < list.begin ? static_cast<uint64_t>(list.begin - host) : 0;
    const auto from = static_cast<uint64_t>(host + skipped - list.begin);
    for (uint64_t offset = (from + kNumberBytes - 1) / kNumberBytes * kNumberBytes;
         list.begin + offset + kNumberBytes <= std::min(host + bytes, list.end); offset += kNumberBytes) {
      std::string complaint = list.complaint(offset);
      if (complaint.empty())
        continue;
      Place at = place;
      at.lane = laneOf(info, byte + skipped + (offset - from));
      log.add(FindingKind::NumberOutOfRange, at, {}, [&](LoggedFinding &finding) { finding.what = complaint; });
    }
  }
}
