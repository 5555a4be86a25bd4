// The drawing itself. Time runs downwards, a row for each epoch; a line between rows is a barrier
// that all waves meet. Wave group 0 is on the left, group 1 on the right, with the ring slots that
// it fills and reads beside it. Plain SVG with whole numbers, so that the text is the same
// anywhere.
#include "Pipelines/DrawSchedule.h"

#include "ScheduleTimeline.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace hocket;

namespace {
/// Pixels.
constexpr int kMargin = 24, kPhaseWidth = 26, kLaneWidth = 26, kBoxWidth = 356, kEpochWidth = 52;
constexpr int kHeaderHeight = 17, kChipHeight = 19, kChipGap = 4, kWaitHeight = 15, kPadding = 6;
constexpr int kLegendHeight = 46;
/// What the legend needs.
constexpr int kNarrowest = 860;
/// Width of a character at 12 and at 10 pixels, rounded up: fonts differ, boxes must hold them all.
constexpr int kCharWidth = 8, kSmallCharWidth = 7;

struct Colours {
  StringLiteral line, fill;
};
constexpr Colours kRingColours[] = {
    {"#1b7f4d", "#cfeeda"}, {"#7a3fa8", "#e6d6f5"}, {"#0b7285", "#c5ebf0"}, {"#a83f5b", "#f7d5de"}};
constexpr Colours kKindColours[] = {{"#8fb3d9", "#e9f2fb"}, {"#e0b36f", "#fdf1de"}};
constexpr StringLiteral kPhaseFills[] = {"#f3f4f6", "#ffffff", "#faf7ea", "#f3f4f6"};
constexpr StringLiteral kPhaseNames[] = {"prologue", "steady state", "remainder", "epilogue"};
constexpr StringLiteral kText = "#22262b", kFaint = "#7b838c", kWait = "#b3261e";

/// A step's text: its name, tile and offset.
struct Chip {
  const TimelineStep *step;
  int x = 0, line = 0, width = 0;
};

class Drawing {
public:
  explicit Drawing(const Timeline &timeline) : timeline(timeline), out(text) {
    for (const TimelineRing &ring : timeline.rings) {
      firstLane.push_back(lanes);
      lanes += ring.depth;
    }
    layOut();
  }

  std::string draw();

private:
  void layOut();
  std::vector<Chip> chipsOf(const TimelineCluster &cluster) const;
  int heightOf(const TimelineCluster &cluster) const;
  void drawHead();
  void drawLegend();
  void drawPhases();
  void drawBarriers();
  void drawGroup(int group);
  void drawCluster(const TimelineCluster &cluster, int group);
  void drawChip(const Chip &chip, int x, int y);
  void drawLanes(int group);
  void drawLife(const SlotLife &life, int group);

  void rect(int x, int y, int width, int height, StringRef fill, StringRef more = "");
  void line(int x1, int y1, int x2, int y2, StringRef colour, StringRef more = "");
  void label(int x, int y, const Twine &words, StringRef more = "");

  int boxX(int group) const {
    int first = kMargin + kPhaseWidth + laneBlock();
    return group == 0 ? first : first + kBoxWidth + kEpochWidth;
  }
  int laneBlock() const { return static_cast<int>(lanes) * kLaneWidth + 22; }
  /// The left edge of a lane; the lanes of a group run outwards from its box.
  int laneX(int group, int64_t lane) const {
    int out = 22 + static_cast<int>(lane) * kLaneWidth;
    return group == 0 ? boxX(0) - out - kLaneWidth : boxX(1) + kBoxWidth + out;
  }
  int top(int64_t epoch) const { return rows[epoch]; }
  int bottom(int64_t epoch) const { return rows[epoch + 1]; }
  const Colours &colours(size_t ring) const { return kRingColours[ring % std::size(kRingColours)]; }

  const Timeline &timeline;
  std::string text;
  llvm::raw_string_ostream out;
  std::vector<int64_t> firstLane; ///< of each ring
  int64_t lanes = 0;
  std::vector<int> rows; ///< top of each epoch, and the bottom of the last
  int width = 0, height = 0;
  int right = 0; ///< end of the rows
};
} // namespace

//===-- Layout
//-----------------------------------------------------------------------------------===//

static std::string offsetText(int64_t offset) {
  return "(" + std::string(offset > 0 ? "+" : "") + std::to_string(offset) + ")";
}

std::vector<Chip> Drawing::chipsOf(const TimelineCluster &cluster) const {
  std::vector<Chip> chips;
  int x = 0, line = 0;
  for (const TimelineStep &step : cluster.steps) {
    int chars = static_cast<int>(step.name.size() + 1 + std::to_string(step.tile).size());
    int chipWidth = chars * kCharWidth + 12 +
                    static_cast<int>(offsetText(step.offset).size()) * kSmallCharWidth;
    if (x != 0 && x + chipWidth > kBoxWidth - 2 * kPadding)
      x = 0, ++line;
    chips.push_back({&step, x, line, chipWidth});
    x += chipWidth + kChipGap;
  }
  return chips;
}

