// What the numbers of a head's keys or values count, on the host.
#include "Verify/Attention/KeyFactors.h"

using namespace hocket;
using namespace hocket::attention;

/// Of each key of a sequence, whichever page it lies in.
static std::vector<double> numbersInPages(const ForwardProblem &problem, std::span<const double> numbers, int64_t sequence,
                                          int64_t kvHead) {
  std::vector<double> result;
  const int64_t rows = problem.lists.pageSize, keys = problem.lengthsOf(sequence).kv;
  for (int64_t key = 0; key != keys; ++key) {
    const int64_t slot = problem.pageOf(sequence, key / rows) * rows + key % rows;
    result.push_back(numbers[static_cast<size_t>(slot * problem.kvHeads + kvHead)]);
  }
  return result;
}

KeyFactors::KeyFactors(const ForwardProblem &problem, const CapturedNumbers &captured, const std::string &name, int64_t size,
                       int64_t sequence, int64_t kvHead)
    : numbers(captured.at(name)), size(size) {
  if (size == 1 && problem.lists.inPages()) {
    ofPages = numbersInPages(problem, numbers, sequence, kvHead);
    return;
  }
  const bool isPacked = size == 1 && problem.lists.packedKv;
  const int64_t keys = isPacked ? problem.totalKv : problem.seqKv;
  const int64_t ofHead = size == 0 ? 1 : (keys + size - 1) / size;
  const auto first = isPacked ? static_cast<int64_t>(captured.at("cu_seqlens_k")[static_cast<size_t>(sequence)]) : 0;
  const int64_t head = isPacked ? kvHead : sequence * problem.kvHeads + kvHead;
  numbers = numbers.subspan(static_cast<size_t>(head * ofHead + first));
}

double KeyFactors::of(int64_t key) const {
  if (!ofPages.empty())
    return ofPages[static_cast<size_t>(key)];
  return numbers.empty() ? 1 : numbers[static_cast<size_t>(size == 0 ? 0 : key / size)];
}
