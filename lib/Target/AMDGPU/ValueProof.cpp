// What can be proven of a mutant because of what registers hold. An LLVM that was built without Z3 proves nothing here.
#include "Target/AMDGPU/MachineTerms.h"

#include "llvm/Config/llvm-config.h"

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
