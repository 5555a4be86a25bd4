// Sets up LLVM's machine-code layer for one processor, and assembles text with it.
//
// Diagnostics of the assembler are collected instead of printed: a library must not write to
// stderr, and callers want them inside one error.
#include "Target/AMDGPU/McContext.h"

#include "Target/AMDGPU/CodeObjectFile.h"

#include "llvm/MC/MCAsmBackend.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCAssembler.h"
#include "llvm/MC/MCCodeEmitter.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCObjectFileInfo.h"
#include "llvm/MC/MCObjectStreamer.h"
#include "llvm/MC/MCObjectWriter.h"
#include "llvm/MC/MCParser/MCAsmParser.h"
#include "llvm/MC/MCParser/MCTargetAsmParser.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSection.h"
#include "llvm/MC/MCStreamer.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/VirtualFileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <mutex>

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTarget();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUAsmParser();
void LLVMInitializeAMDGPUAsmPrinter();
void LLVMInitializeAMDGPUDisassembler();
}

namespace hocket::amdgpu {

void initializeLLVMTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmParser();
    LLVMInitializeAMDGPUAsmPrinter();
    LLVMInitializeAMDGPUDisassembler();
  });
}

McTarget::McTarget() = default;
McTarget::~McTarget() = default;

Result<std::shared_ptr<const McTarget>> McTarget::create(llvm::StringRef cpu) {
  initializeLLVMTarget();
  std::shared_ptr<McTarget> made(new McTarget());
  made->targetTriple = llvm::Triple(kTriple);
  made->cpuName = cpu.str();
  std::string message;
  made->llvmTarget = llvm::TargetRegistry::lookupTarget(made->targetTriple, message);
  if (!made->llvmTarget)
    return unsupported("this LLVM has no AMDGPU back end: " + message);

  const llvm::Target &target = *made->llvmTarget;
  const llvm::Triple &triple = made->targetTriple;
  // An unknown processor makes LLVM print a warning and continue with a generic one; ask first.
  std::unique_ptr<llvm::MCSubtargetInfo> generic(target.createMCSubtargetInfo(triple, "", ""));
  if (!generic || cpu.empty() || !generic->isCPUStringValid(cpu))
    return unsupported("unknown AMDGPU processor '" + cpu.str() + "'; 'gfx950' is supported");

  made->registerInfo.reset(target.createMCRegInfo(triple));
  made->assemblyInfo.reset(target.createMCAsmInfo(*made->registerInfo, triple, made->mcOptions));
  made->instrInfo.reset(target.createMCInstrInfo());
  made->subtargetInfo.reset(target.createMCSubtargetInfo(triple, cpu, ""));
  if (!made->registerInfo || !made->assemblyInfo || !made->instrInfo || !made->subtargetInfo)
    return internalError("cannot set up LLVM's machine-code layer for '" + cpu.str() + "'");
  return std::shared_ptr<const McTarget>(std::move(made));
}

/// Appends LLVM's diagnostics of error kind to the `std::string` behind `context`; those after the
/// first say what they are.
static void collectDiagnostic(const llvm::SMDiagnostic &diagnostic, void *context) {
  if (diagnostic.getKind() != llvm::SourceMgr::DK_Error)
    return;
  std::string place = diagnostic.getFilename().str();
  if (diagnostic.getLineNo() > 0)
    place += ":" + std::to_string(diagnostic.getLineNo()) + ":" +
             std::to_string(diagnostic.getColumnNo() + 1);
  std::string message = diagnostic.getMessage().str();
  if (diagnostic.getMessage().starts_with("Could not find inc"))
    message += "; assembly is read from one text, put the file's content in place of the directive";
  auto &text = *static_cast<std::string *>(context);
  std::string first = place + ": " + message, further = place + ": error: " + message;
  // Layout repeats itself.
  if (llvm::StringRef(text).starts_with(first) || llvm::StringRef(text).contains("\n" + further))
    return;
  text += text.empty() ? first : "\n" + further;
}

static constexpr uint64_t kMostSpace = uint64_t(256) << 20;

