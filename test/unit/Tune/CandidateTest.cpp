// Candidates: what a table says survives the way there and back, and what is drawn keeps every dependence.
#include "Tune/Candidate.h"

#include "gtest/gtest.h"

#include <map>
#include <set>

using namespace hocket::tune;

namespace {
/// fetch -> read -> product -> sum, which needs the sum of the tile before.
StepGraph product() {
  StepGraph graph;
  graph.steps = {{"fetch", false, true}, {"read"}, {"multiply", true}, {"sum"}};
  graph.dependences = {{0, 1, 0, true}, {1, 2, 0, false}, {2, 3, 0, false}, {3, 2, 1, false}};
  return graph;
}

constexpr const char *kTable = R"(tile.schedule @a unroll(2) wave_groups(2) waves(4) masks_apart {
  tile.cluster memory { fetch(+2) read(0) }
  tile.cluster compute priority(1) interleave("stream powers") { sum(-1) multiply(0) }
}
)";

Table table() {
  Table table;
  table.unroll = 2, table.waveGroups = 2, table.waves = 4;
  table.masksApart = true;
  table.clusters = {{false, -1}, {true, 1, "stream powers"}};
  table.places = {{0, 0, 2}, {1, 0, 0}, {3, 1, -1}, {2, 1, 0}};
  return table;
}

/// Barriers in front of a position of the table.
int phaseOf(const Table &table, int at) {
  int clusters = static_cast<int>(table.clusters.size()), turn = 0, phase = 0, phases = 0;
  for (; at < 0; at += clusters)
    --turn;
  for (; at >= clusters; at -= clusters)
    ++turn;
  for (int cluster = 0; cluster != clusters; ++cluster) {
    phases += !table.clusters[cluster].joined;
    phase += cluster != 0 && cluster <= at && !table.clusters[cluster].joined;
  }
  return turn * phases + phase;
}

/// The rules of ScheduleModel.h, on the table.
bool isLegal(const Table &table, const StepGraph &graph) {
  std::vector<int> position(graph.steps.size()), order(graph.steps.size());
  int clusters = static_cast<int>(table.clusters.size());
  for (size_t i = 0; i != table.places.size(); ++i) {
    const Place &place = table.places[i];
    position[place.step] = static_cast<int>(place.cluster) - place.offset * clusters;
    order[place.step] = static_cast<int>(i);
  }
  for (const Dependence &needs : graph.dependences) {
    int made = position[needs.from] - needs.tiles * clusters, used = position[needs.to];
    if (needs.throughLds ? phaseOf(table, made) + table.waveGroups > phaseOf(table, used)
                         : made > used || (made == used && order[needs.from] > order[needs.to]))
      return false;
  }
  return table.places.size() == graph.steps.size();
}
} // namespace

TEST(Candidate, TableSurvives) {
  StepGraph graph = product();
  Candidate candidate = Candidate::fromTable(table(), graph);
  EXPECT_EQ(toText(candidate.table(graph), graph, "a"), kTable);
  EXPECT_TRUE(isLegal(table(), graph));
}

TEST(Candidate, RepairedOnesAreLegal) {
  StepGraph graph = product();
  Shapes shapes{{4, 8}, {32, 64}, {}};
  unsigned repaired = 0, joined = 0;
  for (uint64_t seed = 0; seed != 300; ++seed) {
    SCOPED_TRACE(seed);
    graph.steps[3].idle = seed % 2 == 1;
    Choices choices(seed);
    Candidate candidate = Candidate::draw(graph, shapes, choices);
    for (int change = 0; change != 4; ++change) {
      if (!candidate.repair(graph))
        break;
      ++repaired;
      joined += toText(candidate.table(graph), graph, "a").find("joined") != std::string::npos;
      EXPECT_TRUE(isLegal(candidate.table(graph), graph)) << toText(candidate.table(graph), graph, "a");
      candidate.change(shapes, choices);
    }
  }
  EXPECT_GT(repaired, 800u);
  EXPECT_GT(joined, 30u);
}

