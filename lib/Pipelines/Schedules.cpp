// How a schedule gets into a module.
#include "Pipelines/Schedules.h"

#include "Attn/IR/Attn.h"
#include "Tile/IR/Tile.h"
#include "Hardening/RecursionCheck.h"
#include "hocket/Runtime/File.h"

#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace hocket;

static constexpr llvm::StringLiteral kDefaultAttr = "tile.default";

static const ShippedSchedule *findShipped(StringRef name) {
  for (const ShippedSchedule &shipped : shippedSchedules())
    if (StringRef(shipped.name) == name)
      return &shipped;
  return nullptr;
}

static std::string shippedNames() {
  std::string names;
  for (const ShippedSchedule &shipped : shippedSchedules())
    names += (names.empty() ? "" : ", ") + std::string(shipped.name);
  return names;
}

/// The one schedule in `text`; diagnostics of the parser go to the context's handler.
static Result<OwningOpRef<ModuleOp>> parseSchedule(MLIRContext *context, StringRef text,
                                                   StringRef name, tile::ScheduleOp &schedule) {
  if (Status status = checkRecursion(text, name, Language::Mlir); !status)
    return status.error();
  OwningOpRef<ModuleOp> parsed = parseSourceString<ModuleOp>(text, ParserConfig(context), name);
  if (!parsed)
    return invalidInput("cannot parse schedule '" + name.str() + "'");
  unsigned count = 0;
  for (tile::ScheduleOp op : parsed->getOps<tile::ScheduleOp>()) {
    schedule = op;
    ++count;
  }
  if (count != 1)
    return invalidInput("'" + name.str() + "' has " + std::to_string(count) +
                        " schedules, exactly one 'tile.schedule' is needed");
  return parsed;
}

/// Puts a copy of the schedule in `text` into `module`, in place of one of the same name, and returns what it is called
/// there: something else if a kernel has its name.
static Result<std::string> addSchedule(ModuleOp module, StringRef text, StringRef name) {
  tile::ScheduleOp schedule;
  Result<OwningOpRef<ModuleOp>> parsed = parseSchedule(module.getContext(), text, name, schedule);
  if (!parsed)
    return parsed.error();
  if (Operation *existing = SymbolTable::lookupSymbolIn(module, schedule.getSymNameAttr());
      existing && isa<tile::ScheduleOp>(existing))
    existing->erase();
  return SymbolTable(module).insert(schedule->clone(), module.getBody()->begin()).str();
}

std::optional<std::string> hocket::readScheduleFile(const std::string &choice) {
  if (findShipped(choice))
    return std::nullopt;
  Result<std::string> text = runtime::readText(choice);
  return text ? std::optional<std::string>(*std::move(text)) : std::nullopt;
}

static Result<std::string> addChosen(ModuleOp module, const std::string &choice,
                                     const std::optional<std::string> &text) {
  if (const ShippedSchedule *shipped = findShipped(choice))
    return addSchedule(module, shipped->text, shipped->name);
  if (auto existing =
          dyn_cast_or_null<tile::ScheduleOp>(SymbolTable::lookupSymbolIn(module, choice)))
    return choice;
  if (text)
    return addSchedule(module, *text, choice);
  Result<std::string> file = runtime::readText(choice);
  if (!file && file.error().kind == ErrorKind::NotFound)
    return notFound("no schedule '" + choice + "': neither a shipped one (" + shippedNames() +
                    ") nor a file that can be read (" + file.error().message + ")");
  if (!file)
    return file.error();
  return addSchedule(module, *file, choice);
}

static Result<std::string> addDefault(ModuleOp module) {
  for (const ShippedSchedule &shipped : shippedSchedules()) {
    tile::ScheduleOp schedule;
    auto parsed = parseSchedule(module.getContext(), shipped.text, shipped.name, schedule);
    if (!parsed)
      return parsed.error();
    if (schedule->hasAttr(kDefaultAttr))
      return addSchedule(module, shipped.text, shipped.name);
  }
  return internalError("no shipped schedule carries '" + kDefaultAttr.str() + "'");
}

