// One turn of the steady state as an SVG picture.
//
// Above, a lane for each wave of the first workgroup: what kind of instruction it issued, and pale
// stretches where it waited; barriers are strokes, with the number of the schedule's cluster behind
// them where it is known. Below, the units: the matrix and vector pipe of
// each SIMD, the LDS, the memory's address unit. Time runs to the right.
#include "ComputeUnit.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::sim;
using amdgpu::InstructionClass;
using llvm::format;

namespace {
struct Colour {
  const char *name, *fill;
};
constexpr Colour matrixColour{"MFMA", "#c0392b"}, transColour{"transcendental", "#e67e22"},
    vectorColour{"other vector", "#f1c40f"}, ldsColour{"LDS", "#2980b9"},
    memoryColour{"memory", "#27ae60"}, scalarColour{"scalar", "#7f8c8d"},
    stallColour{"waiting", "#ecf0f1"}, barrierColour{"barrier", "#000000"};
constexpr Colour legend[] = {matrixColour, transColour,  vectorColour, ldsColour,
                             memoryColour, scalarColour, stallColour,  barrierColour};

constexpr double left = 110, width = 1400, rowHeight = 22, rowGap = 5, top = 60;

class Drawing {
public:
  /// `scheduled`: the turn is the schedule's loop, whose clusters have numbers.
  Drawing(const TimedRun &run, uint64_t begin, uint64_t end, bool scheduled)
      : run(run), begin(begin), end(end), scheduled(scheduled), out(text) {}
  std::string draw(const std::string &title);

private:
  double x(double cycle) const {
    return left + (cycle - double(begin)) / double(end - begin) * width;
  }
  void bar(unsigned row, double from, double to, const char *fill, double inset);
  void label(unsigned row, const std::string &name);
  void drawWaves();
  void drawClusterNumbers(const std::vector<int> &rowOf);
  void drawUnits();
  void drawAxis();
  void drawLegend();

  const TimedRun &run;
  uint64_t begin, end;
  bool scheduled;
  std::string text;
  llvm::raw_string_ostream out;
  unsigned rows = 0;
};
} // namespace

static Colour colourOf(InstructionClass kind) {
  switch (kind) {
  case InstructionClass::Mfma:
    return matrixColour;
  case InstructionClass::Transcendental:
    return transColour;
  case InstructionClass::Packed:
  case InstructionClass::Valu:
    return vectorColour;
  case InstructionClass::LdsRead:
  case InstructionClass::LdsWrite:
  case InstructionClass::LdsOther:
    return ldsColour;
  case InstructionClass::LdsDma:
  case InstructionClass::VmemLoad:
  case InstructionClass::VmemStore:
  case InstructionClass::VmemOther:
    return memoryColour;
  case InstructionClass::Barrier:
    return barrierColour;
  default:
    return scalarColour;
  }
}

void Drawing::bar(unsigned row, double from, double to, const char *fill, double inset) {
  from = std::max(from, double(begin)), to = std::min(to, double(end));
  if (to <= from)
    return;
  out << format("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" fill=\"%s\"/>\n",
                x(from), top + row * (rowHeight + rowGap) + inset, x(to) - x(from),
                rowHeight - 2 * inset, fill);
}

void Drawing::label(unsigned row, const std::string &name) {
  out << format("<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", left - 8,
                top + row * (rowHeight + rowGap) + rowHeight * 0.7, name.c_str());
}

void Drawing::drawWaves() {
  std::vector<int> rowOf(run.waves.size(), -1);
  for (size_t w = 0; w < run.waves.size(); ++w)
    if (run.waves[w].group == 0) {
      rowOf[w] = int(rows);
      label(rows++, "wave " + std::to_string(run.waves[w].index) + " (SIMD " +
                        std::to_string(run.waves[w].simd) + ")");
    }
  for (const IssueEvent &event : run.events) {
    if (event.cycle < begin || event.ready >= end || rowOf[event.wave] < 0)
      continue;
    unsigned row = static_cast<unsigned>(rowOf[event.wave]);
    auto place = run.places.find(event.place);
    InstructionClass kind =
        place == run.places.end() ? InstructionClass::Other : place->second.kind;
    if (event.cycle > event.ready)
      bar(row, double(event.ready), double(event.cycle), stallColour.fill, 3);
    bar(row, double(event.cycle), double(event.cycle + slotCycles), colourOf(kind).fill, 0);
  }
  if (scheduled)
    drawClusterNumbers(rowOf);
}

/// The schedule's number of each cluster that begins in the turn, where it does.
void Drawing::drawClusterNumbers(const std::vector<int> &rowOf) {
  const auto waves = static_cast<unsigned>(
      std::count_if(rowOf.begin(), rowOf.end(), [](int row) { return row >= 0; }));
  std::vector<uint64_t> passed(run.waves.size(), 0);
  for (const IssueEvent &event : run.events) {
    auto place = run.places.find(event.place);
    if (rowOf[event.wave] < 0 || place == run.places.end() ||
        place->second.kind != InstructionClass::Barrier)
      continue;
    ++passed[event.wave];
    auto cluster = run.clusters.at(run.waves[event.wave].index, waves, passed[event.wave]);
    if (cluster && event.cycle >= begin && event.cycle < end)
      out << format("<text x=\"%.1f\" y=\"%.1f\" font-size=\"9\">%u</text>\n",
                    x(double(event.cycle)) + 3,
                    top + rowOf[event.wave] * (rowHeight + rowGap) + rowHeight * 0.65, *cluster);
  }
}