TEST(Candidate, NeighboursDifferAndAreLegalOnceRepaired) {
  StepGraph graph = product();
  Shapes shapes{{4, 8}, {32, 64}, {}};
  Choices choices(1);
  Candidate candidate = Candidate::draw(graph, shapes, choices);
  ASSERT_TRUE(candidate.repair(graph));
  std::set<std::string> texts;
  for (Neighbour &neighbour : candidate.neighbours(graph, shapes)) {
    Candidate &changed = neighbour.candidate;
    if (!changed.repair(graph))
      continue;
    EXPECT_TRUE(isLegal(changed.table(graph), graph)) << toText(changed.table(graph), graph, "a");
    texts.insert(toText(changed.table(graph), graph, "a") + std::to_string(changed.keysOfTile()));
  }
  EXPECT_GT(texts.size(), 20u);
}

/// The number of a change says what it does to a step, wherever that stands: what was learned of it serves others.
TEST(Candidate, TheSameChangeHasTheSameNumber) {
  StepGraph graph = product();
  auto numbersOf = [&](int clusters) {
    Table table;
    table.clusters.assign(clusters, {true, -1, "", false});
    for (size_t step = 0; step != graph.steps.size(); ++step)
      table.places.push_back({step, step % clusters, 0});
    std::map<std::pair<Change, int>, int> numbers;
    for (const Neighbour &neighbour : Candidate::fromTable(table, graph).neighbours(graph, {}))
      ++numbers[{neighbour.kind, neighbour.what}];
    return numbers;
  };
  auto two = numbersOf(2), three = numbersOf(3);
  size_t moves = 0;
  for (auto [number, count] : two)
    if (number.first == Change::Move || number.first == Change::Retime) {
      ++moves;
      EXPECT_EQ(count, 1) << number.second;
      EXPECT_EQ(three[number], 1) << number.second;
    }
  EXPECT_EQ(moves, graph.steps.size() * (8 + 4));
}

/// Without the barrier between, what is fetched in one is not there for the other.
TEST(Candidate, JoinedClustersHaveNoBarrierBetween) {
  StepGraph graph = product();
  Table joined;
  joined.clusters = {{false, -1, "", false}, {true, -1, "", true}};
  joined.places = {{0, 0, 0}, {1, 1, 0}, {2, 1, 0}, {3, 1, 0}};
  EXPECT_FALSE(isLegal(joined, graph));
  Candidate candidate = Candidate::fromTable(joined, graph);
  ASSERT_TRUE(candidate.repair(graph));
  EXPECT_TRUE(isLegal(candidate.table(graph), graph));
  // What a step in front of the barrier fetched is.
  joined.places = {{0, 0, 1}, {1, 0, 0}, {2, 1, 0}, {3, 1, 0}};
  ASSERT_TRUE(isLegal(joined, graph));
  candidate = Candidate::fromTable(joined, graph);
  ASSERT_TRUE(candidate.repair(graph));
  EXPECT_EQ(toText(candidate.table(graph), graph, "a"), toText(joined, graph, "a"));
  EXPECT_NE(toText(joined, graph, "a").find("tile.cluster joined compute { multiply(0)"), std::string::npos);
}

/// A barrier behind no step is none that is needed; one in front of a cluster that is left out stays.
TEST(Candidate, ClustersWithoutStepsAreLeftOut) {
  StepGraph graph = product();
  Table idle;
  idle.clusters = {{false, 1}, {false, 1}, {true, 1, "spread", true}};
  idle.places = {{0, 0, 0}, {1, 2, 0}, {2, 2, 0}, {3, 2, 0}};
  Candidate candidate = Candidate::fromTable(idle, graph);
  ASSERT_TRUE(candidate.repair(graph));
  EXPECT_EQ(toText(candidate.table(graph), graph, "a"), R"(tile.schedule @a {
  tile.cluster memory { fetch(0) }
  tile.cluster compute interleave("spread") { read(0) multiply(0) sum(0) }
}
)");
}

