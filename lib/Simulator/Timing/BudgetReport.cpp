// A workgroup's budget as text and JSON.
#include "Simulator/Budget.h"

#include "StallReport.h"

#include "llvm/Support/Format.h"

using namespace hocket;
using namespace hocket::sim;
using llvm::format;
namespace json = llvm::json;

static constexpr const char *titles[lifeParts] = {"before the loop", "in the loop",
                                                  "between its passes", "behind the loop"};

static void printTraffic(llvm::raw_ostream &out, const char *what, const Traffic &traffic) {
  out << format("    %-19s %llu bytes of lanes, %llu in requests of 64, %llu in lines\n", what,
                (unsigned long long)traffic.used, (unsigned long long)traffic.requests,
                (unsigned long long)traffic.lines);
}

std::string sim::toText(const LifeBudgets &budgets) {
  const LifeBudget &cold = budgets.cold, &warm = budgets.warm;
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "  budget of workgroup " << cold.workgroup
      << ", cycles of its mean wave, code and arguments cold and warm\n"
      << "    part                   cold    warm  instr   mfma  stalls when warm\n";
  for (unsigned p = 0; p < lifeParts; ++p) {
    const WaveTime &time = warm.parts[p];
    if (time.instructions == 0)
      continue;
    out << format("    %-19s %7.0f %7.0f %6.0f %6.0f  ", titles[p], cold.parts[p].cycles,
                  time.cycles, time.instructions, time.mfma);
    printStalls(out, time, 6);
    out << '\n';
  }
  out << format("    %-19s %7.0f %7.0f\n", "until all is stored", cold.drain, warm.drain);
  out << format("    %-19s %7.0f %7.0f", "workgroup", cold.cycles, warm.cycles);
  if (cold.outside && warm.outside)
    out << format("  of them %.0f and %.0f beyond what its matrix instructions take in the steady "
                  "state",
                  *cold.outside, *warm.outside);
  out << '\n';
  printTraffic(out, "loads", warm.loads);
  printTraffic(out, "stores", warm.stores);
  return text;
}

static void writeTraffic(json::OStream &out, llvm::StringRef name, const Traffic &traffic) {
  out.attributeObject(name, [&] {
    out.attribute("lane_bytes", int64_t(traffic.used));
    out.attribute("request_bytes", int64_t(traffic.requests));
    out.attribute("line_bytes", int64_t(traffic.lines));
  });
}

static void writeBudget(json::OStream &out, const LifeBudget &budget) {
  out.attribute("workgroup", int64_t(budget.workgroup));
  out.attribute("cycles", budget.cycles);
  if (budget.outside)
    out.attribute("outside_steady_state", *budget.outside);
  for (unsigned p = 0; p < lifeParts; ++p)
    out.attributeObject(std::string(name(LifePart(p))), [&] { writeWave(out, budget.parts[p]); });
  out.attribute("drain", budget.drain);
  writeTraffic(out, "loads", budget.loads);
  writeTraffic(out, "stores", budget.stores);
}

void sim::writeMembers(json::OStream &out, const LifeBudgets &budgets) {
  out.attributeObject("cold", [&] { writeBudget(out, budgets.cold); });
  out.attributeObject("warm", [&] { writeBudget(out, budgets.warm); });
}
