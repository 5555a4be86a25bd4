#include "Target/AMDGPU/MachineTerms.h"

#include "llvm/ADT/StringSwitch.h"

using namespace hocket;
using namespace hocket::amdgpu;
using llvm::StringRef;
using Term = MachineTerms::Term;

/// Work of the solver for one question, deterministic; what takes more is not proven. Some tenths of a second.
static constexpr unsigned kMaxWork = 5000000;

MachineTerms::MachineTerms(const CodeFlow &flow) : flow(flow), solver(llvm::CreateZ3Solver()) {
  solver->setUnsignedParam("rlimit", kMaxWork);
}

Term MachineTerms::number(uint32_t value) {
  return solver->mkBitvector(llvm::APSInt(llvm::APInt(32, value), /*isUnsigned=*/true), 32);
}

Term MachineTerms::symbol() {
  return solver->mkSymbol(("s" + std::to_string(symbols++)).c_str(), solver->getBitvectorSort(32));
}

bool MachineTerms::isImpossible(Term what) {
  solver->push();
  solver->addConstraint(what);
  const std::optional<bool> possible = solver->check();
  solver->pop();
  return possible && !*possible;
}

bool MachineTerms::readTheSame(size_t a, size_t b) {
  const Parsed one = parse(flow.code[a]), other = parse(flow.code[b]);
  const auto &reads = flow.nodes[a].effects.reads, &others = flow.nodes[b].effects.reads;
  if (one.name != other.name || one.modifiers != other.modifiers || one.operands.size() != other.operands.size() ||
      reads.size() != others.size())
    return false;
  for (auto [text, otherText] : llvm::zip_equal(one.operands, other.operands)) {
    int64_t number;
    if (!StringRef(text).getAsInteger(0, number) && text != otherText)
      return false;
  }
  for (auto [read, otherRead] : llvm::zip_equal(reads, others)) {
    if (read.file != otherRead.file || read.count != otherRead.count)
      return false;
    for (unsigned i = 0; i != read.count; ++i) {
      Term first = before(a, {read.file, read.first + i}), second = before(b, {read.file, otherRead.first + i});
      if (first != second && !isImpossible(solver->mkNot(solver->mkEqual(first, second))))
        return false;
    }
  }
  return true;
}

MachineTerms::Parsed MachineTerms::parse(const Instruction &instruction) const {
  const std::string text = flow.disassembler.text(instruction);
  auto [name, rest] = StringRef(text).split(' ');
  Parsed parsed;
  for (StringRef encoding : {"_e32", "_e64"})
    name.consume_back(encoding);
  parsed.name = name.str();
  llvm::SmallVector<StringRef, 4> operands;
  rest.split(operands, ',', -1, /*KeepEmpty=*/false);
  for (StringRef each : operands)
    parsed.operands.push_back(each.trim().split(' ').first.str());
  if (!operands.empty())
    parsed.modifiers = operands.back().trim().split(' ').second.str();
  return parsed;
}

/// A register's dword or an integer; null: something else.
Term MachineTerms::operand(StringRef text, Read read) {
  auto special = llvm::StringSwitch<int>(text)
                     .Case("vcc_lo", kVcc)
                     .Case("vcc_hi", kVcc + 1)
                     .Case("m0", kM0)
                     .Case("exec_lo", kExec)
                     .Case("exec_hi", kExec + 1)
                     .Default(-1);
  if (special >= 0)
    return read({RegisterFile::Scalar, static_cast<unsigned>(special)});
  unsigned which;
  if (text.size() > 1 && text[0] == 's' && !text.drop_front().getAsInteger(10, which))
    return read({RegisterFile::Scalar, which});
  if (text.size() > 1 && text[0] == 'v' && !text.drop_front().getAsInteger(10, which))
    return read({RegisterFile::Vector, which});
  int64_t value;
  return text.getAsInteger(0, value) ? nullptr : number(static_cast<uint32_t>(value));
}

