// From tensors and scalars by name to the variables of a manifest's expressions.
#include "hocket/Manifest/NamedArguments.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MathExtras.h"

#include <set>

using namespace hocket;
using namespace hocket::manifest;

std::vector<int64_t> NamedTensor::effectiveStrides() const {
  if (!strides.empty() || shape.empty())
    return strides;
  std::vector<int64_t> dense(shape.size(), 1);
  for (size_t i = shape.size() - 1; i != 0; --i)
    if (llvm::MulOverflow(dense[i], std::max<int64_t>(shape[i], 1), dense[i - 1]))
      dense[i - 1] = INT64_MAX; // `bytes` reports it
  return dense;
}

Result<uint64_t> NamedTensor::bytes() const {
  const std::string what = "tensor '" + name + "'";
  std::vector<int64_t> steps = effectiveStrides();
  if (steps.size() != shape.size())
    return invalidInput(what + " has " + std::to_string(steps.size()) + " strides for " +
                        std::to_string(shape.size()) + " dimensions");
  int64_t last = 0; // element
  bool empty = false;
  for (size_t i = 0; i != shape.size(); ++i) {
    if (shape[i] < 0 || steps[i] < 0)
      return invalidInput(what + ": extents and strides must not be negative, found " +
                          std::to_string(shape[i] < 0 ? shape[i] : steps[i]) + " in dimension " +
                          std::to_string(i));
    int64_t span;
    empty |= shape[i] == 0;
    if (llvm::MulOverflow(std::max<int64_t>(shape[i] - 1, 0), steps[i], span) ||
        llvm::AddOverflow(last, span, last))
      return invalidInput(what + " is too large: its elements span more than 2^63");
  }
  int64_t bytes;
  if (llvm::AddOverflow(last, int64_t(1), last) ||
      llvm::MulOverflow(last, bytesOf(dtype), bytes))
    return invalidInput(what + " is too large: it spans more than 2^63 bytes");
  return empty ? 0 : static_cast<uint64_t>(bytes);
}

/// Whether `expression` is a variable and nothing else.
static bool isVariable(const Expression &expression) {
  std::vector<std::string> variables = expression.variables();
  return variables.size() == 1 && variables.front() == expression.text();
}

/// The names that a tensor gives whatever the manifest calls its sizes.
static bool isDerivedFrom(const std::string &tensor, llvm::StringRef variable) {
  if (variable == tensor || variable == "want_" + tensor)
    return true;
  if (!variable.consume_front(tensor + "_"))
    return false;
  if (variable == "bytes")
    return true;
  bool indexed = variable.consume_front("size_") || variable.consume_front("stride_");
  unsigned dimension;
  return indexed && !variable.getAsInteger(10, dimension);
}

/// Calls `visit` for each expression of the manifest but those of tensors.
static void visitExpressions(const Manifest &manifest,
                             llvm::function_ref<void(const Expression &)> visit) {
  for (const Expression &expression : manifest.grid)
    visit(expression);
  for (const Expression &expression : manifest.block)
    visit(expression);
  visit(manifest.dynamicLds);
  visit(manifest.workspace);
  for (const Argument &argument : manifest.arguments)
    visit(argument.value);
  for (const Requirement &requirement : manifest.requirements)
    visit(requirement.condition);
}

/// Those that the manifest lists; of one that lists none, what its pointers mention.
static std::vector<TensorInfo> wantedTensors(const Manifest &manifest) {
  if (!manifest.tensors.empty())
    return manifest.tensors;
  std::vector<TensorInfo> tensors;
  for (const Argument &argument : manifest.arguments) {
    if (argument.type != ArgumentType::Pointer)
      continue;
    for (const std::string &variable : argument.value.variables()) {
      bool known = variable == "workspace" || llvm::any_of(tensors, [&](const TensorInfo &tensor) {
                     return isDerivedFrom(tensor.name, variable);
                   });
      if (!known)
        tensors.push_back({variable, std::nullopt, {}, {}});
    }
  }
  return tensors;
}

Signature manifest::signatureOf(const Manifest &manifest) {
  Signature signature;
  signature.tensors = wantedTensors(manifest);
  std::set<std::string> given = {"workspace"};
  std::set<std::string> wanted;
  for (const TensorInfo &tensor : signature.tensors)
    for (const std::vector<Expression> *list : {&tensor.sizes, &tensor.strides})
      for (const Expression &expression : *list)
        if (isVariable(expression))
          given.insert(expression.text());
        else
          for (const std::string &variable : expression.variables())
            wanted.insert(variable);
  visitExpressions(manifest, [&](const Expression &expression) {
    for (const std::string &variable : expression.variables())
      wanted.insert(variable);
  });
  for (const std::string &variable : wanted)
    if (!given.contains(variable) &&
        llvm::none_of(signature.tensors, [&](const TensorInfo &tensor) {
          return isDerivedFrom(tensor.name, variable);
        }))
      signature.scalars.push_back(variable);
  return signature;
}

