// Block lists of the command line.
#include "BlockMask.h"

#include "Npy.h"

#include "Reference/ScoreInterpreter.h"
#include "Verify/Random.h"

#include "llvm/ADT/StringRef.h"

using namespace hocket;
using namespace hocket::run;
using namespace hocket::attention;
using llvm::StringRef;

static constexpr BlockSizes kUsualBlocks = {128, 128};
static constexpr StringRef kRandom = "random:", kMasks = "masks", kKernel = "kernel";
/// Which stream of random numbers; none of the test data's.
static constexpr uint64_t kBlockStream = 100;

/// Batch and heads of the file's lists, 1 where they are the same for all.
static std::pair<int64_t, int64_t> groupsOf(const std::string &path) {
  Result<Array> array = readNpy(path);
  bool hasGroups = array.ok() && array->shape.size() == 4;
  return hasGroups ? std::pair(array->shape[0], array->shape[1]) : std::pair<int64_t, int64_t>(1, 1);
}

Status run::setBlocks(const BlockMaskOptions &options, ForwardProblem &problem) {
  if (options.mask.empty())
    return options.sizes.any() ? Status(invalidInput("--block-size is that of --block-mask; give that too"))
                               : Status::success();
  problem.blocks = options.sizes.any() ? options.sizes : kUsualBlocks;
  problem.fullBlocks = true;
  problem.makesBlocks = options.mask == kKernel;
  if (options.mask == kMasks || problem.makesBlocks || problem.blocks.queries < 1 || problem.blocks.keys < 1)
    return Status::success();
  auto [batch, heads] = groupsOf(options.mask);
  int64_t rows = problem.seqQ / problem.blocks.queries + (problem.seqQ % problem.blocks.queries != 0);
  int64_t columns = problem.seqKv / problem.blocks.keys + (problem.seqKv % problem.blocks.keys != 0);
  for (std::string prefix : {"", "full_"}) {
    problem.capturedExtents[prefix + "kv_num_blocks"] = {batch, heads, rows};
    problem.capturedExtents[prefix + "kv_indices"] = {batch, heads, rows, columns};
  }
  return Status::success();
}

static Result<double> readDensity(StringRef text) {
  double density = 0;
  if (!text.getAsDouble(density) && density >= 0 && density <= 1)
    return density;
  return invalidInput("'--block-mask random:" + text.str() + "' has no density from 0 to 1");
}

static std::vector<BlockKind> randomTable(double density, uint64_t seed, size_t blocks) {
  verify::Generator generator(seed, kBlockStream);
  std::vector<BlockKind> table(blocks);
  for (size_t i = 0; i != blocks; ++i) {
    uint64_t bits = generator.bits(i);
    if (static_cast<double>(bits >> 11) * 0x1p-53 < density)
      table[i] = bits & 1 ? BlockKind::Full : BlockKind::Partial;
  }
  return table;
}

static Result<BlockLists> ofMasks(const ForwardProblem &problem, const ForwardInputs &inputs) {
  auto rules = reference::interpretModifications(problem, inputs.captured);
  if (!rules.ok())
    return rules.error();
  return makeBlockLists(problem, [&](int64_t batch, int64_t head, int64_t query, int64_t key) {
    return problem.sees(query, key) && (*rules)->sees({batch, head, query, key});
  });
}

static Result<BlockLists> ofFile(const std::string &path) {
  Result<Array> array = readNpy(path);
  if (!array.ok())
    return invalidInput("'--block-mask " + path + "' is neither random:DENSITY nor masks nor kernel, and as a file: " +
                        array.error().message);
  size_t rank = array->shape.size();
  if ((rank != 2 && rank != 4) || array->data.size() != static_cast<size_t>(array->elements()))
    return invalidInput("'" + path + "' has " + std::to_string(rank) +
                        " dimensions of numbers, expected bytes [blocks of queries, blocks of keys], or with batch "
                        "and heads in front");
  std::vector<BlockKind> table;
  for (std::byte byte : array->data) {
    if (byte > std::byte(BlockKind::Full))
      return invalidInput("'" + path + "' has the kind " + std::to_string(int(byte)) +
                          ", expected 0 for a hidden block, 1 for a partial and 2 for a full one");
    table.push_back(BlockKind(byte));
  }
  int64_t batch = rank == 4 ? array->shape[0] : 1, heads = rank == 4 ? array->shape[1] : 1;
  return listBlocks(batch, heads, array->shape[rank - 2], array->shape[rank - 1], table);
}

bool run::isOfMasks(const std::string &mask) { return mask == kMasks || mask == kKernel; }

Result<BlockLists> run::readBlockLists(const std::string &mask, uint64_t seed, const ForwardProblem &problem,
                                       const ForwardInputs &inputs) {
  if (isOfMasks(mask))
    return ofMasks(problem, inputs);
  StringRef text = mask;
  if (!text.consume_front(kRandom))
    return ofFile(mask);
  Result<double> density = readDensity(text);
  if (!density.ok())
    return density.error();
  manifest::TensorSpec tensor = problem.tensor("kv_indices");
  int64_t batch = tensor.dimensions[0].extent, heads = tensor.dimensions[1].extent;
  int64_t rows = tensor.dimensions[2].extent, columns = tensor.rowElements;
  std::vector<BlockKind> table = randomTable(*density, seed, static_cast<size_t>(tensor.elements()));
  return listBlocks(batch, heads, rows, columns, table);
}