/// Where ways meet last in front of the instruction.
size_t MachineTerms::meeting(size_t at) const {
  while (flow.nodes[at].previous.size() == 1)
    at = flow.nodes[at].previous.front();
  return at;
}

Term MachineTerms::before(size_t at, MachineRegister which) {
  const std::optional<size_t> source = flow.definition(at, which.file, which.number);
  const bool isMeeting = !source;
  auto [entry, isNew] = known.try_emplace({source ? *source : meeting(at), isMeeting, which}, nullptr);
  // What depends on itself has no term yet: a symbol.
  if (!isNew)
    return entry->second ? entry->second : entry->second = symbol();
  if (isMeeting || *source >= flow.nodes.size())
    return entry->second = symbol();
  Term term = result(*source, which, [&](MachineRegister operand) { return before(*source, operand); });
  Term &place = known[{*source, false, which}];
  return place ? place : place = term;
}

Term MachineTerms::decision(size_t comparison) {
  return decision(flow.code[comparison], [&](MachineRegister which) { return before(comparison, which); });
}

Term MachineTerms::decision(const Instruction &comparison, Read read) {
  const Parsed parsed = parse(comparison);
  StringRef name = parsed.name;
  const bool isShort = name.consume_front("s_cmpk_");
  if ((!isShort && !name.consume_front("s_cmp_")) || parsed.operands.size() != 2)
    return nullptr;
  const bool isSigned = name.consume_back("_i32");
  if (!isSigned && !name.consume_back("_u32"))
    return nullptr;
  Term a = operand(parsed.operands[0], read), b = operand(parsed.operands[1], read);
  if (int64_t value; isShort && !StringRef(parsed.operands[1]).getAsInteger(0, value))
    b = number(isSigned ? static_cast<uint32_t>(static_cast<int16_t>(value)) : static_cast<uint16_t>(value));
  if (!a || !b)
    return nullptr;
  if (name == "eq")
    return solver->mkEqual(a, b);
  if (name == "lg")
    return solver->mkNot(solver->mkEqual(a, b));
  if (name == "gt")
    return isSigned ? solver->mkBVSgt(a, b) : solver->mkBVUgt(a, b);
  if (name == "ge")
    return isSigned ? solver->mkBVSge(a, b) : solver->mkBVUge(a, b);
  if (name == "lt")
    return isSigned ? solver->mkBVSlt(a, b) : solver->mkBVUlt(a, b);
  return name == "le" ? isSigned ? solver->mkBVSle(a, b) : solver->mkBVUle(a, b) : nullptr;
}

/// Operations of scalars and of lanes alike; shifts look at five bits.
Term MachineTerms::binary(StringRef name, Term a, Term b) {
  auto amount = [&] { return solver->mkBVAnd(b, number(31)); };
  auto choose = [&](Term condition) { return solver->mkIte(condition, a, b); };
  if (name == "add_i32" || name == "add_u32")
    return solver->mkBVAdd(a, b);
  if (name == "sub_i32" || name == "sub_u32")
    return solver->mkBVSub(a, b);
  if (name == "mul_i32" || name == "mul_lo_u32")
    return solver->mkBVMul(a, b);
  if (name == "and_b32")
    return solver->mkBVAnd(a, b);
  if (name == "or_b32")
    return solver->mkBVOr(a, b);
  if (name == "xor_b32")
    return solver->mkBVXor(a, b);
  if (name == "lshl_b32")
    return solver->mkBVShl(a, amount());
  if (name == "lshr_b32")
    return solver->mkBVLshr(a, amount());
  if (name == "ashr_i32")
    return solver->mkBVAshr(a, amount());
  if (name == "min_i32")
    return choose(solver->mkBVSlt(a, b));
  if (name == "max_i32")
    return choose(solver->mkBVSgt(a, b));
  if (name == "min_u32")
    return choose(solver->mkBVUlt(a, b));
  return name == "max_u32" ? choose(solver->mkBVUgt(a, b)) : nullptr;
}