std::string manifest::describe(const Signature &signature) {
  std::string text;
  for (const TensorInfo &tensor : signature.tensors) {
    text += (text.empty() ? "tensors " : ", ") + tensor.name;
    for (size_t i = 0; i != tensor.sizes.size(); ++i)
      text += (i == 0 ? " [" : ", ") + tensor.sizes[i].text();
    text += tensor.sizes.empty() ? "" : "]";
    if (tensor.dtype)
      text += " " + std::string(toString(*tensor.dtype));
  }
  for (size_t i = 0; i != signature.scalars.size(); ++i)
    text += (i != 0 ? ", " : text.empty() ? "scalars " : "; scalars ") + signature.scalars[i];
  return text.empty() ? "no arguments" : text;
}

namespace {
/// Collects variables; knows where each came from, for messages.
class Derivation {
public:
  Derivation(const Manifest &manifest, const NamedArguments &arguments)
      : manifest(manifest), arguments(arguments), signature(signatureOf(manifest)) {}
  Result<Variables> run();

private:
  Error wrong(const std::string &what) const {
    return invalidInput("kernel '" + manifest.kernel + "': " + what);
  }
  Error wants(const std::string &what) const {
    return wrong(what + "; it wants " + describe(signature));
  }
  const NamedTensor *given(const std::string &name) const;
  Status checkNames() const;
  Status checkScalars() const;
  Status checkType(const TensorInfo &info, const NamedTensor &tensor) const;
  Status addTensor(const TensorInfo &info, const NamedTensor &tensor);
  Status unify(const Expression &expression, int64_t value, std::string where);
  Status checkFixed() const;

  const Manifest &manifest;
  const NamedArguments &arguments;
  Signature signature;
  Variables variables;
  std::map<std::string, std::string> origin; ///< of sizes and strides with names
  struct Fixed {
    Expression expression;
    int64_t value;
    std::string where;
  };
  std::vector<Fixed> fixed; ///< to be compared when all variables are known
};
} // namespace

const NamedTensor *Derivation::given(const std::string &name) const {
  auto found = llvm::find_if(arguments.tensors,
                             [&](const NamedTensor &candidate) { return candidate.name == name; });
  return found == arguments.tensors.end() ? nullptr : &*found;
}

Status Derivation::checkNames() const {
  std::set<std::string> seen;
  for (const NamedTensor &tensor : arguments.tensors) {
    if (!seen.insert(tensor.name).second)
      return wrong("tensor '" + tensor.name + "' is given twice");
    if (llvm::none_of(signature.tensors,
                      [&](const TensorInfo &info) { return info.name == tensor.name; }))
      return wants("it has no tensor '" + tensor.name + "'");
  }
  for (const TensorInfo &info : signature.tensors)
    if (!given(info.name))
      return wants("tensor '" + info.name + "' is missing");
  return Status::success();
}

Status Derivation::checkScalars() const {
  for (const auto &[name, value] : arguments.scalars) {
    if (name == "workspace" || llvm::is_contained(signature.scalars, name))
      continue;
    if (auto found = origin.find(name); found != origin.end())
      return wrong("scalar '" + name + "' follows from " + found->second + "; leave it out");
    if (variables.contains(name))
      return wrong("scalar '" + name + "' follows from the tensors; leave it out");
    return wants("it has no scalar '" + name + "'");
  }
  for (const std::string &name : signature.scalars)
    if (!arguments.scalars.contains(name))
      return wants("scalar '" + name + "' is missing");
  return Status::success();
}

Status Derivation::checkType(const TensorInfo &info, const NamedTensor &tensor) const {
  if (info.dtype && !areCompatible(*info.dtype, tensor.dtype))
    return wants("tensor '" + tensor.name + "' has elements of " +
                 std::string(toString(tensor.dtype)) + ", " + std::string(toString(*info.dtype)) +
                 " are needed");
  if (!info.sizes.empty() && info.sizes.size() != tensor.shape.size())
    return wants("tensor '" + tensor.name + "' has " + std::to_string(tensor.shape.size()) +
                 " dimensions, " + std::to_string(info.sizes.size()) + " are needed");
  return Status::success();
}

