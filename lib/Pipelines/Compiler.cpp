// Compilation in process: parse, passes in order, LLVM, object, code object.
#include "hocket/Pipelines/Compiler.h"

#include "KernelManifest.h"
#include "TileReport.h"

#include "Attn/IR/Attn.h"
#include "Tile/IR/LdsLayout.h"
#include "Tile/IR/Tile.h"
#include "Tile/IR/WorkItems.h"
#include "Tile/Transforms/Passes.h"
#include "Conversion/Passes.h"
#include "Hardening/CodeGenCheck.h"
#include "Hardening/LargeStack.h"
#include "Hardening/RecursionCheck.h"
#include "Pipelines/CountedPlans.h"
#include "Pipelines/DrawSchedule.h"
#include "Pipelines/PadHazards.h"
#include "Pipelines/Schedules.h"
#include "Registration/Registration.h"
#include "Target/AMDGPU/HazardCheck.h"
#include "Target/Arch/ArchInfo.h"
#include "Target/HSACO/Emit.h"
#include "Target/HSACO/ResourceReport.h"
#include "Target/HSACO/Translate.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/AsmParser/LLParser.h"
#include "llvm/IR/AutoUpgrade.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include <chrono>

using namespace mlir;
using namespace hocket;

/// Locations inside locations (an op made by a pass from another) name the first file place.
static CompileDiagnostic placed(Diagnostic &diagnostic) {
  FileLineColLoc place;
  diagnostic.getLocation()->walk([&](Location location) {
    place = dyn_cast<FileLineColLoc>(location);
    return place ? WalkResult::interrupt() : WalkResult::advance();
  });
  CompileDiagnostic result;
  result.message = diagnostic.str();
  if (place) {
    result.file = place.getFilename().getValue().str();
    result.line = place.getLine();
    result.column = place.getColumn();
  }
  return result;
}

/// "file:line:col: ", and what kind of diagnostic it is.
static std::string describe(const CompileDiagnostic &diagnostic, StringRef kind) {
  std::string place;
  if (!diagnostic.file.empty())
    place = diagnostic.file + ":" + std::to_string(diagnostic.line) + ":" +
            std::to_string(diagnostic.column) + ": ";
  return place + kind.str() + diagnostic.message;
}

/// `error`, which came about in `stage`.
static Error inStage(Stage stage, Error error) {
  error.message += "\nnote: in stage '" + std::string(toString(stage)) + "'";
  return error;
}

namespace {
/// Collects errors and their notes; nothing reaches stderr.
class DiagnosticCollector {
public:
  explicit DiagnosticCollector(MLIRContext *context)
      : handler(context, [this](Diagnostic &diagnostic) { return collect(diagnostic); }) {}

  /// What was collected, or `fallback`. The first line is the first error, as in any `Error`; those
  /// after it say what they are.
  Error error(StringRef fallback) const {
    if (errors.empty())
      return invalidInput(fallback.str());
    std::string message;
    for (const CompileDiagnostic &found : errors) {
      message += message.empty() ? describe(found, "") : "\n" + describe(found, "error: ");
      for (const CompileDiagnostic &note : found.notes)
        message += "\n" + describe(note, "note: ");
    }
    return invalidInput(message);
  }

  std::vector<CompileDiagnostic> errors;

private:
  LogicalResult collect(Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return success();
    CompileDiagnostic &error = errors.emplace_back(placed(diagnostic));
    for (Diagnostic &note : diagnostic.getNotes())
      if (!StringRef(note.str()).starts_with("see current operation"))
        error.notes.push_back(placed(note));
    return success();
  }

  ScopedDiagnosticHandler handler;
};

/// One compilation: what the stages hand to each other.
class Compiler {
public:
  Compiler(std::string_view text, std::string_view name, const CompileOptions &options)
      : input(text), name(name), options(options),
        context(createRegistry(), MLIRContext::Threading::DISABLED), diagnostics(&context) {
    context.printOpOnDiagnostic(false);
  }

