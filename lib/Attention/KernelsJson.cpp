// The registry as JSON, in and out.
//
// Reading is strict, as for manifests: an unknown key is an error, and so is an entry that could
// never be chosen.
#include "hocket/Attention/Kernels.h"

#include "Manifest/Json.h"
#include "RegistryJson.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::attention;
using llvm::StringRef;
namespace json = llvm::json;

static constexpr int64_t kRegistryVersion = 1;

namespace hocket::attention {
static bool fromJSON(const json::Value &value, HeadTypes &types, json::Path path) {
  Result<HeadTypes> parsed = parseHeadTypes(value.getAsString().value_or(""));
  if (!parsed.ok()) {
    path.report("expected types as in \"bf16\", \"fp16\", \"f8e4m3\" or \"bf16_kv_f8e4m3\"");
    return false;
  }
  types = *parsed;
  return true;
}

static bool fromJSON(const json::Value &value, KernelRole &role, json::Path path) {
  std::string_view text = value.getAsString().value_or("");
  for (KernelRole known : {KernelRole::Whole, KernelRole::Slices, KernelRole::Combine})
    if (text == toString(known)) {
      role = known;
      return true;
    }
  path.report("expected \"whole\", \"slices\" or \"combine\"");
  return false;
}

static bool fromJSON(const json::Value &value, Visibility &mask, json::Path path) {
  Result<Visibility> parsed = Visibility::parse(value.getAsString().value_or(""));
  if (!parsed.ok()) {
    path.report("expected the name of a mask, as \"none\" or \"causal\"");
    return false;
  }
  mask = *parsed;
  return true;
}

/// The keys of `object` that are options of the semantics, each a list of true and false.
static bool readFlags(const json::Object &object, FlagChoices &choices, json::Path path) {
  for (const ForwardFlag &flag : forwardFlags()) {
    const json::Value *value = object.get(StringRef(flag.name));
    if (!value)
      continue;
    const json::Array *list = value->getAsArray();
    if (!list) {
      path.field(flag.name).report("expected a list");
      return false;
    }
    std::vector<bool> &values = choices[std::string(flag.name)];
    for (size_t i = 0; i < list->size(); ++i) {
      std::optional<bool> choice = (*list)[i].getAsBoolean();
      if (!choice) {
        path.field(flag.name).index(i).report("expected true or false");
        return false;
      }
      values.push_back(*choice);
    }
  }
  return true;
}

/// Keys of an object: its own, and those of options.
static std::vector<StringRef> withFlags(std::vector<StringRef> keys) {
  for (const ForwardFlag &flag : forwardFlags())
    keys.push_back(flag.name);
  return keys;
}

static bool readExpression(const json::Object &object, manifest::Expression &out, json::Path path) {
  auto text = object.getString("pays");
  Result<manifest::Expression> parsed = manifest::Expression::parse(text.value_or("").str());
  if (!text || !parsed.ok()) {
    path.report("expected an expression over a problem's variables");
    return false;
  }
  out = *parsed;
  return true;
}

static bool checkEntry(const KernelEntry &entry, json::Path path) {
  auto fail = [&](const char *key, llvm::StringLiteral wanted) {
    path.field(key).report(wanted);
    return false;
  };
  if (entry.name.empty() ||
      !llvm::all_of(entry.name, [](char c) { return llvm::isAlnum(c) || c == '_'; }))
    return fail("name", "expected letters, digits and underscores");
  if (entry.architectures.empty() || entry.dtypes.empty() || entry.headDims.empty() ||
      entry.masks.empty() ||
      llvm::any_of(entry.flags, [](const auto &choices) { return choices.second.empty(); }))
    return fail("name", "the kernel takes no problem at all: one of its lists is empty");
  if (entry.tuning.waves < 0 || entry.tuning.waves > 16)
    return fail("waves", "expected 1 to 16, or 0: as the head size wants");
  if (entry.tuning.workgroups < 0)
    return fail("workgroups", "expected 1 or more, or 0: as the schedule wants");
  if (entry.tuning.kvTile < 0 || entry.maxSequence < 1 || entry.strideMultiple < 1)
    return fail("kv_tile", "max_sequence and stride_multiple must be at least 1, kv_tile 0");
  if (entry.headDimMultiple < 0 || (entry.headDimMultiple > 0 && entry.headDimMax < 1))
    return fail("head_dim_multiple", "expected a positive number, with head_dim_max");
  return true;
}

static bool fromJSON(const json::Value &value, KernelEntry &entry, json::Path path) {
  if (!checkKeys(value,
                 withFlags({"name", "summary", "role", "arch", "dtypes", "head_dims",
                            "head_dim_multiple", "head_dim_max", "masks", "max_sequence",
                            "stride_multiple", "schedule", "waves", "kv_tile", "block_order",
                            "workgroups", "modifications", "group_rows", "split_waves", "join_items", "scalars_in_lanes", "priority", "pays",
                             "because"}),
                 path))
    return false;
  json::ObjectMapper map(value, path);
  const json::Object &object = *value.getAsObject();
  return map && map.map("name", entry.name) && map.map("summary", entry.summary) &&
         map.mapOptional("role", entry.role) && map.map("arch", entry.architectures) && map.map("dtypes", entry.dtypes) &&
         map.map("head_dims", entry.headDims) &&
         map.mapOptional("head_dim_multiple", entry.headDimMultiple) &&
         map.mapOptional("head_dim_max", entry.headDimMax) &&
         map.map("masks", entry.masks) && readFlags(object, entry.flags, path) &&
         map.map("max_sequence", entry.maxSequence) &&
         map.map("stride_multiple", entry.strideMultiple) &&
         map.mapOptional("modifications", entry.modifications) &&
         map.mapOptional("workgroups", entry.tuning.workgroups) &&
         map.mapOptional("group_rows", entry.tuning.groupRows) &&
         map.mapOptional("split_waves", entry.tuning.splitWaves) &&
         map.mapOptional("join_items", entry.tuning.joinItems) &&
         map.mapOptional("scalars_in_lanes", entry.tuning.scalarsInLanes) &&
         map.map("schedule", entry.tuning.schedule) && map.map("waves", entry.tuning.waves) &&
         map.map("kv_tile", entry.tuning.kvTile) &&
         map.map("block_order", entry.tuning.blockOrder) && map.map("priority", entry.priority) &&
         readExpression(object, entry.pays, path.field("pays")) &&
         map.map("because", entry.because) && checkEntry(entry, path);
}

static bool fromJSON(const json::Value &value, KernelProfile &profile, json::Path path) {
  if (!checkKeys(value, withFlags({"name", "summary", "kernels", "dtypes", "masks"}), path))
    return false;
  json::ObjectMapper map(value, path);
  const json::Object &object = *value.getAsObject();
  return map && map.map("name", profile.name) && map.map("summary", profile.summary) &&
         map.mapOptional("kernels", profile.kernels) && map.mapOptional("dtypes", profile.dtypes) &&
         map.mapOptional("masks", profile.masks) && readFlags(object, profile.flags, path);
}
} // namespace hocket::attention