/// What a part of a backward that names none follows: `fmha_bwd_dkdv_sequential`.
static std::string defaultOf(attn::BackwardOp part) {
  return ("fmha_bwd_" + attn::stringifyBackwardPart(part.getPart()) + "_sequential").str();
}

/// The schedule that an op without one gets: the default, added once.
static Status setMissing(ModuleOp module, std::optional<std::string> symbol) {
  for (attn::BackwardOp part : module.getOps<attn::BackwardOp>())
    if (part.isLoop() && !part.getSchedule())
      part.setScheduleAttr(FlatSymbolRefAttr::get(module.getContext(), defaultOf(part)));
  for (attn::ForwardOp problem : module.getOps<attn::ForwardOp>()) {
    if (problem.getSchedule())
      continue;
    if (!symbol) {
      Result<std::string> added = addDefault(module);
      if (!added)
        return added.error();
      symbol = *added;
    }
    problem.setScheduleAttr(FlatSymbolRefAttr::get(module.getContext(), *symbol));
  }
  return Status::success();
}

/// Takes out a default schedule that nothing refers to any more, since another one was chosen.
static void eraseUnusedDefault(ModuleOp module, StringRef chosen, ArrayRef<StringRef> wanted) {
  for (tile::ScheduleOp schedule : llvm::make_early_inc_range(module.getOps<tile::ScheduleOp>()))
    if (schedule->hasAttr(kDefaultAttr) && schedule.getSymName() != chosen &&
        !llvm::is_contained(wanted, schedule.getSymName()) && !wanted.empty())
      schedule.erase();
}

Status hocket::resolveSchedules(ModuleOp module, const std::optional<std::string> &choice,
                                const std::optional<std::string> &text) {
  std::optional<std::string> symbol;
  if (choice) {
    Result<std::string> added = addChosen(module, *choice, text);
    if (!added)
      return added.error();
    symbol = *added;
    FlatSymbolRefAttr reference = FlatSymbolRefAttr::get(module.getContext(), *symbol);
    bool isFollowed = false;
    auto follow = [&](auto op) {
      op.setScheduleAttr(reference);
      isFollowed = true;
    };
    module.walk([&](attn::ForwardOp problem) { follow(problem); });
    module.walk([&](attn::BackwardOp part) {
      if (part.isLoop())
        follow(part);
    });
    module.walk([&](tile::ForTilesOp loop) { follow(loop); });
    if (!isFollowed)
      return invalidInput("no loop over tiles is there to follow schedule '" + *choice + "'; leave it out");
  }
  if (Status status = setMissing(module, symbol); !status)
    return status;

  SmallVector<StringRef> wanted;
  module.walk([&](attn::ForwardOp problem) { wanted.push_back(*problem.getSchedule()); });
  module.walk([&](attn::BackwardOp part) {
    if (part.getSchedule())
      wanted.push_back(*part.getSchedule());
  });
  module.walk([&](tile::ForTilesOp loop) { wanted.push_back(loop.getSchedule()); });
  if (symbol)
    eraseUnusedDefault(module, *symbol, wanted);
  for (StringRef name : wanted) {
    const ShippedSchedule *shipped = findShipped(name);
    if (!shipped || isa_and_nonnull<tile::ScheduleOp>(SymbolTable::lookupSymbolIn(module, name)))
      continue;
    if (Operation *other = SymbolTable::lookupSymbolIn(module, name))
      return invalidInput("'" + name.str() + "' is both a schedule and the name of an '" +
                          other->getName().getStringRef().str() + "'; rename one of them");
    if (Result<std::string> added = addSchedule(module, shipped->text, shipped->name); !added)
      return added.error();
  }
  return Status::success();
}
