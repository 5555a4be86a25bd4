// What registers hold, as terms of an SMT solver (LLVM's interface to Z3): what a kernel computes from its arguments and
// the numbers of its work-items, as far as it is written with integers.
//
// A register has a value where one instruction alone writes it on all ways, or nobody does: the term of that
// instruction, or a symbol for what there was at the entry. Where ways meet that bring different values, where something
// is loaded, and for what is not known here, there is a symbol: any value. So whatever follows from the terms follows in
// the kernel; not the other way round. A vector register's term is that of any lane that takes part, the same lane in
// all terms; the kernel must not change EXEC.
#pragma once

#include "Target/AMDGPU/CodeFlow.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/SMTAPI.h"

#include <map>
#include <string>
#include <tuple>

namespace hocket::amdgpu {

/// One dword of a register file, or SCC.
struct MachineRegister {
  RegisterFile file = RegisterFile::Scalar;
  unsigned number = 0;
  auto operator<=>(const MachineRegister &) const = default;
};

class MachineTerms {
public:
  using Term = llvm::SMTExprRef; ///< 32 bits, or a truth value
  /// What an instruction reads.
  using Read = llvm::function_ref<Term(MachineRegister)>;

  explicit MachineTerms(const CodeFlow &flow);

  /// The register in front of the instruction.
  Term before(size_t at, MachineRegister which);
  /// What a comparison decides; none: of what is no comparison of scalars.
  Term decision(const Instruction &comparison, Read read);
  Term decision(size_t comparison);
  /// What the instruction writes into the register: a symbol, where it is not known.
  Term result(size_t at, MachineRegister which, Read read);
  /// What holds whenever the instruction is executed, because of the branches that lead there.
  Term conditions(size_t at);
  /// Whether what holds excludes `what`.
  bool isImpossible(Term what);
  /// Whether two instructions are the same but for registers, and what they read is equal.
  bool readTheSame(size_t a, size_t b);

  llvm::SMTSolver &terms() { return *solver; }
  Term number(uint32_t value);

private:
  /// An instruction as text: name without encoding, operands, and modifiers behind the last one.
  struct Parsed {
    std::string name;
    llvm::SmallVector<std::string, 4> operands;
    std::string modifiers;
  };
  Parsed parse(const Instruction &instruction) const;
  Term operand(llvm::StringRef text, Read read);
  Term scalarResult(const Parsed &parsed, size_t at, Read read);
  Term vectorResult(const Parsed &parsed, Read read);
  Term binary(llvm::StringRef name, Term a, Term b);
  Term ofLane(Term vector, llvm::StringRef lane);
  Term bitFunction(Term a, Term b, Term c, unsigned truth);
  Term field(Term a, unsigned first, unsigned count, bool isSigned);
  Term clampSigned(Term a, Term b, Term c);
  Term symbol();
  size_t meeting(size_t at) const;

  const CodeFlow &flow;
  llvm::SMTSolverRef solver;
  /// By where it is from (instruction; ~0: the entry), whether ways meet there, and the register.
  std::map<std::tuple<size_t, bool, MachineRegister>, Term> known;
  std::map<std::pair<Term, std::string>, Term> lanes;
  unsigned symbols = 0;
};

} // namespace hocket::amdgpu
