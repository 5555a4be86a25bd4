#include "ListedProblem.h"

using namespace hocket;
using namespace hocket::run;
using namespace hocket::attention;

const ForwardProblem &run::forwardOf(const ListedProblem &problem) {
  if (const auto *backward = std::get_if<BackwardProblem>(&problem))
    return backward->forward;
  return std::get<ForwardProblem>(problem);
}

std::string run::describe(const ListedProblem &problem) {
  return std::visit([](const auto &either) { return either.describe(); }, problem);
}

Status run::validate(const ListedProblem &problem) {
  return std::visit([](const auto &either) { return attention::validate(either); }, problem);
}

/// Of a pair of query and key: products over elements of Q and K, and of V.
static double elementsOfPair(const ListedProblem &problem) {
  const ForwardProblem &forward = forwardOf(problem);
  bool isBackward = std::holds_alternative<BackwardProblem>(problem);
  // Backward: scores, dQ and dK; dP and dV.
  return double(forward.headDim) * (isBackward ? 3 : 1) + double(forward.valueHeadDim()) * (isBackward ? 2 : 1);
}

double run::creditedFlops(const ListedProblem &problem) {
  const ForwardProblem &forward = forwardOf(problem);
  double pairs = 0;
  for (int64_t sequence = 0; sequence != forward.batch; ++sequence) {
    Lengths lengths = forward.lengthsOf(sequence);
    pairs += double(forward.heads) * double(lengths.q) * double(lengths.kv);
  }
  return 2 * pairs * elementsOfPair(problem) * forward.visibility.kind().creditedShare;
}

double run::tflops(const ListedProblem &problem, double microseconds) {
  return creditedFlops(problem) / (microseconds * 1e6);
}

double run::tokensPerSecond(const ListedProblem &problem, double microseconds) {
  const ForwardProblem &forward = forwardOf(problem);
  double tokens = 0;
  for (int64_t sequence = 0; sequence != forward.batch; ++sequence)
    tokens += double(forward.lengthsOf(sequence).q);
  return tokens / microseconds * 1e6;
}