  Result<Compilation> run(CompileFailure &failure) {
    if (options.to < options.from)
      return invalidInput("cannot go from stage '" + std::string(toString(options.from)) +
                          "' back to '" + std::string(toString(options.to)) + "'");
    if (Result<const ArchInfo *> arch = findArch(options.target); !arch)
      return arch.error();
    for (Stage stage : kStages) {
      if (stage < options.from)
        continue;
      auto start = std::chrono::steady_clock::now();
      Status status = stage == options.from ? parse() : advanceTo(stage);
      if (status.ok() && options.drawSchedule && stage == Stage::Clusters && stage == options.from)
        status = draw();
      if (!status) {
        failure = {stage, std::move(diagnostics.errors)};
        return inStage(stage, status.error());
      }
      std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
      result.seconds.emplace_back(toString(stage), elapsed.count());
      bool last = stage == options.to;
      if (last || options.onStage)
        result.output = textOf(stage);
      if (options.onStage)
        if (Status status = options.onStage(stage, result.output); !status)
          return status.error();
      if (last)
        break;
    }
    return std::move(result);
  }

private:
  static DialectRegistry createRegistry() {
    DialectRegistry registry;
    registerDialects(registry);
    return registry;
  }

  Status parse();
  Status verifyNothingIsChosen() const;
  Status parseMlir();
  Status parseLlvm();
  Status advanceTo(Stage stage);
  Status toTile();
  Status toClusters();
  Status draw();
  Status toRocdl();
  Status toLlvm();
  Status toAsm();
  /// Makes `emitted` and `codeObject` of `from`, which is changed by it.
  Status emit(llvm::Module &from);
  Result<bool> hasSpills() const; ///< of `codeObject`
  Status toHsaco();
  Status checkCodeObject();
  Status runPasses(function_ref<void(PassManager &)> addPasses);
  Status overrideProblems();
  Status makePersistent();
  Status verifyTargets();
  Status verifyStores();
  Status readManifest();
  void finishManifest(const hsaco::ResourceReport &report);
  std::string textOf(Stage stage);

  StringRef input, name;
  const CompileOptions &options;
  MLIRContext context;
  DiagnosticCollector diagnostics;
  OwningOpRef<ModuleOp> module;
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> llvmModule;
  hsaco::Emitted emitted;
  llvm::SmallVector<char, 0> codeObject;
  std::optional<manifest::Manifest> kernelManifest;
  std::vector<hocket::amdgpu::CountedPlan> countedPlans; ///< what waits rely on, of kernels that pass the stage `clusters`
  std::vector<KernelTiles> tiles; ///< what kernels are cut into, for the report
  Compilation result;
};
} // namespace

/// What the text of `stage` is written in; code objects are none.
static Language languageOf(Stage stage) {
  return stage == Stage::LLVM  ? Language::LlvmIr
         : stage == Stage::Asm ? Language::Assembly
                               : Language::Mlir;
}

Status Compiler::parse() {
  if (options.from != Stage::HSACO)
    if (Status status = checkRecursion(input, name, languageOf(options.from)); !status)
      return status;
  switch (options.from) {
  case Stage::LLVM:
    return parseLlvm();
  case Stage::Asm: {
    emitted.assembly = input.str();
    Result<llvm::SmallVector<char, 0>> object =
        hsaco::assemble(input, {.cpu = options.target}, name);
    if (!object)
      return object.error();
    emitted.object = *object;
    return Status::success();
  }
  case Stage::HSACO:
    codeObject.assign(input.begin(), input.end());
    return checkCodeObject();
  default:
    return parseMlir();
  }
}

/// Behind the stage `tile` a kernel is what it is.
Status Compiler::verifyNothingIsChosen() const {
  for (auto [isChosen, what] : {std::pair(options.schedule.has_value(), "its schedule"),
                                {options.waves.has_value(), "its waves"},
                                {options.kvTile.has_value(), "the keys of its tiles"},
                                {options.workgroups.has_value(), "how many workgroups share a compute unit"},
                                {options.blockOrder.has_value(), "the order of its blocks"},
                                {options.groupRows, "what its rows are"},
                                {options.splitWaves, "what its waves share"},
                                {options.persistent != 0, "whether it is persistent"}})
    if (isChosen)
      return invalidInput("'" + name.str() + "' is of the stage '" + std::string(toString(options.from)) + "', where " +
                          what + " cannot be chosen any more; leave that out, or begin with attn or tile");
  return Status::success();
}

