// The prediction for a grid as text and as JSON.
#include "Simulator/GridTime.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::sim;
using llvm::format;
namespace json = llvm::json;

std::string sim::toText(const GridTime &grid) {
  std::string text;
  llvm::raw_string_ostream out(text);
  size_t timed = std::count_if(grid.kinds.begin(), grid.kinds.end(),
                               [](const WorkgroupKind &kind) { return kind.timed; });
  out << "predicted for the whole grid\n  workgroups    " << grid.workgroups << " of "
      << grid.kinds.size() << " kinds by " << grid.order << ", " << timed << " kinds timed, "
      << grid.resident << " at a time on a compute unit\n";
  out << format(
      "  time          %.1f us: %.0f cycles at %.2f GHz, %.1f%% of the compute units busy\n",
      grid.microseconds, grid.cycles, grid.clock, 100 * grid.busyShare);
  out << format("  memory        %.1f us at least, %.1f%% of the lines come from L2\n",
                grid.memoryMicroseconds, 100 * grid.l2Hits);
  if (grid.atomicMicroseconds > 0)
    out << format("  atomics       %.1f us at least\n", grid.atomicMicroseconds);
  return text;
}

void sim::writeKinds(json::OStream &out, const GridTime &grid) {
  out.attributeArray("kinds", [&] {
    for (const WorkgroupKind &kind : grid.kinds)
      out.object([&] {
        out.attribute("instructions", int64_t(kind.work.instructions));
        out.attribute("count", int64_t(kind.count));
        out.attribute("first_cycles", kind.first.together);
        out.attribute("cycles", kind.later.together);
        out.attribute("alone_first_cycles", kind.first.alone);
        out.attribute("alone_cycles", kind.later.alone);
        out.attribute("skew", kind.first.skew);
        out.attribute("timed", kind.timed);
      });
  });
}

void sim::writeMembers(json::OStream &out, const GridTime &grid) {
  out.attribute("prediction", true);
  out.attribute("workgroups", int64_t(grid.workgroups));
  out.attribute("resident_workgroups", grid.resident);
  out.attribute("order", grid.order);
  out.attribute("cycles", grid.cycles);
  out.attribute("busy_share", grid.busyShare);
  out.attribute("clock_ghz", grid.clock);
  out.attribute("execute_us", grid.executeMicroseconds);
  out.attribute("memory_us", grid.memoryMicroseconds);
  if (grid.atomicMicroseconds > 0)
    out.attribute("atomics_us", grid.atomicMicroseconds);
  out.attribute("l2_hits", grid.l2Hits);
  out.attribute("us", grid.microseconds);
  writeKinds(out, grid);
}