/// Fetched two tiles ahead of their reads, tiles lie in three slots, with some padding; products wait from one tile to
/// the next.
TEST(Candidate, FitsWhereSlotsAndRegistersSuffice) {
  StepGraph graph = product();
  Candidate candidate = Candidate::fromTable(table(), graph);
  Demand demand;
  EXPECT_EQ(candidate.fit(graph, demand), Fit::Yes) << "nothing is known";
  demand.simds = 4, demand.ldsBytes = {3001, 1500}, demand.registers = 512;
  demand.rings = {{0, {1}, 1000}};
  EXPECT_EQ(candidate.fit(graph, demand), Fit::Yes);
  demand.ldsBytes = {3000, 1500};
  EXPECT_EQ(candidate.fit(graph, demand), Fit::No);
  demand.ldsBytes = {4000, 2000};
  // Of four waves each has a SIMD's 512: 32 for addresses, 200 always, and the product of the tile before.
  demand.always = 200;
  demand.values = {{2, {{3, 0}}, 280}};
  EXPECT_EQ(candidate.fit(graph, demand), Fit::Yes);
  demand.values[0].registers = 281;
  EXPECT_EQ(candidate.fit(graph, demand), Fit::No);
  // What is used in the cluster that makes it is held behind none.
  demand.values = {{2, {{2, 0}}, 400}};
  EXPECT_EQ(candidate.fit(graph, demand), Fit::Yes);
  // An operand is held as long as it is read.
  demand.values = {{1, {{1, 0}}, 312}};
  EXPECT_EQ(candidate.fit(graph, demand), Fit::Yes);
  demand.values[0].registers = 313;
  EXPECT_EQ(candidate.fit(graph, demand), Fit::Tight);
}

/// Two workgroups on a compute unit have half of everything.
TEST(Candidate, WorkgroupsShareWhatThereIs) {
  StepGraph graph = product();
  Demand demand;
  demand.simds = 4, demand.ldsBytes = {9000, 4000}, demand.registers = 512, demand.always = 240;
  Table alone = table();
  EXPECT_EQ(Candidate::fromTable(alone, graph).fit(graph, demand), Fit::Yes);
  Table two = table();
  two.workgroups = 2;
  EXPECT_EQ(Candidate::fromTable(two, graph).fit(graph, demand), Fit::No);
  demand.always = 200;
  EXPECT_EQ(Candidate::fromTable(two, graph).fit(graph, demand), Fit::Yes);
  demand.rings = {{0, {1}, 2000}};
  EXPECT_EQ(Candidate::fromTable(alone, graph).fit(graph, demand), Fit::Yes);
  EXPECT_EQ(Candidate::fromTable(two, graph).fit(graph, demand), Fit::No);
}

/// Where nothing branches, a compute cluster is ordered by what its steps need; around a branch it is as written.
TEST(Candidate, OrderCountsAroundBranches) {
  StepGraph graph;
  graph.steps = {{"read"}, {"multiply", true}, {"settle"}, {"other"}};
  graph.dependences = {{1, 2, 0, false}};
  auto text = [&](std::vector<size_t> order, bool branches) {
    graph.steps[2].branches = branches;
    Table table;
    table.clusters = {{true, -1, "", false}};
    for (size_t step : order)
      table.places.push_back({step, 0, 0});
    Candidate candidate = Candidate::fromTable(table, graph);
    EXPECT_TRUE(candidate.repair(graph));
    return toText(candidate.table(graph), graph, "a");
  };
  EXPECT_EQ(text({3, 1, 2, 0}, false), text({0, 1, 2, 3}, false));
  EXPECT_NE(text({3, 1, 2, 0}, true), text({0, 1, 2, 3}, true));
  EXPECT_EQ(text({3, 1, 2, 0}, true), text({1, 3, 2, 0}, true));
}