/// What must hold between entries.
static std::string checkTogether(const KernelRegistry &registry) {
  std::span<const KernelEntry> kernels = registry.kernels();
  for (size_t i = 1; i < kernels.size(); ++i)
    if (kernels[i - 1].priority == kernels[i].priority)
      return "kernels '" + kernels[i - 1].name + "' and '" + kernels[i].name +
             "' have the same priority, " + std::to_string(kernels[i].priority);
  for (const KernelEntry &entry : kernels)
    if (llvm::count_if(kernels, [&](const KernelEntry &e) { return e.name == entry.name; }) > 1)
      return "two kernels are called '" + entry.name + "'";
  for (const KernelProfile &profile : registry.profiles())
    for (const std::string &kernel : profile.kernels)
      if (Result<const KernelEntry *> found = registry.find(kernel); !found.ok())
        return "profile '" + profile.name + "': " + found.error().message;
  return {};
}

Result<KernelRegistry> KernelRegistry::parse(std::string_view text, std::string_view name) {
  auto fail = [&](const std::string &what) {
    return invalidInput("kernel registry '" + std::string(name) + "': " + what);
  };
  llvm::Expected<json::Value> value = manifest::parseJson(text);
  if (!value)
    return fail("not JSON: " + llvm::toString(value.takeError()));
  json::Path::Root root("registry");
  json::Path path(root);
  KernelRegistry registry;
  int64_t version = 0;
  bool read = checkKeys(*value, {"hocket_registry", "kernels", "profiles"}, path);
  if (read) {
    json::ObjectMapper map(*value, path);
    read = map && map.map("hocket_registry", version) && map.map("kernels", registry.entries) &&
           map.map("profiles", registry.subsets);
  }
  if (!read)
    return fail(llvm::toString(root.getError()));
  if (version != kRegistryVersion)
    return fail("version " + std::to_string(version) + ", this build reads version " +
                std::to_string(kRegistryVersion));
  std::sort(registry.entries.begin(), registry.entries.end(),
            [](const KernelEntry &a, const KernelEntry &b) { return a.priority > b.priority; });
  if (std::string problem = checkTogether(registry); !problem.empty())
    return fail(problem);
  return registry;
}