void Drawing::drawUnits() {
  unsigned first = rows;
  const std::pair<TimedUnit, const char *> perSimd[] = {{TimedUnit::Matrix, "matrix "},
                                                        {TimedUnit::Vector, "vector "}};
  for (unsigned s = 0; s < simds; ++s)
    for (const auto &[unit, name] : perSimd)
      label(rows++, name + std::to_string(s));
  label(rows++, "LDS");
  label(rows++, "memory");
  std::vector<uint64_t> free(rows - first, 0);
  for (const IssueEvent &event : run.events) {
    unsigned simd = run.waves[event.wave].simd, row;
    Colour colour = scalarColour;
    switch (event.unit) {
    case TimedUnit::Matrix:
      row = 2 * simd, colour = matrixColour;
      break;
    case TimedUnit::Vector: {
      auto place = run.places.find(event.place);
      row = 2 * simd + 1;
      colour = place == run.places.end() ? vectorColour : colourOf(place->second.kind);
      break;
    }
    case TimedUnit::Lds:
      row = 2 * simds, colour = ldsColour;
      break;
    case TimedUnit::Memory:
      row = 2 * simds + 1, colour = memoryColour;
      break;
    default:
      continue;
    }
    uint64_t from = std::max(event.cycle, free[row]);
    free[row] = from + event.busy;
    if (from < end && free[row] > begin)
      bar(first + row, double(from), double(free[row]), colour.fill, 2);
  }
}

void Drawing::drawAxis() {
  double bottom = top + rows * (rowHeight + rowGap);
  uint64_t length = end - begin, step = 100;
  while (length / step > 14)
    step *= step % 3 == 1 ? 2 : step % 3 == 2 ? 5 : 2;
  for (uint64_t at = 0; at <= length; at += step)
    out << format(
        "<line x1=\"%.1f\" y1=\"%.0f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#bbb\" "
        "stroke-width=\"0.5\"/><text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%llu</text>\n",
        x(double(begin + at)), top - 4, x(double(begin + at)), bottom, x(double(begin + at)),
        bottom + 14, (unsigned long long)at);
}

void Drawing::drawLegend() {
  double at = left, y = top + rows * (rowHeight + rowGap) + 28;
  for (const Colour &colour : legend) {
    out << format("<rect x=\"%.0f\" y=\"%.1f\" width=\"14\" height=\"12\" fill=\"%s\" "
                  "stroke=\"#999\" stroke-width=\"0.5\"/><text x=\"%.0f\" y=\"%.1f\">%s</text>\n",
                  at, y, colour.fill, at + 19, y + 10, colour.name);
    at += 40 + 8.0 * double(llvm::StringRef(colour.name).size());
  }
}

std::string Drawing::draw(const std::string &title) {
  std::string head;
  out << "<text x=\"110\" y=\"28\" font-size=\"15\">" << title << "</text>\n";
  drawWaves();
  drawUnits();
  drawAxis();
  drawLegend();
  llvm::raw_string_ostream header(head);
  header << format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                   "font-family=\"sans-serif\" font-size=\"11\">\n"
                   "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
                   left + width + 40, top + rows * (rowHeight + rowGap) + 60);
  return head + text + "</svg>\n";
}

/// Kernel names may hold what XML does not take as it is.
static std::string escape(const std::string &name) {
  std::string result;
  for (char c : name)
    result += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return result;
}

Result<std::string> sim::toPicture(const TimedRun &run, const TimingSummary &summary) {
  if (!summary.hasSteady)
    return invalidInput("kernel '" + run.kernel +
                        "' has no loop that turns three times in what "
                        "was timed, so there is no steady state to draw; time a longer problem");
  const SteadyTime &steady = summary.steady;
  uint64_t turn = static_cast<uint64_t>(steady.cycles + 0.5);
  // A turn from the middle of those looked at.
  uint64_t begin = steady.begin + steady.turns / 2 * turn;
  std::string title;
  llvm::raw_string_ostream stream(title);
  stream << "predicted: one turn of the hot loop of " << escape(run.kernel)
         << (steady.tiles == 0   ? std::string()
             : steady.tiles == 1 ? ", 1 tile"
                                 : ", " + std::to_string(steady.tiles) + " tiles")
         << format(", %.0f cycles, matrix pipes %.1f%% busy", steady.cycles,
                   100 * steady.busy[unsigned(TimedUnit::Matrix)]);
  return Drawing(run, begin, begin + turn, steady.scheduled != 0).draw(title);
}
