// Plans problems by the interfaces of C++ and of C: a JSON object a line in, and one with both plans out. The keys are
// those of test/Python/same_plans.py, which compares them with what the tools and Python plan.
#include "hocket/Attention/CAPI.h"
#include "hocket/Jit/Jit.h"
#include "hocket/Pipelines/Modifications.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <iostream>

using namespace hocket;
using namespace hocket::attention;
namespace json = llvm::json;

namespace {
/// One line, by its keys; what is not there is 0, empty or false.
class Asked {
public:
  explicit Asked(const json::Object &object) : object(object) {}
  bool has(llvm::StringRef key) const { return object.get(key) != nullptr; }
  int64_t integer(llvm::StringRef key, int64_t fallback = 0) const { return object.getInteger(key).value_or(fallback); }
  double real(llvm::StringRef key) const { return object.getNumber(key).value_or(0); }
  bool flag(llvm::StringRef key) const { return object.getBoolean(key).value_or(false); }
  std::string text(llvm::StringRef key) const { return object.getString(key).value_or("").str(); }
  std::vector<double> list(llvm::StringRef key) const {
    std::vector<double> numbers;
    if (const json::Array *array = object.getArray(key))
      for (const json::Value &value : *array)
        numbers.push_back(value.getAsNumber().value_or(0));
    return numbers;
  }

private:
  const json::Object &object;
};
} // namespace

/// Shipped modifications and their numbers, in the order in which all interfaces apply them.
static std::vector<std::string> modificationsOf(const Asked &asked, std::map<std::string, double, std::less<>> &numbers) {
  std::vector<std::string> names;
  if (asked.has("soft_cap"))
    names.push_back("soft_cap"), numbers["soft_cap"] = asked.real("soft_cap");
  if (asked.flag("alibi"))
    names.push_back("alibi");
  if (std::vector<double> sides = asked.list("window"); !sides.empty()) {
    names.push_back("window");
    numbers["window_left"] = sides[0], numbers["window_right"] = sides[1];
  }
  return names;
}

static Result<BackwardProblem> readForCpp(const Asked &asked) {
  BackwardProblem backward;
  ForwardProblem &problem = backward.forward;
  problem.dtype = asked.text("dtype") == "fp16" ? ElementType::F16 : ElementType::BF16;
  problem.layout = asked.text("layout") == "bhsd" ? Layout::BHSD : Layout::BSHD;
  problem.batch = asked.integer("batch"), problem.heads = asked.integer("heads");
  problem.kvHeads = asked.integer("kv_heads");
  problem.seqQ = asked.integer("seq_q"), problem.seqKv = asked.integer("seq_kv");
  problem.headDim = asked.integer("head_dim"), problem.headDimV = asked.integer("head_dim_v", problem.headDim);
  if (asked.flag("causal"))
    problem.visibility = Visibility::causal();
  if (asked.has("scale"))
    problem.scale = asked.real("scale");
  problem.wantLse = asked.flag("lse");
  problem.sink = asked.flag("sink");
  problem.tuning.numSplits = asked.integer("num_splits");
  for (const std::string &name : modificationsOf(asked, problem.numbers)) {
    Result<Modification> modification = shippedModification(name);
    if (!modification.ok())
      return modification.error();
    problem.modifications.push_back(*modification);
  }
  if (std::vector<double> dropout = asked.list("dropout"); !dropout.empty()) {
    problem.dropout = true;
    problem.dropping = {.probability = dropout[0], .seed = int64_t(dropout[1]), .offset = int64_t(dropout[2])};
  }
  if (asked.has("total_q")) {
    problem.lists.packedQ = problem.lists.packedKv = true;
    problem.totalQ = asked.integer("total_q"), problem.totalKv = asked.integer("total_kv");
    problem.minSeqlenQ = asked.integer("min_seqlen_q");
  }
  if (asked.flag("work_list"))
    problem.work.list = WorkLists::Made;
  if (asked.has("page_size")) {
    problem.lists.pageSize = asked.integer("page_size"), problem.lists.usedKv = true;
    problem.numPages = asked.integer("num_pages"), problem.tablePages = asked.integer("table_pages");
  }
  if (asked.has("append")) {
    problem.update.appends = true;
    problem.newRows = asked.integer("append");
  }
  if (asked.has("rotary")) {
    problem.update.rotary = asked.text("rotary") == "half" ? Rotary::Half : Rotary::Interleaved;
    problem.update.rotaryDim = asked.integer("rotary_dim"), problem.positions = asked.integer("positions");
  }
  backward.accumulate = accumulationOf(asked.text("accumulate")).value_or(Accumulation::None);
  if (problem.sink)
    backward.otherGradients.insert("sink");
  return backward;
}