Status Compiler::parseMlir() {
  module = parseSourceString<ModuleOp>(input, ParserConfig(&context), name);
  if (!module)
    return diagnostics.error("cannot parse '" + name.str() + "'");
  for (ModuleOp inner : module->getOps<ModuleOp>()) {
    inner.emitError("a module inside a module is not compiled; put its kernels at the top level");
    return diagnostics.error("");
  }
  if (Status status = verifyTargets(); !status)
    return status;
  if (options.to >= Stage::Asm)
    if (Status status = verifyStores(); !status)
      return status;
  if (options.from > Stage::Tile)
    return verifyNothingIsChosen();
  if (Status status = makePersistent(); !status)
    return status;
  if (Status status = overrideProblems(); !status)
    return status;
  if (Status status = resolveSchedules(*module, options.schedule, options.scheduleText); !status) {
    Error collected = diagnostics.error(status.error().message);
    return Error{status.error().kind, collected.message};
  }
  return options.from == Stage::Tile ? readManifest() : Status::success();
}

/// Not `parseAssemblyString`, which ends the process where the text parses and makes no sense: it
/// verifies the module in order to upgrade its debug info.
Status Compiler::parseLlvm() {
  llvm::SMDiagnostic diagnostic;
  llvm::SourceMgr sources;
  unsigned id = sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(input, name), {});
  // The name enters the assembly; where the text lies must not.
  llvmModule = std::make_unique<llvm::Module>("<string>", llvmContext);
  llvm::LLParser parser(sources.getMemoryBuffer(id)->getBuffer(), sources, diagnostic,
                        llvmModule.get(), /*Index=*/nullptr, llvmContext);
  if (parser.Run(/*UpgradeDebugInfo=*/false))
    return invalidInput(llvm::formatv("{0}:{1}:{2}: {3}", name, diagnostic.getLineNo(),
                                      diagnostic.getColumnNo() + 1, diagnostic.getMessage())
                            .str());
  std::string reason;
  llvm::raw_string_ostream stream(reason);
  if (llvm::verifyModule(*llvmModule, &stream))
    return invalidInput(name.str() +
                        ": LLVM rejects the module: " + StringRef(reason).trim().str());
  llvm::UpgradeDebugInfo(*llvmModule);
  return Status::success();
}

/// Puts what the caller wants into the problems; a wish that no problem can fulfil is an error.
Status Compiler::overrideProblems() {
  bool any = options.waves || options.kvTile || options.workgroups || options.blockOrder || options.groupRows ||
             options.splitWaves;
  if (!any)
    return Status::success();
  SmallVector<attn::ForwardOp> problems(module->getOps<attn::ForwardOp>());
  SmallVector<attn::BackwardOp> parts(module->getOps<attn::BackwardOp>());
  if (problems.empty() && parts.empty())
    return invalidInput(("'" + name +
                         "' has no 'attn.forward' for waves, kv-tile, workgroups, block-order, group-rows or split-waves to "
                         "act on; a kernel in the tile dialect says these itself")
                            .str());
  if (problems.empty() && options.workgroups)
    return invalidInput("'" + name.str() + "' has no 'attn.forward' for workgroups to act on; a schedule says it too");
  Builder builder(&context);
  std::optional<attn::BlockOrder> order;
  if (options.blockOrder) {
    order = attn::symbolizeBlockOrder(*options.blockOrder);
    if (!order)
      return invalidInput("block order '" + *options.blockOrder +
                          "' is unknown, use heavy_first, paired or linear");
  }
  for (attn::BackwardOp part : parts) {
    if (options.waves)
      part.setWaves(*options.waves);
    if (options.kvTile)
      part.setLoopTile(*options.kvTile);
    if (order)
      part.setBlockOrder(*order);
  }
  for (attn::ForwardOp problem : problems) {
    if (options.waves)
      problem.setWaves(*options.waves);
    if (options.kvTile)
      problem.setKvTile(*options.kvTile);
    if (options.workgroups)
      problem.setWorkgroups(*options.workgroups);
    if (order)
      problem.setBlockOrder(*order);
    if (options.groupRows)
      problem.setGroupRows(true);
    if (options.splitWaves)
      problem.setSplitWaves(true);
  }
  return Status::success();
}

