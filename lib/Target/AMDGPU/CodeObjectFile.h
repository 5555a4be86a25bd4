// What a linked code object says about its kernels: metadata, descriptor and code of each.
//
// The report and the hazard check read finished bytes, not what the compiler believed it emitted.
// Metadata (the MsgPack note), descriptor (NAME.kd) and code (symbol NAME) are cross-referenced
// here; a file in which they do not fit together is refused with what is missing.
#pragma once

#include "hocket/Support/Result.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace hocket::amdgpu {

/// One kernel. Byte views point into the code object they were read from.
struct KernelCode {
  std::string name;              ///< as HIP looks it up
  uint64_t address = 0;          ///< of the first instruction, relative to the load base
  llvm::ArrayRef<uint8_t> code;  ///< the function's bytes, without the padding behind it
  unsigned vgprs = 0;            ///< vector registers a lane has, AccVGPRs included (metadata)
  unsigned agprs = 0;            ///< AccVGPRs among them
  unsigned sgprs = 0;            ///< scalar registers, VCC and the like included
  unsigned vgprSpills = 0;       ///< vector registers spilled
  unsigned sgprSpills = 0;       ///< scalar registers spilled
  uint64_t ldsBytes = 0;         ///< static LDS of a workgroup
  uint64_t scratchBytes = 0;     ///< private segment of a work-item
  uint64_t kernargBytes = 0;     ///< kernel-argument segment
  unsigned maxWorkgroupSize = 0; ///< most work-items of a workgroup
  bool dynamicStack = false;     ///< scratch need not known at compile time
};

/// All kernels of `codeObject`, in the order of the metadata. `name` is the file's name in errors
/// (`InvalidInput`).
Result<std::vector<KernelCode>> readKernels(llvm::StringRef codeObject,
                                            llvm::StringRef name = "<code object>");

/// LLVM's name of the processor that the ELF flags name; "" where they name none.
std::string processorOf(llvm::StringRef codeObject);

/// Contents of the section called `section`; empty where there is none or the file is no ELF.
llvm::StringRef sectionContents(llvm::StringRef codeObject, llvm::StringRef section);

} // namespace hocket::amdgpu
