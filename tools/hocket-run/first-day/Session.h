// A first day: the device under test, the simulator beside it, and stages of items.
#pragma once

#include "ToolPlanner.h"

#include "Grid/TimeParameters.h"
#include "Target/Arch/ArchInfo.h"
#include "hocket/Runtime/Device.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hocket::run::firstday {

class Journal;

/// What all stages work with.
struct Session {
  std::shared_ptr<runtime::Device> device;    ///< under test
  std::shared_ptr<runtime::Device> simulator; ///< of the same chip
  const ArchInfo *arch = nullptr;
  bool quick = false;
  std::optional<ToolPlanner> planner;
  const Journal *journal = nullptr; ///< what earlier stages have found

  std::string chip() const { return std::string(arch->name); }
};

/// What came of an item: members of its JSON object. "verdict" is one of `verdict`.
using Finding = llvm::json::Object;

namespace verdict {
inline constexpr llvm::StringLiteral same = "same";           ///< to the bit
inline constexpr llvm::StringLiteral rounding = "rounding";   ///< as near as what is not defined to the bit may be
inline constexpr llvm::StringLiteral different = "different"; ///< neither
inline constexpr llvm::StringLiteral measured = "measured";   ///< a figure and no judgement
inline constexpr llvm::StringLiteral skipped = "skipped";     ///< and "message" says why
inline constexpr llvm::StringLiteral failed = "failed";       ///< an error, in "message"
} // namespace verdict

/// Something to find out. An error becomes a finding with the verdict "failed".
struct Item {
  std::string name;
  std::function<Result<Finding>()> run;
};

struct DayStage {
  llvm::StringLiteral name, title;
  /// Its items. Those of a stage may read what the journal has of earlier ones.
  Result<std::vector<Item>> (*items)(Session &session);
};

// The stages, a source each.
Result<std::vector<Item>> deviceItems(Session &session);
Result<std::vector<Item>> instructionItems(Session &session);
Result<std::vector<Item>> hazardItems(Session &session);
Result<std::vector<Item>> kernelItems(Session &session);
Result<std::vector<Item>> parameterItems(Session &session);
Result<std::vector<Item>> ledgerItems(Session &session);
Result<std::vector<Item>> registryItems(Session &session);
/// All of them, in order.
llvm::ArrayRef<DayStage> stages();

/// Whether the device's times can be those of a GPU; where not, why (Facts.cpp measures it).
std::optional<std::string> timesMeanNothing(const Session &session);
/// The parameters of the cycle model that were measured, over the table's.
sim::TimeParameters measuredParameters(const Session &session);

} // namespace hocket::run::firstday