/// Makes what is to be compiled persistent, as the caller wants; a kernel that says it itself is not changed.
Status Compiler::makePersistent() {
  if (options.joinItems && options.persistent == 0)
    return invalidInput("items of '" + name.str() + "' are to join, and it is not to be persistent; ask for both");
  if (options.persistent < 0 || options.persistent > tile::kMaxPersistentWorkgroups)
    return invalidInput("a persistent kernel has 1 to " + std::to_string(tile::kMaxPersistentWorkgroups) +
                        " workgroups for each compute unit, not " + std::to_string(options.persistent));
  if (options.persistent == 0)
    return Status::success();
  SmallVector<Operation *> kernels;
  for (Operation &op : module->getOps())
    if (isa<attn::ForwardOp, tile::KernelOp>(op))
      kernels.push_back(&op);
  if (kernels.empty())
    return invalidInput("'" + name.str() + "' has no 'attn.forward' and no 'tile.kernel' that could be persistent");
  Builder builder(&context);
  for (Operation *kernel : kernels) {
    if (kernel->hasAttr(tile::kPersistentAttr))
      continue;
    kernel->setAttr(tile::kPersistentAttr, builder.getI64IntegerAttr(options.persistent));
    if (options.joinItems)
      kernel->setAttr(tile::kJoinItemsAttr, builder.getUnitAttr());
  }
  return Status::success();
}

/// A kernel is compiled for the target it names; another choice must not be ignored.
Status Compiler::verifyTargets() {
  for (tile::KernelOp kernel : module->getOps<tile::KernelOp>()) {
    if (kernel.getTarget() == options.target)
      continue;
    Result<const ArchInfo *> arch = findArch(kernel.getTarget());
    if (!arch)
      kernel.emitError() << "kernel '" << kernel.getSymName()
                         << "' cannot be compiled: " << arch.error().message;
    else
      kernel.emitError() << "kernel '" << kernel.getSymName() << "' is written for target '"
                         << kernel.getTarget() << "', this run compiles for '" << options.target
                         << "'; choose target '" << kernel.getTarget()
                         << "' or expand the problem anew";
    return diagnostics.error("");
  }
  return Status::success();
}

static bool isStore(Operation *op) {
  if (isa<tile::StoreOp, tile::StoreBlockOp, tile::StoreRowsOp, tile::AtomicAddOp, tile::CombineOp>(op))
    return true;
  return !isa<tile::TileDialect>(op->getDialect()) && hasEffect<MemoryEffects::Write>(op);
}

/// Whether `kernel` has an op with what `predicate` says.
static bool hasOp(tile::KernelOp kernel, function_ref<bool(Operation *)> predicate) {
  return kernel
      ->walk([&](Operation *op) { return predicate(op) ? WalkResult::interrupt() : WalkResult::advance(); })
      .wasInterrupted();
}

/// Machine code has nothing of what a kernel computes and does not store.
Status Compiler::verifyStores() {
  for (tile::KernelOp kernel : module->getOps<tile::KernelOp>()) {
    const bool reads = hasOp(kernel, [](Operation *op) {
      return op->getNumRegions() == 0 && hasEffect<MemoryEffects::Read>(op);
    });
    if (!reads || hasOp(kernel, isStore))
      continue;
    kernel.emitError() << "kernel '" << kernel.getSymName()
                       << "' reads tensors and stores nothing, so that its machine code would be empty; store a result with "
                          "'tile.store', 'tile.store_rows', 'tile.store_block' or 'tile.atomic_add'";
    return diagnostics.error("");
  }
  return Status::success();
}

Status Compiler::advanceTo(Stage stage) {
  switch (stage) {
  case Stage::Tile:
    return toTile();
  case Stage::Clusters:
    return toClusters();
  case Stage::ROCDL:
    return toRocdl();
  case Stage::LLVM:
    return toLlvm();
  case Stage::Asm:
    return toAsm();
  default:
    return toHsaco();
  }
}

Status Compiler::runPasses(function_ref<void(PassManager &)> addPasses) {
  PassManager manager(&context);
  // Once for a stage, not after every pass; hocket-opt, and so the tests, verify after every pass.
  manager.enableVerifier(false);
  addPasses(manager);
  if (failed(manager.run(*module)) || failed(verify(*module)))
    return diagnostics.error("a pass failed without a diagnostic; this is a bug of Hocket");
  return Status::success();
}

Status Compiler::toTile() {
  Status status = runPasses([&](PassManager &manager) {
    ConvertAttnToTilePassOptions expansion;
    expansion.target = options.target;
    manager.addPass(createConvertAttnToTilePass(expansion));
    manager.addPass(createCSEPass());
  });
  return status ? readManifest() : status;
}