int Drawing::heightOf(const TimelineCluster &cluster) const {
  std::vector<Chip> chips = chipsOf(cluster);
  int lines = chips.empty() ? 0 : chips.back().line + 1;
  bool waits = cluster.vm || cluster.lgkm;
  return kHeaderHeight + lines * (kChipHeight + kChipGap) + (waits ? kWaitHeight : 0) + kPadding;
}

void Drawing::layOut() {
  std::vector<int> heights(timeline.epochs, kHeaderHeight + kPadding);
  for (const TimelineCluster &cluster : timeline.clusters)
    for (int64_t group = 0; group != timeline.groups; ++group)
      heights[cluster.epoch[group]] = std::max(heights[cluster.epoch[group]], heightOf(cluster));
  int y = kMargin + 44 + static_cast<int>(timeline.scheduleText.size()) * 17 + kLegendHeight + 30;
  for (int rowHeight : heights) {
    rows.push_back(y);
    y += rowHeight + 10;
  }
  rows.push_back(y);
  height = y + kMargin;
  width = boxX(timeline.groups - 1) + kBoxWidth + laneBlock() + kMargin;
  if (timeline.groups == 1)
    width = boxX(0) + kBoxWidth + kEpochWidth + kMargin;
  right = width - kMargin;
  width = std::max(width, kNarrowest);
  for (const std::string &words : timeline.scheduleText)
    width = std::max(width, 2 * kMargin + static_cast<int>(words.size() + 12) * kCharWidth);
}

//===-- Shapes
//-----------------------------------------------------------------------------------===//

void Drawing::rect(int x, int y, int w, int h, StringRef fill, StringRef more) {
  out << llvm::formatv("<rect x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\" fill=\"{4}\"{5}/>\n",
                       x, y, w, h, fill, more);
}

void Drawing::line(int x1, int y1, int x2, int y2, StringRef colour, StringRef more) {
  out << llvm::formatv("<line x1=\"{0}\" y1=\"{1}\" x2=\"{2}\" y2=\"{3}\" stroke=\"{4}\"{5}/>\n",
                       x1, y1, x2, y2, colour, more);
}

/// Names come from symbols; what XML reserves cannot stand as it is.
static std::string escape(StringRef words) {
  std::string result;
  for (char c : words)
    result += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  return result;
}

void Drawing::label(int x, int y, const Twine &words, StringRef more) {
  out << "<text x=\"" << x << "\" y=\"" << y << "\"" << more << ">" << escape(words.str())
      << "</text>\n";
}

//===-- Head
//-------------------------------------------------------------------------------------===//

void Drawing::drawHead() {
  int y = kMargin + 16;
  label(kMargin, y,
        Twine(timeline.schedule) + " \xC2\xB7 " + timeline.kernel + " \xC2\xB7 " +
            Twine(timeline.tiles) + (timeline.tiles == 1 ? " tile" : " tiles"),
        " font-size=\"16\" font-weight=\"bold\"");
  for (const auto &[index, words] : llvm::enumerate(timeline.scheduleText))
    label(kMargin, y += 17, "cluster " + Twine(index) + ": " + words, " fill=\"#50565d\"");
}

void Drawing::drawLegend() {
  int x = kMargin, y = rows.front() - kLegendHeight - 22;
  auto entry = [&](StringRef words) {
    label(x + 34, y + 12, words, " font-size=\"11\"");
    x += 34 + static_cast<int>(words.size()) * kSmallCharWidth + 18;
  };
  for (auto [kind, name] : {std::pair(0, "memory cluster"), std::pair(1, "compute cluster")}) {
    rect(x, y, 28, 16, kKindColours[kind].fill,
         (" stroke=\"" + kKindColours[kind].line + "\" rx=\"3\"").str());
    entry(name);
  }
  rect(x, y, 28, 16, "url(#flight0)", (" stroke=\"" + colours(0).line + "\"").str());
  entry("slot in flight");
  rect(x, y, 28, 16, colours(0).fill, (" stroke=\"" + colours(0).line + "\"").str());
  entry("slot holds a tile");
  line(x, y + 8, x + 28, y + 8, kText, " stroke-width=\"1.5\"");
  entry("barrier");
  label(kMargin, y + 34,
        "step tile(offset): the tile of this run, and how far it is from the tile at which the "
        "iteration stands",
        (" font-size=\"11\" fill=\"" + kFaint + "\"").str());
}

//===-- Rows
//-------------------------------------------------------------------------------------===//