/// Lists, as the registry spells them.
static json::Array booleans(const std::vector<bool> &list) {
  json::Array array;
  for (bool value : list)
    array.push_back(value);
  return array;
}
static json::Array names(const std::vector<Visibility> &masks) {
  json::Array array;
  for (Visibility mask : masks)
    array.push_back(std::string(mask.name()));
  return array;
}
static json::Array names(const std::vector<HeadTypes> &list) {
  json::Array array;
  for (const HeadTypes &types : list)
    array.push_back(optionName(types));
  return array;
}

static void writeEntry(json::OStream &out, const KernelEntry &entry) {
  json::Array headDims;
  for (HeadDims dims : entry.headDims)
    headDims.push_back(json::Array{dims.qk, dims.v});
  out.attribute("name", entry.name);
  out.attribute("summary", entry.summary);
  out.attribute("role", StringRef(toString(entry.role)));
  out.attribute("arch", json::Array(entry.architectures));
  out.attribute("dtypes", names(entry.dtypes));
  out.attribute("head_dims", std::move(headDims));
  if (entry.headDimMultiple > 0) {
    out.attribute("head_dim_multiple", entry.headDimMultiple);
    out.attribute("head_dim_max", entry.headDimMax);
  }
  out.attribute("masks", names(entry.masks));
  for (const ForwardFlag &flag : forwardFlags())
    if (auto choices = entry.flags.find(flag.name); choices != entry.flags.end())
      out.attribute(StringRef(flag.name), booleans(choices->second));
  if (entry.modifications)
    out.attribute("modifications", true);
  if (entry.tuning.groupRows)
    out.attribute("group_rows", true);
  if (entry.tuning.splitWaves)
    out.attribute("split_waves", true);
  if (entry.tuning.joinItems)
    out.attribute("join_items", true);
  if (entry.tuning.scalarsInLanes)
    out.attribute("scalars_in_lanes", true);
  out.attribute("max_sequence", entry.maxSequence);
  out.attribute("stride_multiple", entry.strideMultiple);
  out.attribute("schedule", entry.tuning.schedule);
  out.attribute("waves", entry.tuning.waves);
  out.attribute("kv_tile", entry.tuning.kvTile);
  if (entry.tuning.workgroups != 0)
    out.attribute("workgroups", entry.tuning.workgroups);
  out.attribute("block_order", entry.tuning.blockOrder);
  out.attribute("priority", entry.priority);
  out.attribute("pays", entry.pays.text());
  out.attribute("because", entry.because);
  if (!entry.costs.empty())
    out.attributeArray("costs", [&] {
      for (const KernelCost &cost : entry.costs)
        out.object([&] { writeCost(out, cost); });
    });
  out.attributeArray("variants", [&] {
    for (const KernelVariant &variant : entry.variants())
      out.value(entry.variantName(variant));
  });
}

std::string KernelRegistry::toJson() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  json::OStream out(stream, 2);
  out.object([&] {
    out.attribute("hocket_registry", kRegistryVersion);
    out.attributeArray("kernels", [&] {
      for (const KernelEntry &entry : entries)
        out.object([&] { writeEntry(out, entry); });
    });
    out.attributeArray("profiles", [&] {
      for (const KernelProfile &profile : subsets)
        out.object([&] {
          out.attribute("name", profile.name);
          out.attribute("summary", profile.summary);
          out.attributeArray("variants", [&] {
            for (const KernelEntry &entry : entries)
              for (const KernelVariant &variant : entry.variants())
                if (profile.contains(entry, variant))
                  out.value(entry.variantName(variant));
          });
        });
    });
  });
  stream << '\n';
  return text;
}