Status Compiler::toClusters() {
  int64_t loops = 0;
  module->walk([&](tile::ForTilesOp) { ++loops; });
  Status status = runPasses([&](PassManager &manager) {
    manager.addPass(tile::createPipelineTilesPass());
    manager.addPass(tile::createAllocateLdsPass());
    manager.addPass(tile::createSynchronizePass());
  });
  if (!status)
    return status;
  if (kernelManifest && loops == 1) {
    for (tile::KernelOp kernel : module->getOps<tile::KernelOp>())
      kernelManifest->clusters = readClusters(kernel, *module);
    result.manifest = manifest::writeManifest(*kernelManifest);
  }
  // An item is drawn, not the loop over items.
  if (options.drawSchedule)
    if (Status drawn = draw(); !drawn)
      return drawn;
  return runPasses([&](PassManager &manager) {
    manager.addPass(tile::createWorkItemsPass());
    manager.addPass(tile::createVerifyClustersPass());
  });
}

Status Compiler::draw() {
  FailureOr<std::string> drawing = drawSchedule(*module);
  if (failed(drawing))
    return diagnostics.error("cannot draw the schedule");
  result.drawing = *std::move(drawing);
  return Status::success();
}

Status Compiler::toRocdl() {
  countedPlans = readCountedPlans(*module);
  return runPasses([&](PassManager &manager) {
    // What a hand has written is held to the same rules as what the passes write.
    if (options.from == Stage::Clusters)
      manager.addPass(tile::createVerifyClustersPass());
    manager.addPass(createConvertTileToROCDLPass());
    manager.addPass(createCSEPass()); // branches on one condition become one branch
    manager.addPass(createCanonicalizerPass());
    manager.addPass(createCSEPass());
    manager.addNestedPass<LLVM::LLVMFuncOp>(createScheduleClustersPass());
  });
}

Status Compiler::toLlvm() {
  Status status = runPasses([&](PassManager &manager) {
    manager.addPass(createSCFToControlFlowPass());
    manager.addPass(createConvertVectorToLLVMPass());
    manager.addPass(createArithToLLVMConversionPass());
    manager.addPass(createConvertControlFlowToLLVMPass());
    manager.addPass(createReconcileUnrealizedCastsPass());
    manager.addNestedPass<LLVM::LLVMFuncOp>(createWeighBranchesPass());
  });
  if (!status)
    return status;
  llvmModule = hsaco::translateToLLVM(*module, llvmContext, {.debugInfo = options.debugInfo});
  if (!llvmModule)
    return diagnostics.error("cannot translate to LLVM IR");
  return Status::success();
}

Status Compiler::emit(llvm::Module &from) {
  Result<hsaco::Emitted> result = hsaco::optimizeAndEmit(from, {.cpu = options.target});
  if (!result)
    return result.error();
  emitted = *std::move(result);
  auto linked = padHazards(emitted, options.target);
  if (!linked)
    return linked.error();
  codeObject = *std::move(linked);
  return Status::success();
}

Result<bool> Compiler::hasSpills() const {
  Result<hsaco::ResourceReport> report = hsaco::readReport(StringRef(codeObject.data(), codeObject.size()), name);
  if (!report)
    return report.error();
  return llvm::any_of(report->kernels, [](const hsaco::KernelReport &kernel) { return kernel.vgprSpills + kernel.sgprSpills != 0; });
}

/// Forgets the weights of branches; returns whether there were any.
static bool dropWeights(llvm::Module &module) {
  bool hasWeights = false;
  for (llvm::Function &function : module)
    for (llvm::BasicBlock &block : function)
      if (llvm::Instruction *end = block.getTerminator(); end && end->getMetadata(llvm::LLVMContext::MD_prof)) {
        end->setMetadata(llvm::LLVMContext::MD_prof, nullptr);
        hasWeights = true;
      }
  return hasWeights;
}

Status Compiler::toAsm() {
  if (Status status = verifyBeforeCodeGen(*llvmModule, name); !status)
    return status;
  std::unique_ptr<llvm::Module> unweighed = llvm::CloneModule(*llvmModule);
  if (Status status = emit(*llvmModule); !status)
    return status;
  // LLVM keeps values of rare code out of the way of the rest, and where registers are scarce it spills for that.
  Result<bool> spills = hasSpills();
  if (!spills)
    return spills.error();
  return *spills && dropWeights(*unweighed) ? emit(*unweighed) : Status::success();
}

