// Modifications from text.
#include "hocket/Pipelines/Modifications.h"

#include "Attn/IR/Attn.h"
#include "Hardening/RecursionCheck.h"
#include "IR/ElementTypes.h"
#include "Tile/IR/RegionOps.h"
#include "hocket/Manifest/Expression.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace hocket;
using attention::CapturedTensor;
using attention::Modification;

/// Of a tensor that the dialect has verified; a truth value is a byte in memory.
static ElementType typeInMemory(Type element) {
  std::optional<ElementType> type = asElementType(element);
  return type && infoOf(*type).hasWholeBytes() ? *type : ElementType::I8;
}

static Status checkExpression(StringRef text, const std::string &who) {
  Result<manifest::Expression> expression = manifest::Expression::parse(text.str());
  if (expression.ok())
    return Status::success();
  return invalidInput(who + ": '" + text.str() + "': " + expression.error().message);
}

/// What `attn.requires` says, which the dialect has verified.
static Status readRules(FunctionOpInterface op, const std::string &who, Modification &result) {
  auto rules = op->getAttrOfType<ArrayAttr>(attn::kRequires);
  if (!rules)
    return Status::success();
  for (ArrayAttr rule : rules.getAsRange<ArrayAttr>()) {
    StringRef condition = cast<StringAttr>(rule[0]).getValue(), expected = cast<StringAttr>(rule[1]).getValue();
    if (Status status = checkExpression(condition, who); !status.ok())
      return status;
    result.rules.push_back({condition.str(), expected.str()});
  }
  return Status::success();
}

/// Whether kernels can compute every op of the region: what they cannot is an error here, where it is written, and not in
/// the description of the kernel that it becomes part of. The diagnostics say which.
static bool isComputable(FunctionOpInterface op) {
  return !op.getFunctionBody()
              .walk([](Operation *inner) {
                bool isOwn = isa<attn::ReadOp, scf::IfOp>(inner) || inner->hasTrait<OpTrait::IsTerminator>();
                return isOwn || succeeded(tile::verifyElementOp(inner)) ? WalkResult::advance() : WalkResult::interrupt();
              })
              .wasInterrupted();
}

static Result<Modification> read(FunctionOpInterface op) {
  Modification result;
  result.name = op.getName().str();
  result.isMask = isa<attn::MaskModOp>(op);
  std::string who = "modification '" + result.name + "'";
  unsigned own = result.isMask ? attn::MaskModOp::kOwnArguments : attn::ScoreModOp::kOwnArguments;
  for (unsigned index = own; index != op.getNumArguments(); ++index) {
    auto tensor = dyn_cast<RankedTensorType>(op.getArgumentTypes()[index]);
    if (!tensor) {
      StringRef value = op.getArgAttrOfType<StringAttr>(index, "attn.value").getValue();
      if (Status status = checkExpression(value, who); !status.ok())
        return status.error();
      result.numbers.push_back(value.str());
      continue;
    }
    CapturedTensor captured{op.getArgAttrOfType<StringAttr>(index, "attn.bind").str(),
                            typeInMemory(tensor.getElementType()),
                            {}};
    auto sizes = op.getArgAttrOfType<ArrayAttr>(index, "attn.sizes");
    for (StringRef size : sizes.getAsValueRange<StringAttr>()) {
      if (Status status = checkExpression(size, who); !status.ok())
        return status.error();
      captured.sizes.push_back(size.str());
    }
    result.tensors.push_back(std::move(captured));
  }
  if (Status status = readRules(op, who, result); !status.ok())
    return status.error();
  llvm::raw_string_ostream stream(result.text);
  op->print(stream, OpPrintingFlags().useLocalScope());
  return result;
}

Result<std::vector<Modification>> hocket::parseModifications(std::string_view text,
                                                             std::string_view name) {
  if (Status status = checkRecursion(text, name, Language::Mlir); !status.ok())
    return status.error();
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  context.loadDialect<attn::AttnDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect>();
  std::string messages;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    llvm::raw_string_ostream stream(messages);
    stream << (messages.empty() ? "" : "\n");
    if (auto place = dyn_cast<FileLineColLoc>(diagnostic.getLocation()))
      stream << place.getFilename().getValue() << ':' << place.getLine() << ':' << place.getColumn() << ": ";
    stream << diagnostic;
    return success();
  });
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(text, ParserConfig(&context), StringRef(name));
  if (!module) {
    bool isForeign = messages.find("not found for custom op") != std::string::npos;
    return invalidInput("modification '" + std::string(name) + "' cannot be read: " + messages +
                        (isForeign ? "; use ops of 'arith' and 'math', 'scf.if' and 'attn.read'" : ""));
  }
  std::vector<Modification> list;
  for (Operation &op : *module->getBody()) {
    if (!isa<attn::ScoreModOp, attn::MaskModOp>(op))
      return invalidInput("'" + std::string(name) + "' has an '" +
                          op.getName().getStringRef().str() +
                          "'; modifications are 'attn.score_mod' and 'attn.mask_mod'");
    if (!isComputable(cast<FunctionOpInterface>(op)))
      return invalidInput("modification '" + std::string(name) + "' cannot be computed: " + messages);
    Result<Modification> modification = read(cast<FunctionOpInterface>(op));
    if (!modification.ok())
      return modification.error();
    list.push_back(*std::move(modification));
  }
  if (list.empty())
    return invalidInput("'" + std::string(name) +
                        "' has no modification; write an 'attn.score_mod' or 'attn.mask_mod'");
  return list;
}

Result<Modification> hocket::shippedModification(std::string_view name) {
  std::string known;
  for (const ShippedModification &shipped : shippedModifications()) {
    if (shipped.name == name) {
      Result<std::vector<Modification>> list = parseModifications(shipped.text, shipped.name);
      if (!list.ok())
        return internalError(list.error().message);
      return std::move(list->front());
    }
    known += (known.empty() ? "" : ", ") + std::string(shipped.name);
  }
  return notFound("no modification '" + std::string(name) + "' is shipped; there are " + known);
}