/// The bands behind the clusters of each group, and their names on the left.
void Drawing::drawPhases() {
  const auto &clusters = timeline.clusters;
  for (size_t first = 0, last; first != clusters.size(); first = last) {
    last = first;
    while (last != clusters.size() && clusters[last].phase == clusters[first].phase)
      ++last;
    int phase = static_cast<int>(clusters[first].phase);
    for (int group = 0; group != timeline.groups; ++group) {
      int y = top(clusters[first].epoch[group]), end = bottom(clusters[last - 1].epoch[group]);
      int x = group == 0 ? boxX(0) - laneBlock() : boxX(1) - 6;
      rect(x, y, laneBlock() + kBoxWidth + 6, end - y, kPhaseFills[phase]);
      if (group != 0)
        continue;
      rect(kMargin, y + 1, kPhaseWidth - 6, end - y - 2, phase == 1 ? "#dcebd9" : "#e3e6ea",
           " rx=\"3\"");
      int middle = (y + end) / 2;
      label(kMargin + 14, middle, kPhaseNames[phase],
            llvm::formatv(
                " font-size=\"11\" text-anchor=\"middle\" transform=\"rotate(-90 {0} {1})\"",
                kMargin + 14, middle)
                .str());
    }
  }
}

void Drawing::drawBarriers() {
  int left = boxX(0) - laneBlock();
  int middle = boxX(0) + kBoxWidth + kEpochWidth / 2;
  for (int64_t epoch = 0; epoch != timeline.epochs; ++epoch) {
    line(left, bottom(epoch), right, bottom(epoch), "#50565d", " stroke-width=\"1.5\"");
    label(middle, (top(epoch) + bottom(epoch)) / 2 + 4, Twine(epoch),
          (" font-size=\"11\" text-anchor=\"middle\" fill=\"" + kFaint + "\"").str());
  }
  label(middle, rows.front() - 8, "epoch", " font-size=\"11\" text-anchor=\"middle\"");
}

void Drawing::drawChip(const Chip &chip, int x, int y) {
  const TimelineStep &step = *chip.step;
  std::string style = " rx=\"4\" stroke=\"#b9bfc6\"";
  StringRef fill = "#ffffff";
  if (step.ring) {
    style = " rx=\"4\" stroke-width=\"1.5\" stroke=\"" + colours(*step.ring).line.str() + "\"";
    fill = colours(*step.ring).fill;
    if (step.fetches)
      fill = "#ffffff", style += " stroke-dasharray=\"4 2\"";
  }
  rect(x, y, chip.width, kChipHeight, fill, style);
  out << "<text x=\"" << x + 6 << "\" y=\"" << y + 14 << "\">" << escape(step.name)
      << " <tspan font-weight=\"bold\">" << step.tile << "</tspan><tspan font-size=\"10\" fill=\""
      << kFaint << "\">" << offsetText(step.offset) << "</tspan></text>\n";
}

void Drawing::drawCluster(const TimelineCluster &cluster, int group) {
  int64_t epoch = cluster.epoch[group];
  int x = boxX(group), y = top(epoch) + 5, boxHeight = bottom(epoch) - top(epoch) - 10;
  const Colours &kind = kKindColours[static_cast<int>(cluster.kind)];
  rect(x, y, kBoxWidth, boxHeight, kind.fill, (" rx=\"5\" stroke=\"" + kind.line + "\"").str());
  label(x + kPadding, y + 12,
        "iteration " + Twine(cluster.iteration) + ", cluster " + Twine(cluster.cluster),
        (" font-size=\"10\" fill=\"" + kFaint + "\"").str());
  for (const Chip &chip : chipsOf(cluster))
    drawChip(chip, x + kPadding + chip.x, y + kHeaderHeight + chip.line * (kChipHeight + kChipGap));
  std::string wait = "wait";
  if (cluster.vm)
    wait += " vm(" + std::to_string(*cluster.vm) + ")";
  if (cluster.lgkm)
    wait += " lgkm(" + std::to_string(*cluster.lgkm) + ")";
  if (cluster.vm || cluster.lgkm)
    label(x + kBoxWidth - kPadding, y + boxHeight - 5, wait,
          (" font-size=\"11\" text-anchor=\"end\" fill=\"" + kWait + "\"").str());
}

void Drawing::drawGroup(int group) {
  if (timeline.groups == 2)
    label(boxX(group) + kBoxWidth / 2, rows.front() - 8, "wave group " + Twine(group),
          " font-weight=\"bold\" text-anchor=\"middle\"");
  int64_t first = timeline.clusters.front().epoch[group];
  int64_t end = timeline.clusters.back().epoch[group] + 1;
  for (int64_t epoch = 0; epoch != timeline.epochs; ++epoch)
    if (epoch < first || epoch >= end)
      label(
          boxX(group) + kBoxWidth / 2, (top(epoch) + bottom(epoch)) / 2 + 4,
          epoch < first ? "starts one barrier later" : "ends one barrier earlier",
          (" font-size=\"11\" font-style=\"italic\" text-anchor=\"middle\" fill=\"" + kFaint + "\"")
              .str());
  for (const TimelineCluster &cluster : timeline.clusters)
    drawCluster(cluster, group);
}

