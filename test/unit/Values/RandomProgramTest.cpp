// Random programs of maps and reductions: what the simulator computes of the compiled kernel,
// under checked execution, is what the interpreter says.
#include "RandomProgram.h"
#include "TileInterpreter.h"

#include "Registration/Registration.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

using namespace hocket;
using namespace hocket::test;

static uint64_t environment(const char *name, uint64_t fallback) {
  const char *value = std::getenv(name);
  return value ? std::strtoull(value, nullptr, 10) : fallback;
}

namespace {
/// Elements that were compared, and those of which the interpreter says nothing.
struct Compared {
  int64_t elements = 0, open = 0;
};
} // namespace

static bool agrees(const reference::Number &expected, double found) {
  if (std::isnan(expected.value) || std::isnan(found))
    return std::isnan(expected.value) && std::isnan(found);
  return expected.value == found || std::fabs(expected.value - found) <= expected.error;
}

/// Where the kernel's numbers differ from the interpreter's, or "".
static std::string compare(const Matrix &expected, const Tensor &found, Compared &compared) {
  if (expected.numbers.size() != found.numbers.size())
    return "sizes differ";
  for (size_t i = 0; i != found.numbers.size(); ++i) {
    const reference::Number &number = expected.numbers[i];
    ++compared.elements;
    if (std::isinf(number.error)) {
      ++compared.open;
      continue;
    }
    if (!agrees(number, found.numbers[i]))
      return "element (" + std::to_string(i / found.columns) + ", " +
             std::to_string(i % found.columns) + ") is " + std::to_string(found.numbers[i]) +
             ", expected " + std::to_string(number.value) + " +- " + std::to_string(number.error);
  }
  return "";
}

static void runProgram(uint64_t seed, mlir::MLIRContext &context, const std::string &target,
                       Compared &compared) {
  std::mt19937_64 random(seed);
  RandomProgram program = makeRandomProgram(random);
  size_t at = program.text.find("gfx950");
  program.text.replace(at, 6, target);
  SCOPED_TRACE("HOCKET_TEST_SEED=" + std::to_string(seed) + " HOCKET_RANDOM_PROGRAMS=1\n" + program.text);
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceString<mlir::ModuleOp>(program.text, &context);
  ASSERT_TRUE(module);
  Result<std::map<unsigned, Matrix>> expected = interpretKernel(*module, program.arguments);
  ASSERT_TRUE(expected) << expected.error().message;
  Status status = runKernel(program.text, "program", 1, program.arguments, target);
  ASSERT_TRUE(status) << status.error().message;
  for (unsigned output : program.outputs) {
    std::string difference =
        compare(expected->at(output), *std::get<Tensor *>(program.arguments[output]), compared);
    ASSERT_EQ(difference, "") << "argument " << output;
  }
}

static void runPrograms(const std::string &target, uint64_t count) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  uint64_t seed = environment("HOCKET_TEST_SEED", 1000), programs = environment("HOCKET_RANDOM_PROGRAMS", count);
  Compared compared;
  for (uint64_t i = 0; i != programs && !testing::Test::HasFailure(); ++i)
    runProgram(seed + i, context, target, compared);
  std::printf("%lld elements compared, of %lld nothing is promised\n",
              static_cast<long long>(compared.elements - compared.open),
              static_cast<long long>(compared.open));
  // A bound that promises nothing would pass anything.
  if (programs >= count) {
    EXPECT_LT(compared.open, compared.elements / 4);
  }
}

TEST(RandomPrograms, agreeWithTheInterpreter) { runPrograms("gfx950", 24); }
TEST(RandomPrograms, agreeOnGfx942) { runPrograms("gfx942", 8); }