/// Where a step that does nothing stands means nothing.
TEST(Candidate, IdleStepsStandBeforeWhoNeedsThem) {
  StepGraph graph;
  graph.steps = {{"multiply", true}, {"mask"}, {"sum"}};
  graph.dependences = {{0, 1, 0, false}, {1, 2, 0, false}};
  auto text = [&](int offset, bool idle) {
    graph.steps[1].idle = idle;
    Table table;
    table.clusters = {{true, -1, "", false}, {false, -1, "", false}};
    table.places = {{0, 0, 0}, {1, offset == 0 ? 0u : 1u, offset}, {2, 1, -2}};
    Candidate candidate = Candidate::fromTable(table, graph);
    EXPECT_TRUE(candidate.repair(graph));
    return toText(candidate.table(graph), graph, "a");
  };
  EXPECT_NE(text(0, false), text(-1, false));
  EXPECT_EQ(text(0, true), text(-1, true));
  EXPECT_NE(text(0, true).find("{ mask(-2) sum(-2) }"), std::string::npos) << text(0, true);
  // Whoever needs it of the tile before comes first.
  graph.dependences.push_back({1, 0, 1, false});
  EXPECT_NE(text(0, true).find("{ mask(-1) multiply(0) }"), std::string::npos) << text(0, true);
}

/// What goes through more tiles at once is of another form, wherever its clusters begin.
TEST(Candidate, FormsDifferInTilesUnderWay) {
  StepGraph graph;
  graph.steps = {{"first", true}, {"second", true}};
  graph.dependences = {{0, 1, 0, false}};
  auto form = [&](int first, int second) {
    Table table;
    table.clusters = {{true, -1, "", false}};
    table.places = {{0, 0, first}, {1, 0, second}};
    Candidate candidate = Candidate::fromTable(table, graph);
    EXPECT_TRUE(candidate.repair(graph));
    return candidate.form(graph);
  };
  EXPECT_EQ(form(1, 0), form(0, -1));
  EXPECT_NE(form(0, 0), form(0, -1));
}

/// As many copies of the loop as rings have slots, where nothing else is said; what is said stays.
TEST(Candidate, UnrollFollowsTheSlots) {
  StepGraph graph = product();
  Table ahead;
  ahead.unroll = 2;
  ahead.clusters = {{true, -1, "", false}};
  ahead.places = {{0, 0, 1}, {1, 0, 0}, {2, 0, 0}, {3, 0, 0}};
  Candidate candidate = Candidate::fromTable(ahead, graph);
  std::set<int> unrolls;
  for (auto &[moved, kind, what] : candidate.neighbours(graph, {})) {
    if (kind != Change::Move)
      continue;
    ASSERT_TRUE(moved.repair(graph));
    std::vector<int> offset(graph.steps.size());
    for (const Place &place : moved.table(graph).places)
      offset[place.step] = place.offset;
    if (offset[0] - offset[1] == 2)
      unrolls.insert(moved.table(graph).unroll);
  }
  EXPECT_EQ(unrolls, std::set<int>{3});
  ahead.unroll = 4;
  Candidate fixed = Candidate::fromTable(ahead, graph);
  ASSERT_TRUE(fixed.repair(graph));
  EXPECT_EQ(fixed.table(graph).unroll, 4);
}

/// All operands a tile ahead, and what is fetched for them: one change.
TEST(Candidate, OperandsAreReadAheadTogether) {
  StepGraph graph;
  graph.steps = {{"fetch", false, true}, {"read"}, {"first", true}, {"fetch_2", false, true}, {"read_2"}, {"second", true}};
  graph.dependences = {{0, 1, 0, true}, {1, 2, 0, false}, {3, 4, 0, true}, {4, 5, 0, false}, {2, 5, 0, false}};
  Table table;
  table.unroll = 2;
  table.clusters = {{true, -1, "", false}};
  table.places = {{0, 0, 1}, {3, 0, 1}, {1, 0, 0}, {2, 0, 0}, {4, 0, 0}, {5, 0, 0}};
  std::set<std::string> texts;
  for (auto &[moved, kind, what] : Candidate::fromTable(table, graph).neighbours(graph, {}))
    if (kind == Change::RetimeAll && moved.repair(graph))
      texts.insert(toText(moved.table(graph), graph, "a"));
  EXPECT_TRUE(texts.contains(R"(tile.schedule @a unroll(2) {
  tile.cluster compute { fetch(+2) read(+1) first(0) fetch_2(+2) read_2(+1) second(0) }
}
)"));
}