/// A name gets the value, or has it already; all else is compared at the end.
Status Derivation::unify(const Expression &expression, int64_t value, std::string where) {
  if (!isVariable(expression)) {
    fixed.push_back({expression, value, std::move(where)});
    return Status::success();
  }
  auto [entry, isNew] = variables.try_emplace(expression.text(), Value::integer(value));
  if (isNew)
    origin[expression.text()] = std::move(where);
  else if (entry->second != Value::integer(value))
    return wrong("'" + expression.text() + "' is " + std::to_string(entry->second.asInteger()) +
                 " by " + origin[expression.text()] + " and " + std::to_string(value) + " by " +
                 where + "; they must be equal");
  return Status::success();
}

Status Derivation::addTensor(const TensorInfo &info, const NamedTensor &tensor) {
  if (Status status = checkType(info, tensor); !status.ok())
    return status;
  Result<uint64_t> bytes = tensor.bytes();
  if (!bytes.ok())
    return bytes.error();
  std::vector<int64_t> strides = tensor.effectiveStrides();
  auto where = [&](const char *what, size_t dimension) {
    return std::string(what) + " " + std::to_string(dimension) + " of tensor '" + tensor.name + "'";
  };
  for (size_t i = 0; i != tensor.shape.size(); ++i) {
    variables[tensor.name + "_size_" + std::to_string(i)] = Value::integer(tensor.shape[i]);
    variables[tensor.name + "_stride_" + std::to_string(i)] = Value::integer(strides[i]);
  }
  for (size_t i = 0; i != info.sizes.size(); ++i)
    if (info.sizes[i].text() != tensor.name + "_size_" + std::to_string(i))
      if (Status status = unify(info.sizes[i], tensor.shape[i], where("extent", i)); !status.ok())
        return status;
  for (size_t i = 0; i != std::min(info.strides.size(), strides.size()); ++i)
    // Nobody steps along a dimension with one element.
    if (info.strides[i].text() != tensor.name + "_stride_" + std::to_string(i) &&
        (tensor.shape[i] > 1 ||
         (isVariable(info.strides[i]) && !variables.contains(info.strides[i].text()))))
      if (Status status = unify(info.strides[i], strides[i], where("stride", i)); !status.ok())
        return status;
  variables[tensor.name] = Value::integer(static_cast<int64_t>(tensor.address));
  variables[tensor.name + "_bytes"] = Value::integer(static_cast<int64_t>(*bytes));
  variables["want_" + tensor.name] = Value::integer(1);
  return Status::success();
}

Status Derivation::checkFixed() const {
  for (const Fixed &each : fixed) {
    Result<Value> wanted = each.expression.evaluate(variables);
    if (!wanted.ok())
      return wrong(each.where + ": " + wanted.error().message);
    if (*wanted != Value::integer(each.value))
      return wrong(each.where + " is " + std::to_string(each.value) + ", the kernel is for " +
                   each.expression.text() +
                   (each.expression.variables().empty() || !wanted->isInteger()
                        ? ""
                        : " = " + std::to_string(wanted->asInteger())));
  }
  return Status::success();
}

Result<Variables> Derivation::run() {
  if (Status status = checkNames(); !status.ok())
    return status.error();
  for (const TensorInfo &info : signature.tensors)
    if (Status status = addTensor(info, *given(info.name)); !status.ok())
      return status.error();
  if (Status status = checkScalars(); !status.ok())
    return status.error();
  for (const auto &[name, value] : arguments.scalars)
    variables[name] = value;
  if (Status status = checkFixed(); !status.ok())
    return status.error();
  return std::move(variables);
}

Result<Variables> manifest::deriveVariables(const Manifest &manifest,
                                            const NamedArguments &arguments) {
  return Derivation(manifest, arguments).run();
}

Result<Binding> manifest::bindLaunch(const Manifest &manifest, const NamedArguments &arguments) {
  Result<Variables> variables = deriveVariables(manifest, arguments);
  if (!variables.ok())
    return variables.error();
  if (Status status = checkRequirements(manifest, *variables); !status.ok())
    return status.error();
  Result<uint64_t> workspace = workspaceBytes(manifest, *variables);
  if (!workspace.ok())
    return workspace.error();
  if (*workspace != 0 && !arguments.scalars.contains("workspace"))
    return invalidInput("kernel '" + manifest.kernel + "' needs " + std::to_string(*workspace) +
                        " bytes of workspace; allocate them and give their address as the scalar "
                        "'workspace'");
  return bindLaunch(manifest, *variables);
}