static json::Value planForCpp(Planner &planner, const Asked &asked) {
  Result<BackwardProblem> problem = readForCpp(asked);
  if (!problem.ok())
    return problem.error().message;
  auto text = [](const auto &plan) -> json::Value {
    if (!plan.ok())
      return plan.error().message;
    llvm::Expected<json::Value> value = json::parse((*plan)->toJson());
    return value ? *value : json::Value("no JSON: " + llvm::toString(value.takeError()));
  };
  return asked.flag("backward") ? text(planner.planBackward(*problem)) : text(planner.plan(problem->forward));
}

static json::Value planForC(hocket_planner planner, const Asked &asked) {
  hocket_forward_problem problem;
  hocket_forward_problem_init(&problem);
  problem.dtype = asked.text("dtype") == "fp16" ? HOCKET_FP16 : HOCKET_BF16;
  problem.layout = asked.text("layout") == "bhsd" ? HOCKET_BHSD : HOCKET_BSHD;
  problem.batch = asked.integer("batch"), problem.heads = asked.integer("heads");
  problem.kv_heads = asked.integer("kv_heads");
  problem.seq_q = asked.integer("seq_q"), problem.seq_kv = asked.integer("seq_kv");
  problem.head_dim = asked.integer("head_dim"), problem.head_dim_v = asked.integer("head_dim_v");
  problem.causal = asked.flag("causal");
  problem.has_scale = asked.has("scale"), problem.scale = asked.real("scale");
  problem.want_lse = asked.flag("lse"), problem.sink = asked.flag("sink");
  problem.num_splits = asked.integer("num_splits");
  std::map<std::string, double, std::less<>> numbers;
  std::vector<std::string> names = modificationsOf(asked, numbers);
  std::vector<hocket_modification> modifications;
  for (const std::string &name : names)
    modifications.push_back({name.c_str(), nullptr});
  std::vector<hocket_number> values;
  for (const auto &[name, value] : numbers)
    values.push_back({name.c_str(), value});
  problem.modifications = modifications.data(), problem.modification_count = modifications.size();
  problem.numbers = values.data(), problem.number_count = values.size();
  if (std::vector<double> dropout = asked.list("dropout"); !dropout.empty()) {
    problem.dropout = 1, problem.dropout_probability = dropout[0];
    problem.dropout_seed = int64_t(dropout[1]), problem.dropout_offset = int64_t(dropout[2]);
  }
  if (asked.has("total_q")) {
    problem.cu_seqlens_q = problem.cu_seqlens_k = 1;
    problem.total_q = asked.integer("total_q"), problem.total_kv = asked.integer("total_kv");
    problem.min_seqlen_q = asked.integer("min_seqlen_q");
  }
  problem.work_list = asked.flag("work_list") ? 2 : 0;
  if (asked.has("page_size")) {
    problem.page_size = asked.integer("page_size"), problem.seqused_k = 1;
    problem.num_pages = asked.integer("num_pages"), problem.table_pages = asked.integer("table_pages");
  }
  problem.append_rows = asked.integer("append");
  std::string rotary = asked.text("rotary"), accumulate = asked.text("accumulate");
  if (asked.has("rotary")) {
    problem.rotary = rotary.c_str();
    problem.rotary_dim = asked.integer("rotary_dim"), problem.positions = asked.integer("positions");
  }
  problem.accumulate = accumulate == "f32" ? 1 : accumulate == "packed" ? 2 : 0;
  const char *gradients[] = {"sink"};
  if (problem.sink && asked.flag("backward"))
    problem.gradients = gradients, problem.gradient_count = 1;

  hocket_plan plan = nullptr;
  hocket_status status = asked.flag("backward") ? hocket_planner_plan_backward(planner, &problem, nullptr, &plan)
                                                : hocket_planner_plan(planner, &problem, &plan);
  const char *text = nullptr;
  if (status != HOCKET_SUCCESS || hocket_plan_describe(plan, &text) != HOCKET_SUCCESS)
    return std::string(hocket_last_error());
  llvm::Expected<json::Value> value = json::parse(text);
  json::Value result = value ? *value : json::Value("no JSON: " + llvm::toString(value.takeError()));
  (void)hocket_plan_release(plan);
  return result;
}

int main() {
  auto planner = jit::makePlanner();
  hocket_planner forC = nullptr;
  if (!planner.ok() || hocket_planner_create(nullptr, &forC) != HOCKET_SUCCESS) {
    llvm::errs() << "no planner\n";
    return 1;
  }
  for (std::string line; std::getline(std::cin, line);) {
    llvm::Expected<json::Value> value = json::parse(line);
    if (!value || !value->getAsObject()) {
      llvm::consumeError(value.takeError());
      llvm::errs() << "not an object: " << line << '\n';
      return 1;
    }
    Asked asked(*value->getAsObject());
    json::Object plans{{"C++", planForCpp(**planner, asked)}, {"C", planForC(forC, asked)}};
    llvm::outs() << json::Value(std::move(plans)) << '\n';
    llvm::outs().flush();
  }
  return 0;
}
