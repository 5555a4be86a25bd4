#include "RegistryStart.h"

#include "Attn/IR/Attn.h"
#include "IR/ElementTypes.h"
#include "Registration/Registration.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

using namespace hocket;
using namespace hocket::attention;
using namespace mlir;

/// The op's semantics, where its types, head dimensions, mask and LSE are all that it says.
static std::optional<ForwardProblem> readPlain(attn::ForwardOp op) {
  for (NamedAttribute attribute : op->getAttrs())
    if (!llvm::is_contained({"sym_name", "element_type", "tensor_types", "head_dim", "head_dim_v", "mask", "lse", "block_order"},
                            attribute.getName().getValue()))
      return std::nullopt;
  ForwardProblem problem;
  std::optional<ElementType> all = asElementType(op.getElementType());
  if (!all)
    return std::nullopt;
  HeadTypes types(*all);
  for (auto [name, type] : {std::pair("k", &types.k), {"v", &types.v}, {"o", &types.o}})
    if (DictionaryAttr said = op.getTensorTypes().value_or(nullptr))
      if (TypeAttr of = said.getAs<TypeAttr>(name))
        if (std::optional<ElementType> read = asElementType(of.getValue()))
          *type = *read;
  problem.dtype = types;
  problem.headDim = op.getHeadDim();
  problem.headDimV = op.getHeadDimV().value_or(0);
  problem.wantLse = op.getLse();
  if (attn::VisibilityAttr mask = op.getMaskAttr(); mask && mask.isCausal())
    problem.visibility = Visibility::causal();
  else if (mask && !mask.isAll())
    return std::nullopt;
  return problem;
}

/// The only problem in `text`; nothing where there is another number, or no sense in it.
static std::optional<ForwardProblem> readProblem(std::string_view text) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) { return success(); });
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
  if (!module)
    return std::nullopt;
  auto problems = module->getOps<attn::ForwardOp>();
  return llvm::hasSingleElement(problems) ? readPlain(*problems.begin()) : std::nullopt;
}

Result<const KernelEntry *> hocketc::registryKernelOf(std::string_view text, std::string_view target,
                                                      const tune::Sizes &sizes) {
  std::optional<ForwardProblem> problem = readProblem(text);
  if (!problem)
    return nullptr;
  problem->tuning.numSplits = 1;
  // What is no extent is refused where kernels are timed, and no kernel takes 0 of anything.
  constexpr double kLargest = 1e12;
  auto extent = [&](std::string_view name, int64_t usual) {
    auto said = sizes.values.find(name);
    if (said == sizes.values.end())
      return usual;
    return said->second >= 1 && said->second <= kLargest ? static_cast<int64_t>(said->second) : 0;
  };
  problem->batch = extent("batch", 1);
  problem->heads = extent("heads", 16);
  problem->kvHeads = extent("kv_heads", problem->heads);
  problem->seqQ = extent("seq_q", 4096);
  problem->seqKv = extent("seq_kv", 4096);
  const Result<KernelRegistry> &registry = KernelRegistry::shipped();
  if (!registry.ok())
    return registry.error();
  Result<const KernelEntry *> kernel = registry->select(*problem, target);
  if (!kernel.ok())
    return nullptr;
  const KernelTuning &tuning = (*kernel)->tuning;
  return tuning.groupRows || tuning.splitWaves || tuning.joinItems || tuning.scalarsInLanes ? nullptr : *kernel;
}

void hocketc::followKernel(const KernelEntry &kernel, CompileOptions &options) {
  const KernelTuning &tuning = kernel.tuning;
  auto follow = [](std::optional<int64_t> &option, int64_t said) {
    if (!option && said != 0)
      option = said;
  };
  options.schedule = tuning.schedule;
  follow(options.waves, tuning.waves);
  follow(options.kvTile, tuning.kvTile);
  follow(options.workgroups, tuning.workgroups);
  if (!options.blockOrder)
    options.blockOrder = tuning.blockOrder;
}
