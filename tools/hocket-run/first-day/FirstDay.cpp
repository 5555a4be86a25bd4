// hocket-run first-day: what is true of a chip that nobody has tried yet, in one command that can be stopped and
// continued: first what must be right for anything else to make sense, then breadth, then time.
#define HOCKET_OPTIONS_INC "FirstDayOptions.inc"
#include "Journal.h"
#include "OptionTable.h"
#include "Output.h"
#include "Report.h"
#include "Session.h"
#include "Subcommands.h"

#include "hocket/Runtime/Hip.h"
#include "hocket/Simulator/RuntimeDevice.h"
#include "hocket/Support/Version.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace hocket;
using namespace hocket::run;
using namespace hocket::run::firstday;

/// Runs of an item that did not come to an end, after which it is left out.
static constexpr unsigned kAttempts = 2;

/// The device under test: of any chip that Hocket knows.
static Result<std::shared_ptr<runtime::Device>> openUnderTest(const std::string &name) {
  if (name == "hip") {
    runtime::HipOptions any;
    any.architecture.clear();
    return runtime::openHipDevice(any);
  }
  Result<runtime::OpenedDevice> opened = openDevice(name);
  return opened.ok() ? Result<std::shared_ptr<runtime::Device>>(opened->device) : opened.error();
}

static Status openSession(const Options &options, Session &session) {
  session.quick = options.has(OPT_quick);
  Result<std::shared_ptr<runtime::Device>> device = openUnderTest(options.string(OPT_device, "hip"));
  if (!device.ok())
    return device.error();
  session.device = *device;
  const runtime::DeviceProperties &properties = session.device->properties();
  Result<const ArchInfo *> arch = findArch(properties.architecture);
  if (!arch.ok())
    return unsupported("device '" + properties.name + "': " + arch.error().message);
  session.arch = *arch;
  session.simulator = sim::createDevice(nullptr, session.arch->name);
  Result<ToolPlanner> planner = ToolPlanner::make({}, {session.chip(), properties.computeUnits});
  if (!planner.ok())
    return planner.error();
  session.planner = *std::move(planner);
  return Status::success();
}

/// The stages that are asked for.
static Result<std::vector<DayStage>> chosenStages(const Options &options) {
  const std::vector<std::string> names = options.strings(OPT_stage);
  std::vector<DayStage> chosen;
  for (const DayStage &stage : stages())
    if (names.empty() || llvm::is_contained(names, stage.name.str()))
      chosen.push_back(stage);
  for (const std::string &name : names)
    if (llvm::none_of(stages(), [&](const DayStage &stage) { return stage.name == name; })) {
      std::vector<std::string> known;
      for (const DayStage &stage : stages())
        known.push_back(stage.name.str());
      return invalidInput("option '--stage' has the value '" + name + "', expected " + llvm::join(known, ", "));
    }
  return std::move(chosen);
}

/// Whether the device still does anything: after an illegal access a process cannot use it again.
static bool isAlive(runtime::Device &device) {
  Result<runtime::DeviceAddress> address = device.allocate(16);
  if (!address.ok())
    return false;
  const bool alive = device.fill(*address, 0, 16).ok();
  return device.free(*address).ok() && alive;
}

static Status runItem(Session &session, Journal &journal, const DayStage &stage, const Item &item) {
  if (journal.attempts(stage.name, item.name) >= kAttempts)
    return journal.finish(stage.name, item.name,
                          Finding{{"verdict", verdict::failed},
                                  {"message", "it was begun " + std::to_string(kAttempts) +
                                                  " times and did not come to an end: it hangs, or ends the process"}});
  if (Status status = journal.begin(stage.name, item.name); !status.ok())
    return status;
  Result<Finding> finding = item.run();
  if (finding.ok())
    return journal.finish(stage.name, item.name, *std::move(finding));
  Status status = journal.finish(stage.name, item.name,
                                 Finding{{"verdict", verdict::failed}, {"message", finding.error().message}});
  if (!status.ok() || isAlive(*session.device))
    return status;
  return executionError("stage '" + stage.name.str() + "', '" + item.name + "': " + finding.error().message +
                        "\nnote: the device does nothing more in this process; run the command again, it continues after "
                        "this item");
}

static Status runStage(Session &session, Journal &journal, const DayStage &stage, const std::string &wanted) {
  Result<std::vector<Item>> items = stage.items(session);
  if (!items.ok())
    return items.error();
  for (size_t i = 0; i != items->size(); ++i) {
    const Item &item = (*items)[i];
    showProgress(stage.name.str() + ": " + item.name, double(i) / double(items->size()));
    if (journal.find(stage.name, item.name) || item.name.find(wanted) == std::string::npos)
      continue;
    if (Status status = runItem(session, journal, stage, item); !status.ok())
      return status;
  }
  clearProgress();
  return Status::success();
}

static llvm::json::Object headerOf(const Session &session) {
  const runtime::DeviceProperties &device = session.device->properties();
  return llvm::json::Object{{"journal", "hocket-run first-day"}, {"hocket", std::string(version())},
                            {"device", device.name},             {"architecture", device.architecture},
                            {"software", device.software},       {"quick", session.quick}};
}

static Result<int> runFirstDay(const Options &options) {
  if (Status status = options.noInputs(); !status.ok())
    return status.error();
  if (!options.has(OPT_out))
    return options.missing(OPT_out);
  const std::string directory = options.string(OPT_out);
  Result<std::vector<DayStage>> chosen = chosenStages(options);
  if (!chosen.ok())
    return chosen.error();
  const std::string wanted = options.string(OPT_item);
  Session session;
  if (Status status = openSession(options, session); !status.ok())
    return status.error();
  if (std::error_code error = llvm::sys::fs::create_directories(directory))
    return hostError("cannot make the directory '" + directory + "': " + error.message());
  Result<Journal> journal = Journal::open(directory + "/journal.jsonl", headerOf(session));
  if (!journal.ok())
    return journal.error();
  session.journal = &*journal;
  Status ended;
  for (const DayStage &stage : *chosen)
    if (ended = runStage(session, *journal, stage, wanted); !ended.ok())
      break;
  // What is there so far is reported whatever ended the run.
  Result<bool> right = writeReports(directory, session, *journal, llvm::outs());
  if (!ended.ok() || !right.ok())
    return ended.ok() ? right.error() : ended.error();
  return *right ? exitRight : exitWrong;
}

Result<int> run::firstDayCommand(llvm::ArrayRef<const char *> args) {
  static SubcommandTable table;
  CommandLine command{"first-day",
                      "--out DIR [--quick] [--device DEVICE] [--stage NAME]... [--item TEXT]",
                      "Finds out on a GPU whether instructions, kernels and predictions are right: resumable, one report",
                      &table,
                      OPT_INPUT,
                      OPT_UNKNOWN,
                      OPT_help};
  return runSubcommand(command, args, runFirstDay);
}