/// Bytes that directives for space (.zero, .fill, .p2align) add at most; written out, they would
/// take memory that the text does not show.
static uint64_t spaceOf(const llvm::MCAssembler &assembler) {
  uint64_t bytes = 0;
  for (const llvm::MCSection &section : assembler)
    for (const llvm::MCFragment &fragment : section) {
      int64_t count = 0;
      const auto *fill = llvm::dyn_cast<llvm::MCFillFragment>(&fragment);
      if (fill && fill->getNumValues().evaluateAsAbsolute(count, assembler) && count > 0)
        bytes = llvm::SaturatingMultiplyAdd<uint64_t>(count, fill->getValueSize(), bytes);
      if (fragment.getKind() == llvm::MCFragment::FT_Align)
        bytes = llvm::SaturatingAdd(bytes, fragment.getAlignment().value() - 1);
    }
  return bytes;
}

Result<llvm::SmallVector<char, 0>> assemble(const McTarget &target, llvm::StringRef text,
                                            llvm::StringRef name) {
  std::string diagnostics;
  // No file can be included: the result depends on the text alone, and a file that includes itself
  // would never end.
  llvm::SourceMgr sources(llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>());
  sources.setDiagHandler(collectDiagnostic, &diagnostics);
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, name), llvm::SMLoc());

  llvm::MCContext context(target.triple(), &target.asmInfo(), &target.registers(),
                          &target.subtarget(), &sources, &target.options());
  // What shows only when the object is laid out bypasses the parser and its handler.
  context.setDiagnosticHandler(
      [&](const llvm::SMDiagnostic &diagnostic, bool, const llvm::SourceMgr &,
          std::vector<const llvm::MDNode *> &) { collectDiagnostic(diagnostic, &diagnostics); });
  std::unique_ptr<llvm::MCObjectFileInfo> fileInfo(
      target.target().createMCObjectFileInfo(context, /*PIC=*/true));
  context.setObjectFileInfo(fileInfo.get());

  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  // `.amdgcn_target` may not be checked against a subtarget that parsing mutates: use a copy.
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget(
      target.target().createMCSubtargetInfo(target.triple(), target.cpu(), ""));
  std::unique_ptr<llvm::MCAsmBackend> backend(
      target.target().createMCAsmBackend(*subtarget, target.registers(), target.options()));
  std::unique_ptr<llvm::MCObjectWriter> writer = backend->createObjectWriter(stream);
  std::unique_ptr<llvm::MCCodeEmitter> emitter(
      target.target().createMCCodeEmitter(target.instructions(), context));
  std::unique_ptr<llvm::MCStreamer> streamer(
      target.target().createMCObjectStreamer(target.triple(), context, std::move(backend),
                                             std::move(writer), std::move(emitter), *subtarget));

  std::unique_ptr<llvm::MCAsmParser> parser(
      llvm::createMCAsmParser(sources, context, *streamer, target.asmInfo()));
  std::unique_ptr<llvm::MCTargetAsmParser> targetParser(target.target().createMCAsmParser(
      *subtarget, *parser, target.instructions(), target.options()));
  if (!targetParser)
    return internalError("this LLVM has no assembler for '" + target.cpu() + "'");
  parser->setTargetParser(*targetParser);
  const bool failed = parser->Run(/*NoInitialTextSection=*/false, /*NoFinalize=*/true);
  if (!failed && !context.hadError()) {
    auto &objects = static_cast<llvm::MCObjectStreamer &>(*streamer);
    if (spaceOf(objects.getAssembler()) > kMostSpace)
      return invalidInput(name.str() +
                          ": directives for space and alignment make more than " +
                          std::to_string(kMostSpace >> 20) + " MiB, ask for less");
    streamer->getTargetStreamer()->emitConstantPools();
    streamer->finish(parser->getLexer().getLoc());
  }
  if (failed || context.hadError() || !diagnostics.empty())
    return invalidInput(diagnostics.empty() ? "cannot assemble '" + name.str() + "'" : diagnostics);
  return object;
}

Result<llvm::SmallVector<uint8_t, 0>> assembleCode(const McTarget &target, llvm::StringRef text,
                                                   llvm::StringRef name) {
  Result<llvm::SmallVector<char, 0>> object = assemble(target, text, name);
  if (!object)
    return object.error();
  const llvm::StringRef code = sectionContents({object->data(), object->size()}, ".text");
  return llvm::SmallVector<uint8_t, 0>(code.begin(), code.end());
}

} // namespace hocket::amdgpu
