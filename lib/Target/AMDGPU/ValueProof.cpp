// What can be proven of a mutant because of what registers hold. An LLVM that was built without Z3 proves nothing here.
#include "Target/AMDGPU/MachineTerms.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/Endian.h"

using namespace hocket;
using namespace hocket::amdgpu;
using Term = MachineTerms::Term;

bool CodeFlow::fetchesNothing(size_t fetch) const {
  if (!LLVM_WITH_Z3 || nodes[fetch].kind != InstructionClass::LdsDma)
    return false;
  // The descriptor: four scalar registers, the third of which says how many bytes there are.
  constexpr unsigned words = 4, bytes = 2;
  auto descriptor = llvm::find_if(nodes[fetch].effects.reads, [](const RegisterAccess &read) {
    return read.file == RegisterFile::Scalar && read.count == words && !read.implicit;
  });
  if (descriptor == nodes[fetch].effects.reads.end())
    return false;
  MachineTerms terms(*this);
  Term count = terms.before(fetch, {RegisterFile::Scalar, descriptor->first + bytes});
  llvm::SMTSolver &solver = terms.terms();
  return terms.isImpossible(
      solver.mkAnd(terms.conditions(fetch), solver.mkNot(solver.mkEqual(count, terms.number(0)))));
}

bool CodeFlow::isApart(size_t a, size_t b) const {
  // A wave's whole load, from m0 and the instruction's offset on, which moves it there and in memory alike.
  constexpr uint32_t most = 64 * 16;
  auto offsetOf = [&](size_t at) { return llvm::support::endian::read32le(code[at].bytes.data()) & 0xfff; };
  const bool areLoads = nodes[a].kind == InstructionClass::LdsDma && nodes[b].kind == InstructionClass::LdsDma &&
                        nodes[a].name.starts_with("BUFFER_") && nodes[b].name.starts_with("BUFFER_");
  if (!LLVM_WITH_Z3 || !areLoads)
    return false;
  MachineTerms terms(*this);
  llvm::SMTSolver &solver = terms.terms();
  auto place = [&](size_t at) {
    return solver.mkBVAdd(terms.before(at, {RegisterFile::Scalar, kM0}), terms.number(offsetOf(at)));
  };
  Term between = solver.mkBVSub(place(a), place(b));
  return terms.isImpossible(solver.mkOr(solver.mkBVUlt(between, terms.number(most)),
                                        solver.mkBVUgt(between, terms.number(-most))));
}

bool CodeFlow::isSameLoad(size_t later, size_t earlier) const {
  const bool areLoads = nodes[later].kind == InstructionClass::LdsDma && nodes[earlier].kind == InstructionClass::LdsDma;
  if (!LLVM_WITH_Z3 || !hasLanes || !areLoads)
    return false;
  // The later one must find the same in memory: nothing is stored on a way from the one to the other.
  const llvm::BitVector behind = reachedFrom(earlier, /*forward=*/true),
                        before = reachedFrom(later, /*forward=*/false);
  auto stores = [&](unsigned at) {
    const InstructionClass kind = nodes[at].kind;
    return before.test(at) && (kind == InstructionClass::VmemStore || kind == InstructionClass::VmemOther);
  };
  return llvm::none_of(behind.set_bits(), stores) && MachineTerms(*this).readTheSame(later, earlier);
}

bool CodeFlow::decidesTheSame(size_t comparison, const Instruction &changed) const {
  const size_t branch = comparison + 1;
  if (!LLVM_WITH_Z3 || !hasLanes || branch >= code.size() || nodes[branch].next.size() != 2 || nodes[branch].previous.size() != 1)
    return false;
  MachineTerms terms(*this);
  llvm::SMTSolver &solver = terms.terms();
  auto before = [&](MachineRegister which) { return terms.before(comparison, which); };
  Term original = terms.decision(comparison), other = terms.decision(changed, before);
  if (!original || !other)
    return false;
  Term differs = solver.mkAnd(terms.conditions(comparison), solver.mkNot(solver.mkEqual(original, other)));
  if (terms.isImpossible(differs))
    return true;
  // Execution of what computes alone, from one side of the branch up to the other.
  auto changesNothing = [&](size_t at, size_t end) {
    if (isLive(at, RegisterFile::Scc, 0) || isLive(end, RegisterFile::Scc, 0))
      return false;
    std::map<MachineRegister, Term> written; // and what is in it then
    auto read = [&](MachineRegister which) {
      auto own = written.find(which);
      return own == written.end() ? before(which) : own->second;
    };
    for (size_t steps = 0; at != end; at = nodes[at].next.front(), ++steps) {
      const Node &node = nodes[at];
      const bool passes = node.kind == InstructionClass::Nop || node.kind == InstructionClass::Branch;
      if (steps == nodes.size() || node.next.size() != 1 || (!node.computes && !passes))
        return false;
      std::map<MachineRegister, Term> results;
      for (const RegisterAccess &write : node.effects.writes)
        for (unsigned number = write.first; number != write.end(); ++number)
          results[{write.file, number}] = terms.result(at, {write.file, number}, read);
      for (auto &[which, term] : results)
        written[which] = term;
    }
    return llvm::all_of(written, [&](const auto &entry) {
      const auto &[which, term] = entry;
      return !isLive(end, which.file, which.number) ||
             terms.isImpossible(solver.mkAnd(differs, solver.mkNot(solver.mkEqual(term, before(which)))));
    });
  };
  const size_t on = nodes[branch].next[0], away = nodes[branch].next[1];
  return changesNothing(away, on) || changesNothing(on, away);
}
