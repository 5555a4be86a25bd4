// Costs of kernels as JSON, in and out. Reading is as strict as the registry's.
#include "hocket/Attention/Kernels.h"

#include "Grid/TimeParameters.h"
#include "Manifest/Json.h"
#include "RegistryJson.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Error.h"

using namespace hocket;
using namespace hocket::attention;
using llvm::StringRef;
namespace json = llvm::json;

static constexpr int64_t kCostsVersion = 1;

/// Refuses keys of `value`, an object, that are not among `known`.
bool attention::checkKeys(const json::Value &value, llvm::ArrayRef<StringRef> known, json::Path path) {
  const json::Object *object = value.getAsObject();
  if (!object) {
    path.report("expected object");
    return false;
  }
  std::vector<StringRef> unknown; // of the object's own keys: the path keeps what it is given
  for (const auto &[key, element] : *object)
    if (!llvm::is_contained(known, key.str()))
      unknown.push_back(key);
  if (unknown.empty())
    return true;
  path.field(*llvm::min_element(unknown)).report("unknown key");
  return false;
}

bool attention::fromJSON(const json::Value &value, HeadDims &dims, json::Path path) {
  const json::Array *pair = value.getAsArray();
  if (!pair || pair->size() != 2 || !(*pair)[0].getAsInteger() || !(*pair)[1].getAsInteger()) {
    path.report("expected two integers: of Q and K, of V and O");
    return false;
  }
  dims = {*(*pair)[0].getAsInteger(), *(*pair)[1].getAsInteger()};
  return true;
}

namespace hocket::attention {
static bool readCurves(json::ObjectMapper &map, CostCurves &curves) {
  return map.map("alone", curves.alone) && map.mapOptional("shared", curves.shared) &&
         map.mapOptional("alone_later", curves.aloneLater) && map.mapOptional("shared_later", curves.sharedLater);
}

static bool fromJSON(const json::Value &value, CostCurves &curves, json::Path path) {
  json::ObjectMapper map(value, path);
  return map && checkKeys(value, {"alone", "shared", "alone_later", "shared_later"}, path) && readCurves(map, curves);
}

static bool fromJSON(const json::Value &value, PairCosts &pair, json::Path path) {
  json::ObjectMapper map(value, path);
  return map && checkKeys(value, {"cycles", "later", "skew"}, path) && map.map("cycles", pair.cycles) &&
         map.map("later", pair.later) && map.map("skew", pair.skew);
}

static bool isVariation(StringRef assignment) {
  return llvm::any_of(sim::timeVariations(), [&](const sim::TimeVariation &variation) {
    return sim::assignmentOf(variation) == assignment;
  });
}

/// An object of shares by assignment.
static bool fromJSON(const json::Value &value, std::vector<VariedCost> &varied, json::Path path) {
  const json::Object *object = value.getAsObject();
  if (!object) {
    path.report("expected object");
    return false;
  }
  for (const auto &[key, element] : *object) {
    const std::optional<double> share = element.getAsNumber();
    if (share && *share > 0 && isVariation(key)) {
      varied.push_back({key.str(), *share});
      continue;
    }
    path.report("expected numbers above 0 for variations of the cycle model, as \"memory.bytes=24\" "
                "(docs/generated/TimeParameters.md)");
    return false;
  }
  llvm::sort(varied, [](const VariedCost &a, const VariedCost &b) { return a.assignment < b.assignment; });
  return true;
}

static bool fromJSON(const json::Value &value, KernelCost &cost, json::Path path) {
  json::ObjectMapper map(value, path);
  return map &&
         checkKeys(value,
                   {"arch", "head_dims", "causal", "lse", "rows", "keys", "resident", "tiles", "alone", "shared",
                    "alone_later", "shared_later", "skew", "pair", "part_tile", "few_rows", "varied"},
                   path) &&
         map.map("arch", cost.architecture) && map.map("head_dims", cost.headDims) && map.map("rows", cost.rows) &&
         map.map("keys", cost.keys) && map.map("resident", cost.resident) && readCurves(map, cost.cycles) &&
         map.mapOptional("tiles", cost.tiles) && map.mapOptional("skew", cost.skew) &&
         map.mapOptional("pair", cost.pair) && map.mapOptional("part_tile", cost.partTile) &&
         map.mapOptional("few_rows", cost.fewRows) && map.mapOptional("varied", cost.varied) &&
         map.mapOptional("causal", cost.causal) && map.mapOptional("lse", cost.lse);
}
} // namespace hocket::attention

/// Whether each curve has `count` numbers, or none, but for that of workgroups alone.
static bool haveEach(const CostCurves &curves, size_t count) {
  const auto isFull = [count](const std::vector<double> &curve) { return curve.empty() || curve.size() == count; };
  return curves.alone.size() == count && isFull(curves.shared) && isFull(curves.aloneLater) &&
         isFull(curves.sharedLater);
}