/// A lane of a vector register: the same, if it is read twice.
Term MachineTerms::ofLane(Term vector, StringRef lane) {
  Term &term = lanes[{vector, lane.str()}];
  return term ? term : term = symbol();
}

Term MachineTerms::scalarResult(const Parsed &parsed, size_t at, Read read) {
  StringRef name = parsed.name;
  const auto &operands = parsed.operands;
  if (name == "v_readlane_b32" && operands.size() == 3) {
    Term vector = operand(operands[1], read);
    unsigned lane;
    return vector && !StringRef(operands[2]).getAsInteger(10, lane) ? ofLane(vector, operands[2]) : nullptr;
  }
  // Which lane is the first, EXEC says.
  if (name == "v_readfirstlane_b32" && operands.size() == 2 && flow.hasLanes) {
    Term vector = operand(operands[1], read);
    return vector ? ofLane(vector, "first") : nullptr;
  }
  if (!name.consume_front("s_") || operands.size() < 2)
    return nullptr;
  Term a = operand(operands[1], read);
  if (!a)
    return nullptr;
  if (name == "mov_b32")
    return a;
  if (name == "not_b32")
    return solver->mkBVNot(a);
  const bool isShort = name == "movk_i32" || name == "addk_i32" || name == "mulk_i32";
  if (isShort) {
    int64_t value = 0;
    StringRef(operands[1]).getAsInteger(0, value);
    Term constant = number(static_cast<uint32_t>(static_cast<int16_t>(value)));
    Term old = operand(operands[0], read);
    return name == "movk_i32"   ? constant
           : name == "addk_i32" ? solver->mkBVAdd(old, constant)
                                : solver->mkBVMul(old, constant);
  }
  Term b = operands.size() == 3 ? operand(operands[2], read) : nullptr;
  if (!b)
    return nullptr;
  uint32_t place;
  if (name == "bfe_u32" || name == "bfe_i32")
    return StringRef(operands[2]).getAsInteger(0, place) ? nullptr
                                                         : field(a, place & 31, place >> 16 & 127, name == "bfe_i32");
  if (name == "cselect_b32") {
    const std::optional<size_t> source = flow.definition(at, RegisterFile::Scc, 0);
    Term condition = source && *source < flow.nodes.size() ? decision(*source) : nullptr;
    return condition ? solver->mkIte(condition, a, b) : nullptr;
  }
  return name == "andn2_b32" ? solver->mkBVAnd(a, solver->mkBVNot(b)) : binary(name, a, b);
}

/// For each bit, the bit of `truth` whose number the bits of a, b and c are, a's the highest.
Term MachineTerms::bitFunction(Term a, Term b, Term c, unsigned truth) {
  Term sum = number(0);
  for (unsigned i = 0; i != 8; ++i) {
    if (!(truth >> i & 1))
      continue;
    auto literal = [&](Term term, unsigned bit) { return bit ? term : solver->mkBVNot(term); };
    Term both = solver->mkBVAnd(literal(a, i >> 2 & 1), literal(b, i >> 1 & 1));
    sum = solver->mkBVOr(sum, solver->mkBVAnd(both, literal(c, i & 1)));
  }
  return sum;
}

/// `count` bits from `first` on; null where there are none, or not so many.
Term MachineTerms::field(Term a, unsigned first, unsigned count, bool isSigned) {
  if (count == 0 || first + count > 32)
    return nullptr;
  Term left = solver->mkBVShl(a, number(32 - first - count));
  return isSigned ? solver->mkBVAshr(left, number(32 - count)) : solver->mkBVLshr(left, number(32 - count));
}

/// The middle one of three.
Term MachineTerms::clampSigned(Term a, Term b, Term c) {
  Term low = binary("min_i32", a, b), high = binary("max_i32", a, b);
  return binary("max_i32", low, binary("min_i32", high, c));
}

