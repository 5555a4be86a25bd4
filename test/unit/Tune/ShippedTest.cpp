// What is shipped lies in the space that is searched: a search that begins elsewhere can get there.
#include "Tune/Candidate.h"
#include "hocket/Pipelines/Compiler.h"

#include "gtest/gtest.h"

#include <set>

using namespace hocket;
using namespace hocket::tune;

namespace {
struct Shipped {
  std::string schedule;
  int heads, keys;
};

void PrintTo(const Shipped &shipped, std::ostream *out) { *out << shipped.schedule << " of " << shipped.heads; }

class ShippedCandidate : public testing::TestWithParam<Shipped> {};

Result<Algorithm> algorithmOf(const Shipped &shipped) {
  CompileOptions options;
  options.schedule = shipped.schedule;
  options.kvTile = shipped.keys;
  options.to = Stage::Tile;
  Result<Compilation> tiles = compile("attn.forward @f element_type(bf16) head_dim(" + std::to_string(shipped.heads) +
                                          ") mask(none) lse\n",
                                      "text", options);
  if (!tiles.ok())
    return tiles.error();
  Result<Algorithm> algorithm = readAlgorithm(tiles->output, "text");
  return algorithm.ok() ? Result<Algorithm>(onlyPlaced(*algorithm)) : algorithm.error();
}

/// Cluster and offset of each step that does something; offsets from that of the first.
std::set<std::tuple<size_t, size_t, int>> places(const Table &table, const StepGraph &graph) {
  int first = 0;
  for (const Place &place : table.places)
    first = place.step == 0 ? place.offset : first;
  std::set<std::tuple<size_t, size_t, int>> result;
  for (const Place &place : table.places)
    if (!graph.steps[place.step].idle)
      result.emplace(place.step, place.cluster, place.offset - first);
  return result;
}
} // namespace

TEST_P(ShippedCandidate, IsLegalAndMayFit) {
  Result<Algorithm> algorithm = algorithmOf(GetParam());
  ASSERT_TRUE(algorithm.ok()) << algorithm.error().message;
  Candidate candidate = Candidate::fromTable(algorithm->start, algorithm->graph);
  ASSERT_TRUE(candidate.repair(algorithm->graph));
  Table table = candidate.table(algorithm->graph);
  EXPECT_EQ(places(table, algorithm->graph), places(algorithm->start, algorithm->graph))
      << toText(table, algorithm->graph, "candidate");
  EXPECT_EQ(table.unroll, algorithm->start.unroll);
  EXPECT_NE(candidate.fit(algorithm->graph, algorithm->demand), Fit::No);
}

INSTANTIATE_TEST_SUITE_P(Tune, ShippedCandidate,
                         testing::Values(Shipped{"sequential", 128, 64}, Shipped{"dual_wave", 64, 128},
                                         Shipped{"dual_wave", 128, 64}, Shipped{"both_products", 128, 32},
                                         Shipped{"both_products_joined", 128, 32}, Shipped{"lone_wave", 128, 64},
                                         Shipped{"lone_wave_streamed", 128, 64}, Shipped{"lone_wave_spread", 256, 32},
                                         Shipped{"read_ahead", 256, 32}, Shipped{"streamed_twice", 256, 32},
                                         Shipped{"halves_twice", 256, 32}, Shipped{"products_apart", 192, 32},
                                         Shipped{"both_products_streamed", 192, 32}, Shipped{"preload_1", 128, 64}));
