// What a compiled kernel costs: registers, spills, LDS, occupancy, instructions by class.
//
// Everything is read back from the linked bytes (descriptor, metadata, disassembly), so the report
// is equally good for code objects of other compilers, and nothing the compiler merely believes
// can appear in it.
#pragma once

#include "hocket/Support/Result.h"
#include "Target/AMDGPU/Opcode.h"
#include "Target/Arch/Occupancy.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <string>
#include <vector>

namespace hocket::hsaco {

/// Resources and static instruction counts of one kernel.
struct KernelReport {
  std::string name;
  unsigned vgpr = 0;          ///< architectural vector registers of a lane
  unsigned agpr = 0;          ///< accumulation registers of a lane
  unsigned sgpr = 0;          ///< scalar registers of a wave, VCC and the like included
  unsigned vgprSpills = 0;    ///< vector registers spilled
  unsigned sgprSpills = 0;    ///< scalar registers spilled
  uint64_t scratchBytes = 0;  ///< per work-item
  bool dynamicStack = false;  ///< scratch need unknown at compile time
  uint64_t ldsBytes = 0;      ///< static LDS of a workgroup
  uint64_t kernargBytes = 0;  ///< kernel-argument segment
  unsigned workgroupSize = 0; ///< most work-items of a workgroup
  /// Waves and workgroups a compute unit holds, or why it holds none or it cannot be told.
  Result<Occupancy> occupancy = internalError("not computed");
  uint64_t codeBytes = 0;      ///< size of the function
  amdgpu::ClassCounts classes; ///< instructions in the whole function
};

/// All kernels of a code object.
struct ResourceReport {
  std::string cpu; ///< processor from the ELF flags
  std::vector<KernelReport> kernels;
};

/// Reads the report out of a linked code object. `name` is the file's name in errors.
Result<ResourceReport> readReport(llvm::StringRef codeObject,
                                  llvm::StringRef name = "<code object>");

/// One block of lines per kernel, for people.
void printReport(const ResourceReport &report, llvm::raw_ostream &stream);

/// The same as JSON: `{"target", "kernels": [{"name", "vgpr", ..., "instructions": {...}}]}`.
llvm::json::Value toJson(const ResourceReport &report);

/// What a kernel may do that has too few registers.
enum class Spills {
  None,
  /// To registers of another kind, no memory: scalar ones to lanes of vector registers, vector ones to those for
  /// accumulation.
  ToRegisters,
  Any,
};

/// Of each kernel, how many of its workgroups the compiler was asked to fit on a compute unit, which no code object says.
using SharedUnits = std::map<std::string, int64_t>;

/// Fails (`Unsupported`) where a kernel spills registers or uses scratch memory and that is not `allowed`. The message
/// says how many registers a wave may have, and what limits them; a kernel that `shared` does not name has a unit to itself.
/// Scratch traffic counts in vmcnt, so it breaks hand-counted waits besides being slow.
Status checkSpills(const ResourceReport &report, Spills allowed, const SharedUnits &shared = {});

} // namespace hocket::hsaco
