// The wait states of docs/Hardware.md 3, one function per group of rules.
//
// Every function looks at an ordered pair of instructions and says how many wait states must lie
// between them. A pair may fall under several rules; the one that asks for most counts.
#include "HazardRules.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/MC/MCRegisterInfo.h"

namespace hocket::amdgpu {

namespace {

/// One pair of instructions and what has been asked of it so far.
class Pair {
public:
  Pair(const HazardInstruction &producer, const HazardInstruction &consumer,
       const llvm::MCRegisterInfo &registers)
      : producer(producer), consumer(consumer), registers(registers) {}

  void checkMfmaToMfma();
  void checkMfmaToOther();
  void checkVectorResult();
  void checkScalarResult();
  void checkExecResult();
  void checkOther();

  std::vector<HazardRequirement> requirements;

private:
  using Registers = llvm::ArrayRef<llvm::MCRegister>;

  void require(unsigned waitStates, const char *rule,
               HazardSeverity severity = HazardSeverity::Error) {
    if (waitStates > 0)
      requirements.push_back({waitStates, rule, severity});
  }
  bool overlaps(llvm::MCRegister reg, Registers set) const {
    return reg && llvm::any_of(set, [&](llvm::MCRegister other) {
             return registers.regsOverlap(reg, other);
           });
  }
  llvm::StringRef nameOf(llvm::MCRegister reg) const { return registers.getName(reg); }
  bool isVector(llvm::MCRegister reg) const {
    return nameOf(reg).starts_with("VGPR") || nameOf(reg).starts_with("AGPR");
  }
  bool isExec(llvm::MCRegister reg) const { return nameOf(reg).starts_with("EXEC"); }
  bool isScalar(llvm::MCRegister reg) const {
    return nameOf(reg).starts_with("SGPR") || nameOf(reg).starts_with("VCC") ||
           nameOf(reg).starts_with("TTMP") || nameOf(reg) == "M0" ||
           nameOf(reg).starts_with("FLAT_SCR");
  }
  /// Whether the consumer reads a register of some kind that the producer wrote.
  template <typename Kind> bool readsResult(Kind isKind) const {
    return llvm::any_of(producer.writes, [&](llvm::MCRegister reg) {
      return isKind(reg) && overlaps(reg, consumer.reads);
    });
  }
  bool readsVectorResult() const {
    return readsResult([this](llvm::MCRegister reg) { return isVector(reg); });
  }
  bool consumerIs(std::initializer_list<llvm::StringRef> prefixes) const {
    return llvm::any_of(prefixes, [&](llvm::StringRef prefix) {
      return llvm::StringRef(consumer.name).starts_with(prefix);
    });
  }
  bool consumerIsVmem() const {
    return consumer.kind == InstructionClass::VmemLoad ||
           consumer.kind == InstructionClass::VmemStore ||
           consumer.kind == InstructionClass::VmemOther ||
           consumer.kind == InstructionClass::LdsDma;
  }
  bool consumerIsLds() const {
    return consumer.kind == InstructionClass::LdsRead ||
           consumer.kind == InstructionClass::LdsWrite ||
           consumer.kind == InstructionClass::LdsOther;
  }