Term MachineTerms::vectorResult(const Parsed &parsed, Read read) {
  StringRef name = parsed.name;
  const auto &operands = parsed.operands;
  if (!name.consume_front("v_") || operands.size() < 2)
    return nullptr;
  llvm::SmallVector<Term, 3> sources;
  for (StringRef text : llvm::drop_begin(operands))
    sources.push_back(operand(text, read));
  if (llvm::is_contained(sources, nullptr))
    return nullptr;
  unsigned truth;
  if (StringRef modifiers = parsed.modifiers; !modifiers.empty()) {
    const bool isBits = name == "bitop3_b32" && sources.size() == 3 && modifiers.consume_front("bitop3:") &&
                        !modifiers.getAsInteger(0, truth);
    return isBits ? bitFunction(sources[0], sources[1], sources[2], truth) : nullptr;
  }
  if (sources.size() == 1)
    return name == "mov_b32" ? sources[0] : name == "not_b32" ? solver->mkBVNot(sources[0]) : nullptr;
  if (sources.size() == 3) {
    if (name == "med3_i32")
      return clampSigned(sources[0], sources[1], sources[2]);
    if (name == "lshl_add_u32")
      return solver->mkBVAdd(binary("lshl_b32", sources[0], sources[1]), sources[2]);
    if (name == "or3_b32")
      return solver->mkBVOr(solver->mkBVOr(sources[0], sources[1]), sources[2]);
    unsigned first, count;
    const bool isField = (name == "bfe_u32" || name == "bfe_i32") && !StringRef(operands[2]).getAsInteger(0, first) &&
                         !StringRef(operands[3]).getAsInteger(0, count);
    return isField ? field(sources[0], first, count, name == "bfe_i32") : nullptr;
  }
  // "rev" has the operands the other way round.
  const std::string plain = llvm::StringSwitch<std::string>(name)
                                .Case("lshlrev_b32", "lshl_b32")
                                .Case("lshrrev_b32", "lshr_b32")
                                .Case("ashrrev_i32", "ashr_i32")
                                .Case("subrev_u32", "sub_u32")
                                .Default("");
  return plain.empty() ? binary(name, sources[0], sources[1]) : binary(plain, sources[1], sources[0]);
}

Term MachineTerms::result(size_t at, MachineRegister which, Read read) {
  const CodeFlow::Node &node = flow.nodes[at];
  const bool isOne = llvm::any_of(node.effects.writes, [&](const RegisterAccess &write) {
    return write.file == which.file && write.first == which.number && write.count == 1 && write.bytes == 0xf &&
           !write.implicit;
  });
  Term term = nullptr;
  if (isOne && node.computes && which.file == RegisterFile::Scalar)
    term = scalarResult(parse(flow.code[at]), at, read);
  else if (isOne && node.computes && which.file == RegisterFile::Vector)
    term = vectorResult(parse(flow.code[at]), read);
  return term ? term : symbol();
}

Term MachineTerms::conditions(size_t at) {
  Term all = solver->mkBoolean(true);
  for (size_t branch = 0; branch != flow.nodes.size(); ++branch) {
    const auto &next = flow.nodes[branch].next;
    StringRef name = flow.nodes[branch].name;
    if (!name.consume_front("S_CBRANCH_SCC") || next.size() != 2 || next[0] == next[1])
      continue;
    for (bool isTaken : {false, true}) {
      if (flow.reachedFromEntry(branch, next[isTaken]).test(static_cast<unsigned>(at)))
        continue;
      const std::optional<size_t> source = flow.definition(branch, RegisterFile::Scc, 0);
      Term condition = source && *source < flow.nodes.size() ? decision(*source) : nullptr;
      if (condition)
        all = solver->mkAnd(all, isTaken == (name.front() == '1') ? condition : solver->mkNot(condition));
    }
  }
  return all;
}