/// Products a tile later, with the operand that nothing else needs: one change, which single moves would make of three,
/// each of which keeps more in registers.
TEST(Candidate, OperandsGoWithWhoNeedsThem) {
  StepGraph graph;
  graph.steps = {{"read_a"}, {"first", true}, {"read_b"}, {"second", true}};
  graph.steps[0].fetches = graph.steps[2].fetches = true;
  graph.dependences = {{0, 1, 0, true}, {1, 3, 0, false}, {2, 3, 0, true}};
  Table table;
  table.clusters = {{false, -1, "", false}, {true, -1, "", false}};
  table.places = {{0, 0, 0}, {2, 0, 0}, {1, 1, 0}, {3, 1, 0}};
  std::set<std::string> texts;
  for (auto &[moved, kind, what] : Candidate::fromTable(table, graph).neighbours(graph, {}))
    if (kind == Change::Retime && moved.repair(graph))
      texts.insert(toText(moved.table(graph), graph, "a"));
  EXPECT_TRUE(texts.contains(R"(tile.schedule @a {
  tile.cluster memory { read_a(0) read_b(-1) }
  tile.cluster compute { first(0) second(-1) }
}
)"));
}

TEST(Candidate, DemandOfStepsWithoutAPlaceIsLeftOut) {
  Algorithm algorithm;
  algorithm.graph.steps = {{"load"}, {"put", false, true}, {"read"}, {"multiply", true}};
  algorithm.start.clusters = {{true, -1}};
  algorithm.start.places = {{0, 0, 1}, {2, 0, 0}, {3, 0, 0}};
  algorithm.demand.rings = {{1, {2}, 1000}, {0, {2, 1}, 10}};
  algorithm.demand.values = {{0, {{1, 0}}, 5}, {1, {{2, 0}}, 6}, {2, {{3, 1}}, 7}};
  Demand demand = onlyPlaced(algorithm).demand;
  ASSERT_EQ(demand.rings.size(), 1u);
  EXPECT_EQ(demand.rings[0].reads, std::vector<size_t>{1});
  ASSERT_EQ(demand.values.size(), 2u);
  EXPECT_TRUE(demand.values[0].uses.empty());
  EXPECT_EQ(demand.values[1].from, 1u);
  EXPECT_EQ(demand.values[1].uses[0], (std::pair<size_t, int>(2, 1)));
}

TEST(Candidate, StepsWithoutAPlacePassOnWhatTheyNeed) {
  Algorithm algorithm;
  algorithm.graph.steps = {{"load"}, {"put", false, true}, {"read"}, {"multiply", true}};
  algorithm.graph.dependences = {{0, 1, 0, false}, {1, 2, 0, true}, {2, 3, 0, false}};
  algorithm.start.clusters = {{true, -1}};
  algorithm.start.places = {{0, 0, 1}, {2, 0, 0}, {3, 0, 0}};
  Algorithm placed = onlyPlaced(algorithm);
  ASSERT_EQ(placed.graph.steps.size(), 3u);
  EXPECT_TRUE(placed.graph.steps[0].fetches);
  ASSERT_EQ(placed.graph.dependences.size(), 2u);
  EXPECT_EQ(placed.graph.dependences[0].from, 1u);
  EXPECT_EQ(placed.graph.dependences[1].from, 0u);
  EXPECT_EQ(placed.graph.dependences[1].to, 1u);
  EXPECT_TRUE(placed.graph.dependences[1].throughLds);
  EXPECT_EQ(placed.start.places[2].step, 2u);
}