//===-- Ring slots
//-------------------------------------------------------------------------------===//

/// Where a step's chip is, vertically: its middle.
static int chipMiddle(int rowTop, int line) {
  return rowTop + 5 + kHeaderHeight + line * (kChipHeight + kChipGap) + kChipHeight / 2;
}

void Drawing::drawLife(const SlotLife &life, int group) {
  const Colours &colour = colours(life.ring);
  int64_t lane = firstLane[life.ring] + life.slot;
  const auto &clusters = timeline.clusters;
  auto rowOf = [&](size_t cluster) { return top(clusters[cluster].epoch[group]); };
  auto lineOf = [&](size_t cluster, bool fetches) {
    for (const Chip &chip : chipsOf(clusters[cluster]))
      if (chip.step->ring == life.ring && chip.step->fetches == fetches)
        return chip.line;
    return 0;
  };
  int x = laneX(group, lane) + 5, barWidth = kLaneWidth - 10;
  // A little apart, for clusters that read one ring and fetch into another.
  int begin = chipMiddle(rowOf(life.fetched), lineOf(life.fetched, true)) + 5;
  int complete = bottom(clusters[life.complete].epoch[group]);
  int end = bottom(clusters[life.lastRead].epoch[group]) - 4;
  std::string stroke = " rx=\"2\" stroke=\"" + colour.line.str() + "\"";
  rect(x, begin, barWidth, complete - begin,
       "url(#flight" + std::to_string(life.ring % std::size(kRingColours)) + ")", stroke);
  if (end > complete)
    rect(x, complete, barWidth, end - complete, colour.fill, stroke);
  label(x + barWidth / 2, end > complete ? complete + 14 : begin + 14, Twine(life.tile),
        " font-size=\"11\" font-weight=\"bold\" text-anchor=\"middle\"");
  // From the fetch into the slot, and out of it to the read.
  int near = group == 0 ? x + barWidth : x;
  int box = group == 0 ? boxX(0) : boxX(1) + kBoxWidth;
  std::string thin = " stroke-width=\"1.2\"";
  line(box, begin, near, begin, colour.line, thin + " stroke-dasharray=\"3 2\"");
  if (end <= complete)
    return;
  int read = chipMiddle(rowOf(life.lastRead), lineOf(life.lastRead, false)) - 4;
  line(near, read, group == 0 ? box - 1 : box + 1, read, colour.line,
       thin + " marker-end=\"url(#head" + std::to_string(life.ring % std::size(kRingColours)) +
           ")\"");
}

void Drawing::drawLanes(int group) {
  for (const auto &[index, ring] : llvm::enumerate(timeline.rings)) {
    for (int64_t slot = 0; slot != ring.depth; ++slot) {
      int x = laneX(group, firstLane[index] + slot);
      label(
          x + kLaneWidth / 2, rows.front() - 8, ring.name + Twine(slot),
          (" font-size=\"11\" text-anchor=\"middle\" fill=\"" + colours(index).line + "\"").str());
    }
  }
  for (const SlotLife &life : timeline.lives)
    drawLife(life, group);
}

std::string Drawing::draw() {
  out << llvm::formatv(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} "
      "{1}\" font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" font-size=\"12\" "
      "fill=\"{2}\">\n<defs>\n",
      width, height, kText);
  for (const auto &[index, colour] : llvm::enumerate(kRingColours)) {
    out << llvm::formatv(
        "<pattern id=\"flight{0}\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
        "patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" fill=\"#ffffff\"/><rect "
        "width=\"2\" height=\"6\" fill=\"{1}\"/></pattern>\n",
        index, colour.fill);
    out << llvm::formatv(
        "<marker id=\"head{0}\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" "
        "markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"{1}\"/></marker>\n",
        index, colour.line);
  }
  out << "</defs>\n";
  rect(0, 0, width, height, "#ffffff");
  drawHead();
  drawLegend();
  drawPhases();
  drawBarriers();
  for (int group = 0; group != timeline.groups; ++group) {
    drawLanes(group);
    drawGroup(group);
  }
  out << "</svg>\n";
  return text;
}

FailureOr<std::string> hocket::drawSchedule(ModuleOp module) {
  FailureOr<Timeline> timeline = readTimeline(module);
  if (failed(timeline))
    return failure();
  return Drawing(*timeline).draw();
}
