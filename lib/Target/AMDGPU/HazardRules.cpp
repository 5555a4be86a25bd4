// The dependences that docs/Hardware.md 3 asks wait states for, one function per group of rules.
//
// Every function looks at an ordered pair of instructions and says how many wait states must lie
// between them; the numbers are the chip's, from its arch table. A pair may fall under several
// rules; the one that asks for most counts.
#include "Target/AMDGPU/HazardRules.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/MC/MCRegisterInfo.h"

namespace hocket::amdgpu {

namespace {

/// One pair of instructions and what has been asked of it so far.
class Pair {
public:
  Pair(const HazardInstruction &producer, const HazardInstruction &consumer,
       const HazardTable &table, const llvm::MCRegisterInfo &registers)
      : producer(producer), consumer(consumer), table(table), registers(registers) {}

  void checkMfmaToMfma();
  void checkMfmaToOther();
  void checkDotResult();
  void checkVectorResult();
  void checkConvertedParts();
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
             return registers.regsOverlap(reg, other) || (isM0(reg) && isM0(other));
           });
  }
  llvm::StringRef nameOf(llvm::MCRegister reg) const { return registers.getName(reg); }
  bool isVector(llvm::MCRegister reg) const {
    return nameOf(reg).starts_with("VGPR") || nameOf(reg).starts_with("AGPR");
  }
  /// Decoded operands name m0 by another register than implicit operands do.
  bool isM0(llvm::MCRegister reg) const { return nameOf(reg).starts_with("M0"); }
  bool isExec(llvm::MCRegister reg) const { return nameOf(reg).starts_with("EXEC"); }
  bool isScalar(llvm::MCRegister reg) const {
    return nameOf(reg).starts_with("SGPR") || nameOf(reg).starts_with("VCC") ||
           nameOf(reg).starts_with("TTMP") || isM0(reg) || nameOf(reg).starts_with("FLAT_SCR");
  }
  /// Whether the consumer reads a register of some kind that the producer wrote.
  template <typename Kind> bool readsResult(Kind isKind) const {
    return llvm::any_of(producer.writes, [&](llvm::MCRegister reg) {
      return isKind(reg) && overlaps(reg, consumer.reads);
    });
  }
  /// Whether the consumer reads `reg` as anything but its accumulator.
  bool readsBesidesC(llvm::MCRegister reg) const {
    for (size_t i = 0; i < consumer.reads.size(); ++i)
      if (int(i) != consumer.srcCIndex && registers.regsOverlap(reg, consumer.reads[i]))
        return true;
    return false;
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
  const HazardTable &table;
  const llvm::MCRegisterInfo &registers;
};

} // namespace

/// The row of an MFMA. One with a number of passes that the table does not have is taken for the
/// slowest of its path.
static const MfmaHazard &rowOf(const HazardInstruction &mfma, const HazardTable &table) {
  const std::vector<MfmaHazard> &rows = mfma.path == MfmaPath::F64   ? table.mfmaF64
                                        : mfma.path == MfmaPath::F32 ? table.mfmaF32
                                                                     : table.mfma;
  for (const MfmaHazard &row : rows)
    if (row.passes == mfma.passes)
      return row;
  static const MfmaHazard none;
  return rows.empty() ? none : rows.back();
}

void Pair::checkMfmaToMfma() {
  if (!producer.isMfma() || !consumer.isMfma())
    return;
  const MfmaHazard &row = rowOf(producer, table);
  const llvm::MCRegister result = producer.writes.front();
  if (consumer.srcC == result)
    require(row.resultToSameSrcC, "MFMA result used as the whole accumulator of the next MFMA");
  else if (consumer.srcC && registers.regsOverlap(result, consumer.srcC))
    require(row.resultToOtherSrcC,
            "MFMA result that overlaps the accumulator of another MFMA in part");
  if (readsBesidesC(result))
    require(row.resultToUse, "MFMA result read as an operand of another MFMA");
}

void Pair::checkMfmaToOther() {
  if (!producer.isMfma() || consumer.isMfma())
    return;
  const bool memory = consumerIsVmem() || consumerIsLds();
  if (!consumer.vectorAlu && !memory)
    return;
  const MfmaHazard &row = rowOf(producer, table);
  const llvm::MCRegister result = producer.writes.front();
  if (overlaps(result, consumer.reads))
    require(memory && row.resultToMemory > 0 ? row.resultToMemory : row.resultToUse,
            memory ? "MFMA result read by a memory instruction"
                   : "MFMA result read by a vector instruction");
  if (overlaps(result, consumer.writes))
    require(row.resultToUse, "MFMA result overwritten");
  if (consumer.vectorAlu && overlaps(producer.srcC, consumer.writes))
    require(row.srcCToOverwrite, "accumulator of a running MFMA overwritten");
}

void Pair::checkDotResult() {
  if (!producer.isDot())
    return;
  const bool sameKind = consumer.name == producer.name;
  const llvm::MCRegister result = producer.writes.front();
  const bool overwritten = overlaps(result, consumer.writes);
  if (consumer.vectorAlu && !sameKind && overwritten)
    require(table.dotToOther, "result of a dot product overwritten");
  const bool reads = sameKind ? readsBesidesC(result) : overlaps(result, consumer.reads);
  if (reads && (consumer.vectorAlu || consumerIsVmem() || consumerIsLds()))
    require(table.dotToOther,
            "result of a dot product read by anything but an accumulator of its kind");
}

