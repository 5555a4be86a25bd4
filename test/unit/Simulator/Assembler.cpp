// See Assembler.h. A streamer that keeps the encoded bytes is enough: no sections, no fixups.
#include "Assembler.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCCodeEmitter.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCFixup.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCObjectFileInfo.h"
#include "llvm/MC/MCParser/MCAsmParser.h"
#include "llvm/MC/MCParser/MCTargetAsmParser.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCStreamer.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Triple.h"

using namespace hocket::sim::test;

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUAsmParser();
}

namespace {
class ByteStreamer : public llvm::MCStreamer {
public:
  ByteStreamer(llvm::MCContext &context, llvm::MCCodeEmitter &emitter)
      : MCStreamer(context), emitter(emitter) {}
  void emitInstruction(const llvm::MCInst &inst, const llvm::MCSubtargetInfo &subtarget) override {
    llvm::SmallVector<llvm::MCFixup> fixups;
    size_t before = bytes.size();
    emitter.encodeInstruction(inst, bytes, fixups, subtarget);
    pieces.push_back({inst.getLoc(), {bytes.begin() + before, bytes.end()}});
  }
  bool emitSymbolAttribute(llvm::MCSymbol *, llvm::MCSymbolAttr) override { return true; }
  void emitCommonSymbol(llvm::MCSymbol *, uint64_t, llvm::Align) override {}
  llvm::SmallVector<char> bytes;
  struct Piece {
    llvm::SMLoc location;
    std::string bytes;
  };
  std::vector<Piece> pieces; ///< one for each instruction

private:
  llvm::MCCodeEmitter &emitter;
};
} // namespace

/// Parses `source` and calls `done` with the streamer, the source manager and whether all went
/// well. Messages go to `error`.
template <class Done>
static void parse(const std::string &source, const std::string &architecture, std::string &error,
                  Done done) {
  LLVMInitializeAMDGPUTargetInfo();
  LLVMInitializeAMDGPUTargetMC();
  LLVMInitializeAMDGPUAsmParser();
  llvm::Triple triple("amdgcn-amd-amdhsa");
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return;
  llvm::MCTargetOptions options;
  std::unique_ptr<llvm::MCRegisterInfo> registers(target->createMCRegInfo(triple));
  std::unique_ptr<llvm::MCAsmInfo> assembly(target->createMCAsmInfo(*registers, triple, options));
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget(
      target->createMCSubtargetInfo(triple, architecture, ""));
  std::unique_ptr<llvm::MCInstrInfo> instructions(target->createMCInstrInfo());

  llvm::SourceMgr manager;
  llvm::raw_string_ostream errors(error);
  manager.setDiagHandler(
      [](const llvm::SMDiagnostic &diagnostic, void *stream) {
        diagnostic.print(nullptr, *static_cast<llvm::raw_ostream *>(stream), false);
      },
      &errors);
  manager.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(source), llvm::SMLoc());
  llvm::MCContext context(triple, assembly.get(), registers.get(), subtarget.get(), &manager,
                          &options);
  std::unique_ptr<llvm::MCObjectFileInfo> objectFile(
      target->createMCObjectFileInfo(context, /*PIC=*/true));
  context.setObjectFileInfo(objectFile.get());
  std::unique_ptr<llvm::MCCodeEmitter> emitter(target->createMCCodeEmitter(*instructions, context));
  ByteStreamer streamer(context, *emitter);
  target->createNullTargetStreamer(streamer);
  std::unique_ptr<llvm::MCAsmParser> parser(
      llvm::createMCAsmParser(manager, context, streamer, *assembly));
  std::unique_ptr<llvm::MCTargetAsmParser> targetParser(
      target->createMCAsmParser(*subtarget, *parser, *instructions, options));
  parser->setTargetParser(*targetParser);
  streamer.initSections(false, *subtarget);
  bool failed = parser->Run(/*NoInitialTextSection=*/true);
  if (failed && error.empty())
    error = "the assembler failed";
  done(streamer, manager, !failed);
}

Assembled hocket::sim::test::assemble(const std::string &source, const std::string &architecture) {
  Assembled result;
  parse(source, architecture, result.error,
        [&](ByteStreamer &streamer, llvm::SourceMgr &, bool good) {
          if (good)
            result.bytes.assign(streamer.bytes.begin(), streamer.bytes.end());
        });
  return result;
}

std::vector<std::string> hocket::sim::test::assembleLines(const std::vector<std::string> &lines,
                                                          const std::string &architecture) {
  std::string source, error;
  for (const std::string &line : lines)
    source += line + '\n';
  std::vector<std::string> result(lines.size());
  parse(source, architecture, error, [&](ByteStreamer &streamer, llvm::SourceMgr &manager, bool) {
    // The pieces are in the order of the lines, so lines are counted on from the last one.
    const char *at = manager.getMemoryBuffer(manager.getMainFileID())->getBufferStart();
    size_t line = 0;
    for (const ByteStreamer::Piece &piece : streamer.pieces) {
      for (; at < piece.location.getPointer(); ++at)
        line += *at == '\n';
      result[line] = piece.bytes;
    }
  });
  return result;
}
