// Scales of blocks of Q, K and V on the host.
#include "Verify/Attention/BlockScales.h"

using namespace hocket;
using namespace hocket::attention;

BlockScales::BlockScales(const ForwardProblem &problem, const CapturedNumbers &captured,
                         const std::string &tensor, int64_t sequence, int64_t head) {
  if (!problem.mxScales || (tensor == "v" && !problem.hasValueScales()))
    return;
  areOfRows = tensor == "v";
  const manifest::TensorSpec scales = problem.tensor(tensor + "_scale");
  const int64_t rows = scales.dimensions.back().extent, heads = tensor == "q" ? problem.heads : problem.kvHeads;
  auto packed = areOfRows ? captured.end() : captured.find("cu_seqlens_" + tensor);
  const bool isPacked = packed != captured.end();
  const int64_t first = isPacked ? static_cast<int64_t>(packed->second[static_cast<size_t>(sequence)]) : 0;
  const int64_t place = (isPacked ? head : sequence * heads + head) * rows + first;
  words = scales.rowElements;
  numbers = std::span<const double>(captured.at(tensor + "_scale")).subspan(static_cast<size_t>(place * words));
}

double BlockScales::of(int64_t row, size_t element) const {
  constexpr size_t ofWord = 4;
  const size_t block = (areOfRows ? static_cast<size_t>(row) : element) / kMxBlock;
  const size_t place = areOfRows ? block / ofWord * static_cast<size_t>(words) + element : static_cast<size_t>(row * words) + block / ofWord;
  const double number = numbers[place];
  const auto word = static_cast<uint32_t>(static_cast<int32_t>(number));
  return decode(ElementType::E8M0, word >> (8 * (block % ofWord)) & 0xff);
}