/// The fault of a cost, or an empty text.
static llvm::StringLiteral faultOf(const KernelCost &cost) {
  if (cost.rows < 1 || cost.keys < 1 || cost.resident < 1)
    return "rows, keys and resident must be at least 1";
  const size_t points = cost.cycles.alone.size();
  constexpr size_t kMostPoints = 32;
  if (points < 2 || points > kMostPoints || (cost.resident > 1 && cost.cycles.shared.empty()))
    return "alone, and shared where several are resident, have the cycles for 2 to 32 numbers of tiles";
  if (!haveEach(cost.cycles, points) || (!cost.skew.empty() && cost.skew.size() != points) ||
      (!cost.tiles.empty() && cost.tiles.size() != points))
    return "tiles, alone, shared, alone_later, shared_later and skew have as many numbers, or none where they may lack";
  const auto falls = llvm::adjacent_find(cost.tiles, std::greater_equal<>());
  if (!cost.tiles.empty() && (cost.tiles.front() < 0 || falls != cost.tiles.end()))
    return "tiles must be at least 0, and ascend";
  const PairCosts &pair = cost.pair;
  if (!pair.cycles.empty() &&
      (pair.cycles.size() != points || pair.later.size() != points || pair.skew.size() != points))
    return "pair has as many numbers as alone, of cycles, later and skew";
  const auto isShare = [](double skew) { return skew >= 0 && skew < 1; };
  if (!llvm::all_of(cost.skew, isShare) || !llvm::all_of(pair.skew, isShare))
    return "skew must be at least 0 and less than 1";
  const auto isNothing = [](const CostCurves &curves) { return haveEach(curves, 0); };
  if ((!isNothing(cost.partTile) && !haveEach(cost.partTile, kPartTiles)) ||
      (!isNothing(cost.fewRows) && !haveEach(cost.fewRows, kFewRows) &&
       !haveEach(cost.fewRows, kFewRows + kRowShares)))
    return "few_rows has 8 or 12 numbers of each kind, part_tile 12";
  return "";
}

static void writeCurves(json::OStream &out, const CostCurves &curves) {
  out.attribute("alone", json::Array(curves.alone));
  if (!curves.shared.empty())
    out.attribute("shared", json::Array(curves.shared));
  if (!curves.aloneLater.empty())
    out.attribute("alone_later", json::Array(curves.aloneLater));
  if (!curves.sharedLater.empty())
    out.attribute("shared_later", json::Array(curves.sharedLater));
}

void attention::writeCost(json::OStream &out, const KernelCost &cost) {
  out.attribute("arch", cost.architecture);
  out.attribute("head_dims", json::Array{cost.headDims.qk, cost.headDims.v});
  if (cost.causal)
    out.attribute("causal", true);
  if (cost.lse)
    out.attribute("lse", true);
  out.attribute("rows", cost.rows);
  out.attribute("keys", cost.keys);
  out.attribute("resident", cost.resident);
  if (!cost.tiles.empty())
    out.attribute("tiles", json::Array(cost.tiles));
  writeCurves(out, cost.cycles);
  if (!cost.skew.empty())
    out.attribute("skew", json::Array(cost.skew));
  if (!cost.pair.cycles.empty())
    out.attributeObject("pair", [&] {
      out.attribute("cycles", json::Array(cost.pair.cycles));
      out.attribute("later", json::Array(cost.pair.later));
      out.attribute("skew", json::Array(cost.pair.skew));
    });
  if (!cost.partTile.alone.empty())
    out.attributeObject("part_tile", [&] { writeCurves(out, cost.partTile); });
  if (!cost.fewRows.alone.empty())
    out.attributeObject("few_rows", [&] { writeCurves(out, cost.fewRows); });
  if (!cost.varied.empty())
    out.attributeObject("varied", [&] {
      for (const VariedCost &one : cost.varied)
        out.attribute(one.assignment, one.share);
    });
}

/// Reads what `json` says of one kernel into `entry`.
static bool readCosts(const json::Value &value, KernelEntry &entry, json::Path path) {
  if (!fromJSON(value, entry.costs, path))
    return false;
  for (auto [index, cost] : llvm::enumerate(entry.costs)) {
    if (!llvm::is_contained(entry.architectures, cost.architecture)) {
      path.index(index).field("arch").report("expected one of the kernel's");
      return false;
    }
    if (llvm::StringLiteral wrong = faultOf(cost); !wrong.empty()) {
      path.index(index).report(wrong);
      return false;
    }
  }
  return true;
}

Status KernelRegistry::addCosts(std::string_view text, std::string_view name) {
  auto fail = [&](const std::string &what) {
    return invalidInput("kernel costs '" + std::string(name) + "': " + what);
  };
  llvm::Expected<json::Value> value = manifest::parseJson(text);
  if (!value)
    return fail("not JSON: " + llvm::toString(value.takeError()));
  json::Path::Root root("costs");
  json::Path path(root);
  int64_t version = 0;
  if (!checkKeys(*value, {"hocket_costs", "kernels"}, path) ||
      !json::ObjectMapper(*value, path).map("hocket_costs", version))
    return fail(llvm::toString(root.getError()));
  if (version != kCostsVersion)
    return fail("version " + std::to_string(version) + ", this build reads version " + std::to_string(kCostsVersion));
  const json::Object *kernels = value->getAsObject()->getObject("kernels");
  if (!kernels)
    return fail("expected an object at costs.kernels");
  for (const auto &[kernel, costs] : *kernels) {
    auto entry = llvm::find_if(entries, [&](const KernelEntry &one) { return one.name == kernel.str(); });
    if (entry == entries.end())
      return fail("no registered kernel '" + kernel.str() + "'");
    if (!readCosts(costs, *entry, path.field("kernels").field(kernel)))
      return fail(llvm::toString(root.getError()));
  }
  return {};
}
