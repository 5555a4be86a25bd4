// The reports of a first day: report.json, report.html, parameters.json, and a few lines for the terminal.
#pragma once

#include "Session.h"

#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
}

namespace hocket::run::firstday {

/// A line of the summary that somebody should look at.
struct Remark {
  std::string stage, item, text;
  bool isWrong = false; ///< something is not as it has to be; else it is a difference in time
};

/// What the registry's costs of a kernel should be multiplied with: the median of measured over expected times.
struct CostFactor {
  std::string kernel;
  double factor = 1;
  size_t problems = 0;
};

/// Results of all stages, gathered from the journal in the order of their items.
struct Report {
  struct StageResults {
    const DayStage *stage = nullptr;
    std::vector<std::pair<std::string, Finding>> items;
  };
  std::string device, chip;
  bool quick = false;
  std::vector<StageResults> stages;
  std::vector<Remark> remarks; ///< the worst first, stage by stage
  std::vector<CostFactor> costs; ///< by the kernels' names

  bool isRight() const;
};

Report gather(Session &session, const Journal &journal);
std::string toJson(const Report &report);
/// One self-contained page.
std::string toHtml(const Report &report);
/// The parameters that were measured, as `--time-file` takes them.
std::string parametersJson(const Report &report);

/// Writes all of them and prints the summary. Whether nothing is wrong.
Result<bool> writeReports(const std::string &directory, Session &session, const Journal &journal, llvm::raw_ostream &out);

} // namespace hocket::run::firstday
