#include "UnitBench.h"

#include "Target/AMDGPU/McContext.h"

#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::sim;
using namespace hocket::sim::test;

TimeParameters UnitBench::free() {
  TimeParameters parameters;
  parameters.waveLaunch = parameters.fetchNext = parameters.fetchJump = parameters.fetchCold = 0;
  return parameters;
}

UnitBench::UnitBench() : parameters(free()) {}

std::vector<TimedInstruction> UnitBench::assemble(const std::string &program,
                                                  const TimeParameters &parameters) {
  std::vector<TimedInstruction> result;
  auto target = amdgpu::McTarget::create("gfx950");
  auto timer = InstructionTimer::create("gfx950", parameters);
  if (!target.ok() || !timer.ok()) {
    ADD_FAILURE() << "no gfx950 target";
    return result;
  }
  amdgpu::Disassembler disassembler(*target);
  auto code = amdgpu::assembleCode(**target, program);
  if (!code.ok()) {
    ADD_FAILURE() << code.error().message;
    return result;
  }
  llvm::ArrayRef<uint8_t> left(*code);
  while (!left.empty()) {
    auto decoded = disassembler.decode(left, 0);
    auto described = (*timer)->describe(left);
    if (!decoded.ok() || !described.ok()) {
      ADD_FAILURE() << "not decoded";
      return result;
    }
    result.push_back(*std::move(described));
    left = left.drop_front(decoded->bytes.size());
  }
  return result;
}

void UnitBench::addWave(const std::string &program, unsigned simd, ExecutedCost cost) {
  streams.push_back({assemble(program + "\ns_endpgm", parameters), simd, cost});
}

void UnitBench::run() {
  ComputeUnit unit(parameters, 4096);
  cycles.assign(streams.size(), {});
  std::vector<size_t> next(streams.size(), 0);
  for (size_t w = 0; w < streams.size(); ++w) {
    unit.addWave(0, streams[w].simd, 0);
    unit.setNext(unsigned(w), streams[w].instructions[0], 0);
  }
  size_t live = streams.size(), waiting = 0;
  ComputeUnit::Choice choice;
  while (unit.choose(choice)) {
    Stream &stream = streams[choice.wave];
    const TimedInstruction &instruction = stream.instructions[next[choice.wave]];
    IssueEvent event = unit.issue(choice, stream.cost);
    events.push_back(event);
    cycles[choice.wave].push_back(event.cycle);
    if (instruction.ends)
      --live;
    else
      unit.setNext(choice.wave, stream.instructions[++next[choice.wave]], 0);
    waiting += instruction.barrier;
    if (live > 0 && waiting == live) {
      unit.releaseBarrier(0);
      waiting = 0;
    }
  }
}

uint64_t UnitBench::span(const std::string &program, ExecutedCost cost,
                         const TimeParameters &parameters) {
  UnitBench bench;
  bench.parameters = parameters;
  bench.addWave(program, 0, cost);
  bench.run();
  const std::vector<uint64_t> &issued = bench.issued();
  return issued[issued.size() - 2] - issued.front();
}

std::string test::repeat(unsigned count, const std::string &line) {
  std::string text;
  for (unsigned i = 0; i < count; ++i)
    text += line + "\n";
  return text;
}
