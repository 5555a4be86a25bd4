// Runs LLVM's middle end and the AMDGPU back end on one module.
//
// The middle end knows the target machine, so cost models, address-space inference and the
// attributor are the target's. Diagnostics go to a handler of our own for the time of the call:
// what LLVM would print, or exit for, becomes an error value.
#include "Target/HSACO/Emit.h"

#include "Hardening/FatalErrorGuard.h"
#include "Target/AMDGPU/McContext.h"

#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"

namespace hocket::hsaco {

namespace {

/// Collects errors of a context while it lives, then gives the context its old handler back.
class DiagnosticCollector {
public:
  explicit DiagnosticCollector(llvm::LLVMContext &context)
      : context(context), previous(context.getDiagnosticHandler()) {
    context.setDiagnosticHandler(std::make_unique<Handler>(errors));
  }
  ~DiagnosticCollector() { context.setDiagnosticHandler(std::move(previous)); }

  const std::string &text() const { return errors; }

private:
  struct Handler : llvm::DiagnosticHandler {
    explicit Handler(std::string &errors) : errors(errors) {}
    bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
      if (info.getSeverity() != llvm::DS_Error)
        return true;
      std::string message;
      llvm::raw_string_ostream stream(message);
      llvm::DiagnosticPrinterRawOStream printer(stream);
      info.print(printer);
      add(message);
      return true;
    }
    /// Passes repeat themselves; a message is kept once, and without a location that says nothing.
    void add(llvm::StringRef message) {
      message.consume_front("<unknown>:0:0: ");
      if (llvm::StringRef(errors).contains(message))
        return;
      if (!errors.empty())
        errors += '\n';
      errors += message;
    }
    std::string &errors;
  };

  llvm::LLVMContext &context;
  std::unique_ptr<llvm::DiagnosticHandler> previous;
  std::string errors;
};

} // namespace

/// Makes the machine, at level 2: level 3 adds global value numbering, a tenth of the whole
/// compilation, and finds nothing in kernels whose instructions are chosen before LLVM.
static Result<std::unique_ptr<llvm::TargetMachine>> createMachine(const EmitOptions &options) {
  // Checks the processor's name, which `createTargetMachine` would only warn about.
  Result<std::shared_ptr<const amdgpu::McTarget>> mc = amdgpu::McTarget::create(options.cpu);
  if (!mc)
    return mc.error();
  std::unique_ptr<llvm::TargetMachine> machine((*mc)->target().createTargetMachine(
      (*mc)->triple(), options.cpu, /*Features=*/"", llvm::TargetOptions(), llvm::Reloc::PIC_,
      /*CM=*/std::nullopt, llvm::CodeGenOptLevel::Default));
  if (!machine)
    return internalError("cannot make a target machine for '" + options.cpu + "'");
  return machine;
}

/// Gives `module` the triple and layout of `machine`, unless it says something else.
static Status setTarget(llvm::Module &module, const llvm::TargetMachine &machine) {
  const llvm::Triple &wanted = machine.getTargetTriple();
  const llvm::Triple &found = module.getTargetTriple();
  const bool same = found.getArch() == wanted.getArch() && found.getOS() == wanted.getOS();
  if (!found.str().empty() && !same)
    return invalidInput("module is for '" + found.str() + "', '" + wanted.str() +
                        "' is needed; change or remove its target triple");
  const llvm::DataLayout layout = machine.createDataLayout();
  if (!module.getDataLayout().isDefault() && module.getDataLayout() != layout)
    return invalidInput("module has data layout '" + module.getDataLayoutStr() + "', '" +
                        wanted.str() + "' has '" + layout.getStringRepresentation() +
                        "'; change or remove it");
  module.setTargetTriple(wanted);
  module.setDataLayout(layout);
  return Status::success();
}

/// Sets processor and linkage of one function. Kernels are what the outside may see.
static Status setFunction(llvm::Function &function, const EmitOptions &options) {
  if (function.isDeclaration())
    return Status::success();
  const llvm::StringRef cpu = function.getFnAttribute("target-cpu").getValueAsString();
  if (!cpu.empty() && cpu != options.cpu)
    return invalidInput("function '" + function.getName().str() + "' is for '" + cpu.str() +
                        "', the target is '" + options.cpu + "'; remove its 'target-cpu'");
  function.addFnAttr("target-cpu", options.cpu);
  if (function.getCallingConv() == llvm::CallingConv::AMDGPU_KERNEL) {
    function.setLinkage(llvm::GlobalValue::ExternalLinkage);
    function.setVisibility(llvm::GlobalValue::ProtectedVisibility);
    return Status::success();
  }
  function.setVisibility(llvm::GlobalValue::DefaultVisibility);
  function.setLinkage(llvm::GlobalValue::InternalLinkage);
  return Status::success();
}