void Pair::checkVectorResult() {
  if (!producer.vectorAlu)
    return;
  if (!readsVectorResult())
    return;
  if (consumer.isMfma())
    require(table.valuToMfma, "vector result read by an MFMA");
  if (producer.kind == InstructionClass::Transcendental && consumer.vectorAlu &&
      consumer.kind != InstructionClass::Transcendental)
    require(table.transToValu,
            "result of a transcendental instruction read by a vector instruction");
  if (producer.partialWrite && consumer.vectorAlu)
    require(table.partialWriteToValu, "partly written register read by a vector instruction");
  if (consumer.dpp)
    require(table.valuToDpp, "vector result read across lanes by DPP");
  if (consumerIs({"V_READLANE", "V_READFIRSTLANE"}))
    require(table.valuToReadlane, "vector result read into a scalar register");
  if (consumerIs({"V_PERMLANE"}))
    require(table.valuToPermlaneSwap, "vector result read by a permlane swap",
            HazardSeverity::Padded);
}

void Pair::checkConvertedParts() {
  if (!producer.convertedPart || !consumer.convertedPart || producer.convertedPart == consumer.convertedPart)
    return;
  if (producer.writes.front() == consumer.writes.front())
    require(table.conversionToOtherPart, "conversion into another part of a register that the one before converts into");
}

void Pair::checkScalarResult() {
  if (!producer.vectorAlu || !readsResult([this](llvm::MCRegister reg) { return isScalar(reg); }))
    return;
  if (consumer.vectorAlu)
    require(table.afterSgpr.valu,
            "scalar result of a vector instruction read by a vector instruction",
            HazardSeverity::Padded);
  if (consumerIsVmem())
    require(table.afterSgpr.vmem,
            "scalar result of a vector instruction read by a memory instruction");
  if (consumer.laneSelect && overlaps(consumer.laneSelect, producer.writes))
    require(table.afterSgpr.laneSelect,
            "scalar result of a vector instruction used to select a lane");
  if (consumerIs({"V_DIV_FMAS"}))
    require(table.vccToDivFmas, "condition computed by a vector instruction read by v_div_fmas");
}

void Pair::checkExecResult() {
  const bool writesExec = llvm::any_of(producer.writes, [this](auto reg) { return isExec(reg); });
  if (!producer.vectorAlu || !writesExec)
    return;
  if (consumer.dpp)
    require(table.afterExec.dpp, "EXEC written by a vector instruction before DPP");
  if (consumer.isMfma())
    require(table.afterExec.mfma, "EXEC written by a vector instruction before an MFMA");
  if (consumerIs({"V_READLANE", "V_READFIRSTLANE", "V_WRITELANE", "V_PERMLANE"}))
    require(table.afterExec.laneAccess, "EXEC written by a vector instruction before a lane access");
}

void Pair::checkOther() {
  const bool writesM0 = llvm::any_of(producer.writes, [this](auto reg) { return isM0(reg); });
  const bool usesM0 =
      consumer.kind == InstructionClass::LdsDma ||
      consumerIs({"S_SENDMSG", "S_MOVREL", "DS_GWS", "DS_READ_ADDTID", "DS_WRITE_ADDTID"});
  if (producer.kind == InstructionClass::Salu && writesM0 && usesM0)
    require(table.m0ToLdsDma, "m0 written before an instruction that addresses LDS with it");

  const bool sets = llvm::StringRef(producer.name).starts_with("S_SETREG");
  if (sets && consumerIs({"S_SETREG", "S_GETREG"}) &&
      producer.hardwareRegister == consumer.hardwareRegister)
    require(table.setregToGetreg, "hardware register accessed after it was set");

  if (producer.kind != InstructionClass::VmemStore || !consumer.vectorAlu || producer.reads.empty())
    return;
  const bool wide = llvm::any_of(producer.reads, [&](llvm::MCRegister reg) {
    return isVector(reg) && nameOf(reg).count('_') >= 2 && overlaps(reg, consumer.writes);
  });
  if (wide && producer.immediateOffset)
    require(table.wideStoreToOverwrite, "data of a wide store overwritten");
  else if (wide)
    require(table.wideStoreScalarOffsetToOverwrite, "data of a wide store overwritten",
            HazardSeverity::Advice);
}

unsigned longestHazard(const HazardTable &table) {
  // No rule but those of MFMAs looks further than 5.
  unsigned longest = 5;
  for (const std::vector<MfmaHazard> *rows : {&table.mfma, &table.mfmaF32, &table.mfmaF64})
    for (const MfmaHazard &row : *rows)
      longest = std::max({longest, row.resultToUse, row.resultToOtherSrcC, row.resultToMemory});
  return longest;
}

bool canBeHazardProducer(const HazardInstruction &producer) {
  return producer.isMfma() || producer.vectorAlu || producer.kind == InstructionClass::Salu ||
         producer.kind == InstructionClass::VmemStore;
}

HazardRequirement brokenRule(const HazardInstruction &producer, const HazardInstruction &consumer,
                             unsigned between, const HazardTable &table,
                             const llvm::MCRegisterInfo &registers) {
  Pair pair(producer, consumer, table, registers);
  pair.checkMfmaToMfma();
  pair.checkMfmaToOther();
  pair.checkDotResult();
  pair.checkVectorResult();
  pair.checkConvertedParts();
  pair.checkScalarResult();
  pair.checkExecResult();
  pair.checkOther();
  HazardRequirement worst;
  for (const HazardRequirement &requirement : pair.requirements) {
    const bool worse =
        worst.waitStates == 0 || requirement.severity < worst.severity ||
        (requirement.severity == worst.severity && requirement.waitStates > worst.waitStates);
    if (requirement.waitStates > between && worse)
      worst = requirement;
  }
  return worst;
}

} // namespace hocket::amdgpu