  const HazardInstruction &producer;
  const HazardInstruction &consumer;
  const llvm::MCRegisterInfo &registers;
};

} // namespace

/// Wait states until a result of an MFMA can be read by anything but an accumulator: 5, 8, 12, 20
/// for 2, 4, 8 and 16 passes; f32 MFMAs are two faster from four passes on.
static unsigned mfmaResultDistance(const HazardInstruction &mfma) {
  if (mfma.fullPrecision)
    return mfma.passes + 2;
  return mfma.passes == 2 ? 5 : mfma.passes + 4;
}

void Pair::checkMfmaToMfma() {
  if (!producer.isMfma() || !consumer.isMfma())
    return;
  const llvm::MCRegister result = producer.writes.front();
  if (consumer.srcC == result) {
    if (!producer.fullPrecision && producer.passes == 2)
      require(2, "MFMA result used as the whole accumulator of the next MFMA");
  } else if (consumer.srcC && registers.regsOverlap(result, consumer.srcC)) {
    require(producer.passes + (producer.fullPrecision ? 0 : 2),
            "MFMA result that overlaps the accumulator of another MFMA in part");
  }
  // Everything an MFMA reads besides C: A, B, and the scales or the index.
  for (llvm::MCRegister reg : consumer.reads)
    if (reg != consumer.srcC && registers.regsOverlap(result, reg))
      require(mfmaResultDistance(producer), "MFMA result read as an operand of another MFMA");
}

void Pair::checkMfmaToOther() {
  if (!producer.isMfma() || consumer.isMfma())
    return;
  if (!consumer.vectorAlu && !consumerIsVmem() && !consumerIsLds())
    return;
  const llvm::MCRegister result = producer.writes.front();
  if (overlaps(result, consumer.reads))
    require(mfmaResultDistance(producer), consumer.vectorAlu
                                              ? "MFMA result read by a vector instruction"
                                              : "MFMA result read by a memory instruction");
  if (overlaps(result, consumer.writes))
    require(mfmaResultDistance(producer), "MFMA result overwritten");
  if (consumer.vectorAlu && !producer.fullPrecision && overlaps(producer.srcC, consumer.writes))
    require(producer.passes - 1, "accumulator of a running MFMA overwritten");
}

void Pair::checkVectorResult() {
  if (!producer.vectorAlu)
    return;
  const bool dot = llvm::StringRef(producer.name).starts_with("V_DOT");
  if (dot && consumer.vectorAlu && consumer.name != producer.name) {
    const bool overwritten = llvm::any_of(producer.writes, [&](llvm::MCRegister reg) {
      return isVector(reg) && overlaps(reg, consumer.writes);
    });
    if (overwritten)
      require(3, "result of a dot product overwritten");
  }
  if (!readsVectorResult())
    return;
  if (consumer.isMfma())
    require(2, "vector result read by an MFMA");
  if (dot && consumer.vectorAlu && consumer.name != producer.name)
    require(3, "result of a dot product read by another kind of instruction");
  if (producer.kind == InstructionClass::Transcendental && consumer.vectorAlu &&
      consumer.kind != InstructionClass::Transcendental)
    require(1, "result of a transcendental instruction read by a vector instruction");
  if (producer.partialWrite && consumer.vectorAlu)
    require(1, "partly written register read by a vector instruction");
  if (consumer.dpp)
    require(2, "vector result read across lanes by DPP");
  if (consumerIs({"V_READLANE", "V_READFIRSTLANE"}))
    require(1, "vector result read into a scalar register");
  if (consumerIs({"V_PERMLANE"}))
    require(2, "vector result read by a permlane swap");
}

void Pair::checkScalarResult() {
  if (!producer.vectorAlu || !readsResult([this](llvm::MCRegister reg) { return isScalar(reg); }))
    return;
  if (consumer.vectorAlu)
    require(2, "scalar result of a vector instruction read by a vector instruction");
  if (consumerIsVmem())
    require(5, "scalar result of a vector instruction read by a memory instruction");
  if (consumerIs({"V_READLANE", "V_WRITELANE"}))
    require(4, "scalar result of a vector instruction used to select a lane");
  if (consumerIs({"V_DIV_FMAS"}))
    require(4, "condition computed by a vector instruction read by v_div_fmas");
}

void Pair::checkExecResult() {
  const bool writesExec = llvm::any_of(producer.writes, [this](auto reg) { return isExec(reg); });
  if (!producer.vectorAlu || !writesExec)
    return;
  if (consumer.dpp)
    require(5, "EXEC written by a vector instruction before DPP");
  if (consumer.isMfma())
    require(4, "EXEC written by a vector instruction before an MFMA");
  if (consumerIs({"V_READLANE", "V_READFIRSTLANE", "V_WRITELANE", "V_PERMLANE"}))
    require(4, "EXEC written by a vector instruction before a lane access");
}

void Pair::checkOther() {
  const bool writesM0 =
      llvm::any_of(producer.writes, [this](auto reg) { return nameOf(reg) == "M0"; });
  const bool usesM0 =
      consumer.kind == InstructionClass::LdsDma ||
      consumerIs({"S_SENDMSG", "S_MOVREL", "DS_GWS", "DS_READ_ADDTID", "DS_WRITE_ADDTID"});
  if (producer.kind == InstructionClass::Salu && writesM0 && usesM0)
    require(1, "m0 written before an instruction that addresses LDS with it");

  const bool sets = llvm::StringRef(producer.name).starts_with("S_SETREG");
  if (sets && consumerIs({"S_SETREG", "S_GETREG"}) &&
      producer.hardwareRegister == consumer.hardwareRegister)
    require(2, "hardware register accessed after it was set");

  if (producer.kind != InstructionClass::VmemStore || !consumer.vectorAlu || producer.reads.empty())
    return;
  const bool wide = llvm::any_of(producer.reads, [&](llvm::MCRegister reg) {
    return isVector(reg) && nameOf(reg).count('_') >= 2 && overlaps(reg, consumer.writes);
  });
  if (wide && producer.immediateOffset)
    require(2, "data of a wide store overwritten");
  else if (wide)
    require(1, "data of a wide store overwritten", HazardSeverity::Advice);
}

bool canBeHazardProducer(const HazardInstruction &producer) {
  return producer.isMfma() || producer.vectorAlu || producer.kind == InstructionClass::Salu ||
         producer.kind == InstructionClass::VmemStore;
}

HazardRequirement brokenRule(const HazardInstruction &producer, const HazardInstruction &consumer,
                             unsigned between, const llvm::MCRegisterInfo &registers) {
  Pair pair(producer, consumer, registers);
  pair.checkMfmaToMfma();
  pair.checkMfmaToOther();
  pair.checkVectorResult();
  pair.checkScalarResult();
  pair.checkExecResult();
  pair.checkOther();
  HazardRequirement worst;
  for (const HazardRequirement &requirement : pair.requirements)
    if (requirement.waitStates > between && requirement.waitStates > worst.waitStates)
      worst = requirement;
  return worst;
}

} // namespace hocket::amdgpu