static Status prepareFor(llvm::Module &module, const EmitOptions &options,
                         const llvm::TargetMachine &machine) {
  if (Status set = setTarget(module, machine); !set)
    return set;
  const bool hasKernel = llvm::any_of(module, [](const llvm::Function &function) {
    return !function.isDeclaration() &&
           function.getCallingConv() == llvm::CallingConv::AMDGPU_KERNEL;
  });
  if (!hasKernel)
    return invalidInput("module has no kernel to emit; mark a function with 'rocdl.kernel' "
                        "(LLVM IR: 'amdgpu_kernel')");
  for (const llvm::Function &function : module)
    if (function.isDeclaration() && !function.isIntrinsic() && !function.use_empty())
      return invalidInput("function '" + function.getName().str() +
                          "' is used but not defined, and a code object is linked alone; define it "
                          "in the module");
  for (llvm::Function &function : module)
    if (Status set = setFunction(function, options); !set)
      return set;

  constexpr unsigned codeObjectVersion6 = 600;
  module.setModuleFlag(llvm::Module::Error, "amdhsa_code_object_version", codeObjectVersion6);
  module.setPICLevel(llvm::PICLevel::BigPIC);

  std::string message;
  llvm::raw_string_ostream stream(message);
  if (llvm::verifyModule(module, &stream))
    return invalidInput("LLVM rejects the module: " + llvm::StringRef(message).trim().str());
  return Status::success();
}

Status prepareModule(llvm::Module &module, const EmitOptions &options) {
  Result<std::unique_ptr<llvm::TargetMachine>> machine = createMachine(options);
  if (!machine)
    return machine.error();
  return prepareFor(module, options, **machine);
}

/// The middle end: what kernels gain from. Loops must be rotated, or their accumulators are copied
/// at every turn; the rest of LLVM's default pipeline takes three times as long and gains the
/// shipped kernels a few instructions in `double_buffer` alone. Nothing is left to vectorise: code
/// is written for one lane, in the order in which it should issue.
static constexpr llvm::StringLiteral kMiddleEnd =
    "cgscc(inline),globaldce,"
    "function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,"
    "loop-mssa(loop-rotate,licm),early-cse<memssa>,simplifycfg),"
    "amdgpu-attributor";

static Status runMiddleEnd(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager pipeline;
  if (llvm::Error error = builder.parsePassPipeline(pipeline, kMiddleEnd))
    return internalError("the middle end cannot be set up: " + llvm::toString(std::move(error)));
  pipeline.run(module, modules);
  return Status::success();
}

/// Runs the back end. Fails with the reason where LLVM gives up on the module.
static Result<std::string> runCodeGen(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::SmallVector<char, 0> text;
  llvm::raw_svector_ostream stream(text);
  auto passes = std::make_unique<llvm::legacy::PassManager>();
  passes->add(new llvm::TargetLibraryInfoWrapperPass(machine.getTargetTriple()));
  if (machine.addPassesToEmitFile(*passes, stream, /*DwoOut=*/nullptr,
                                  llvm::CodeGenFileType::AssemblyFile))
    return internalError("the AMDGPU back end cannot emit assembly");
  std::string reason;
  if (!runGuarded([&] { passes->run(module); }, reason)) {
    // The passes were left in the middle of their work and must not be touched again.
    (void)passes.release();
    return invalidInput("code generation failed: " + reason);
  }
  return std::string(text.begin(), text.end());
}

Result<Emitted> optimizeAndEmit(llvm::Module &module, const EmitOptions &options) {
  Result<std::unique_ptr<llvm::TargetMachine>> machine = createMachine(options);
  if (!machine)
    return machine.error();
  if (Status prepared = prepareFor(module, options, **machine); !prepared)
    return prepared.error();

  DiagnosticCollector diagnostics(module.getContext());
  std::string reason;
  Status optimized = Status::success();
  if (options.optimize && !runGuarded([&] { optimized = runMiddleEnd(module, **machine); }, reason))
    return invalidInput("optimisation failed: " + reason);
  if (!optimized)
    return optimized.error();
  Result<std::string> assembly = runCodeGen(module, **machine);
  if (!assembly)
    return assembly.error();
  if (!diagnostics.text().empty())
    return invalidInput("code generation failed: " + diagnostics.text());

  Result<llvm::SmallVector<char, 0>> object = assemble(*assembly, options);
  if (!object)
    return object.error();
  return Emitted{*std::move(assembly), *std::move(object)};
}

Result<llvm::SmallVector<char, 0>> assemble(llvm::StringRef assembly, const EmitOptions &options,
                                            llvm::StringRef name) {
  Result<std::shared_ptr<const amdgpu::McTarget>> mc = amdgpu::McTarget::create(options.cpu);
  if (!mc)
    return mc.error();
  return amdgpu::assemble(**mc, assembly, name);
}

} // namespace hocket::hsaco
