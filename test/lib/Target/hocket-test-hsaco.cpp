// Drives the back end alone in tests: LLVM-dialect MLIR, LLVM IR or assembly in, any later stage
// out.
#include "Target/AMDGPU/HazardCheck.h"
#include "Target/HSACO/Emit.h"
#include "Target/HSACO/ResourceReport.h"
#include "Target/HSACO/Translate.h"

#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"

#include <chrono>

using namespace hocket;

namespace {

struct Options {
  std::string input, output, emit, cpu;
  bool debugInfo = false, report = false, json = false, checkSpills = false, hazards = false,
       timing = false;
};

/// Prints how long a stage took, if asked to.
class Timer {
public:
  explicit Timer(bool enabled) : enabled(enabled), last(std::chrono::steady_clock::now()) {}
  void stage(const char *name) {
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double, std::milli> elapsed = now - last;
    if (enabled)
      llvm::errs() << name << ": " << llvm::format("%.1f", elapsed.count()) << " ms\n";
    last = now;
  }

private:
  bool enabled;
  std::chrono::steady_clock::time_point last;
};

} // namespace

static Options parseOptions(int argc, char **argv) {
  namespace cl = llvm::cl;
  static cl::opt<std::string> input(cl::Positional, cl::Required);
  static cl::opt<std::string> output("o", cl::init("-"));
  static cl::opt<std::string> emit("emit", cl::init("hsaco"));
  static cl::opt<std::string> cpu("target", cl::init("gfx950"));
  static cl::opt<bool> debugInfo("g"), report("report"), json("report-json"),
      checkSpills("check-spills"), hazards("check-hazards"), timing("timing");
  cl::ParseCommandLineOptions(argc, argv, "Hocket's back end, for tests\n");
  return {input, output, emit, cpu, debugInfo, report, json, checkSpills, hazards, timing};
}

static int fail(const Error &error) {
  llvm::errs() << "error: " << error.message << '\n';
  return 2;
}

static int write(const Options &options, llvm::StringRef bytes) {
  std::error_code code;
  llvm::ToolOutputFile file(options.output, code, llvm::sys::fs::OF_None);
  if (code)
    return fail(hostError("cannot write '" + options.output + "': " + code.message()));
  file.os() << bytes;
  file.keep();
  return 0;
}

static std::unique_ptr<llvm::Module> readModule(const Options &options, mlir::MLIRContext &mlir,
                                                llvm::LLVMContext &context) {
  if (llvm::StringRef(options.input).ends_with(".ll")) {
    llvm::SMDiagnostic diagnostic;
    std::unique_ptr<llvm::Module> module = llvm::parseIRFile(options.input, diagnostic, context);
    if (!module)
      diagnostic.print("hocket-test-hsaco", llvm::errs());
    return module;
  }
  mlir.loadDialect<mlir::LLVM::LLVMDialect, mlir::ROCDL::ROCDLDialect, mlir::DLTIDialect>();
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceFile<mlir::ModuleOp>(options.input, &mlir);
  return module ? hsaco::translateToLLVM(*module, context, {options.debugInfo}) : nullptr;
}

static int finish(const Options &options, llvm::StringRef object, Timer &timer) {
  Result<llvm::SmallVector<char, 0>> linked = hsaco::link(object);
  timer.stage("link");
  if (!linked)
    return fail(linked.error());
  const llvm::StringRef bytes(linked->data(), linked->size());
  Result<hsaco::ResourceReport> report = hsaco::readReport(bytes);
  timer.stage("report");
  if (!report)
    return fail(report.error());
  if (options.report)
    hsaco::printReport(*report, llvm::outs());
  if (options.json)
    llvm::outs() << hsaco::toJson(*report) << '\n';
  if (options.checkSpills)
    if (Status clean = hsaco::checkSpills(*report, hsaco::Spills::None); !clean)
      return fail(clean.error());
  if (options.hazards) {
    std::vector<std::string> advice;
    Status clean = amdgpu::checkHazards(bytes, "<code object>", &advice);
    timer.stage("hazards");
    for (const std::string &line : advice)
      llvm::errs() << "advice: " << line << '\n';
    if (!clean)
      return fail(clean.error());
  }
  return options.output == "-" ? 0 : write(options, bytes);
}

static int assembleAndFinish(const Options &options, const hsaco::EmitOptions &emitOptions,
                             Timer &timer) {
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> text =
      llvm::MemoryBuffer::getFile(options.input);
  if (!text)
    return fail(notFound("cannot read '" + options.input + "': " + text.getError().message()));
  Result<llvm::SmallVector<char, 0>> object =
      hsaco::assemble((*text)->getBuffer(), emitOptions, options.input);
  timer.stage("assemble");
  if (!object)
    return fail(object.error());
  return finish(options, {object->data(), object->size()}, timer);
}

int main(int argc, char **argv) {
  const Options options = parseOptions(argc, argv);
  Timer timer(options.timing);
  hsaco::EmitOptions emitOptions;
  emitOptions.cpu = options.cpu;

  if (llvm::StringRef(options.input).ends_with(".s"))
    return assembleAndFinish(options, emitOptions, timer);
  mlir::MLIRContext mlir(mlir::MLIRContext::Threading::DISABLED);
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = readModule(options, mlir, context);
  if (!module)
    return 2;
  timer.stage("read");
  if (options.emit == "llvm") {
    if (Status prepared = hsaco::prepareModule(*module, emitOptions); !prepared)
      return fail(prepared.error());
    std::string text;
    llvm::raw_string_ostream(text) << *module;
    return write(options, text);
  }
  Result<hsaco::Emitted> emitted = hsaco::optimizeAndEmit(*module, emitOptions);
  timer.stage("emit");
  if (!emitted)
    return fail(emitted.error());
  const llvm::StringRef object(emitted->object.data(), emitted->object.size());
  if (options.emit == "asm")
    return write(options, emitted->assembly);
  if (options.emit == "object")
    return write(options, object);
  return finish(options, object, timer);
}