Status Compiler::toHsaco() {
  if (!codeObject.empty())
    return checkCodeObject();
  Result<llvm::SmallVector<char, 0>> linked =
      hsaco::link(StringRef(emitted.object.data(), emitted.object.size()));
  if (!linked)
    return linked.error();
  codeObject = *std::move(linked);
  return checkCodeObject();
}

/// Holds `codeObject`, our linker's or the input, to what the stage `hsaco` guarantees, and reports
/// on it.
Status Compiler::checkCodeObject() {
  StringRef bytes(codeObject.data(), codeObject.size());
  Result<hsaco::ResourceReport> report = hsaco::readReport(bytes, name);
  if (!report)
    return report.error();
  if (Result<const ArchInfo *> arch = findArch(report->cpu); !arch)
    return invalidInput("'" + name.str() + "' cannot be checked: " + arch.error().message);
  if (report->cpu != options.target)
    return invalidInput("'" + name.str() + "' is a code object for '" + report->cpu +
                        "', this run compiles for '" + options.target + "'; choose target '" +
                        report->cpu + "'");
  hsaco::Spills allowed = options.allowSpills      ? hsaco::Spills::Any
                          : options.scalarsInLanes ? hsaco::Spills::ToRegisters
                                                   : hsaco::Spills::None;
  hsaco::SharedUnits shared;
  for (const KernelTiles &kernel : tiles)
    shared[kernel.kernel] = kernel.workgroups;
  if (Status status = hsaco::checkSpills(*report, allowed, shared); !status)
    return status;
  if (Status status = hocket::amdgpu::checkHazards(bytes, name); !status)
    return status;
  if (Status status = hocket::amdgpu::checkCounted(bytes, countedPlans, name); !status)
    return status;
  llvm::raw_string_ostream table(result.report);
  hsaco::printReport(*report, table);
  llvm::json::Value json = hsaco::toJson(*report);
  for (const KernelTiles &kernel : tiles) {
    table << toText(kernel);
    for (llvm::json::Value &entry : *json.getAsObject()->getArray("kernels"))
      if (entry.getAsObject()->getString("name") == kernel.kernel)
        addTo(*entry.getAsObject(), kernel);
  }
  result.reportJson = llvm::formatv("{0:2}", json).str() + "\n";
  finishManifest(*report);
  return Status::success();
}

Status Compiler::readManifest() {
  SmallVector<tile::KernelOp> kernels(module->getOps<tile::KernelOp>());
  tiles.clear();
  for (tile::KernelOp kernel : kernels)
    tiles.push_back(readTiles(kernel));
  if (kernels.size() != 1) {
    result.noManifest =
        "the input has " + std::to_string(kernels.size()) + " kernels, a manifest describes one";
    return Status::success();
  }
  // A kernel without bindings compiles; it merely has no manifest.
  Result<manifest::Manifest> made = makeManifest(kernels.front());
  if (!made) {
    result.noManifest = made.error().message;
    return Status::success();
  }
  kernelManifest = *std::move(made);
  result.manifest = manifest::writeManifest(*kernelManifest);
  return Status::success();
}

void Compiler::finishManifest(const hsaco::ResourceReport &report) {
  if (!kernelManifest || report.kernels.size() != 1)
    return;
  kernelManifest->staticLds = report.kernels.front().ldsBytes;
  result.manifest = manifest::writeManifest(*kernelManifest);
}

std::string Compiler::textOf(Stage stage) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  switch (stage) {
  case Stage::LLVM:
    llvmModule->print(stream, nullptr);
    break;
  case Stage::Asm:
    stream << emitted.assembly;
    break;
  case Stage::HSACO:
    stream << StringRef(codeObject.data(), codeObject.size());
    break;
  default:
    module->print(stream);
    stream << "\n";
  }
  return text;
}

Result<Compilation> hocket::compile(std::string_view text, std::string_view name,
                                    const CompileOptions &options, CompileFailure *failure) {
  std::optional<Result<Compilation>> result;
  CompileFailure failed;
  runOnLargeStack([&] { result = Compiler(text, name, options).run(failed); });
  if (failure)
    *failure = std::move(failed);
  return *std::move(result);
}
