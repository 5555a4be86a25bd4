// Speed over length as an SVG picture.
//
// A panel holds the problems that differ in nothing but their length. Lengths run to the right, at
// equal distances where they double; TFLOP/s upwards from zero, on the same scale in all panels. What
// this run says is drawn solid, what the list publishes dashed: the one is perhaps a prediction, the
// other a measurement, and the legend says which. A shade behind a prediction reaches from its least to its most under
// the model's variations.
#include "Bench.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>

using namespace hocket;
using namespace hocket::run;
using llvm::format;
using llvm::StringRef;

namespace {
struct Point {
  int64_t length;
  double tflops;
  double least, most; ///< under the model's variations; as `tflops` where none were asked for
};
struct Line {
  size_t series;
  std::vector<Point> points;
};
struct Panel {
  std::string title;
  std::vector<Line> lines;
};
struct Series {
  std::string name;
  bool published;
};
} // namespace

static constexpr double kWidth = 380, kHeight = 250, kLeft = 52, kRight = 14, kTop = 34,
                        kBottom = 40, kLegendRow = 22, kLegendColumn = 250,
                        kCaption = 520; ///< the last: of the line below, so the least width
static constexpr size_t kColumns = 2;
/// Of one's own and of peers; told apart by those who do not see colours by dashes and marks.
static constexpr const char *kColours[] = {"#c0392b", "#2471a3", "#229954", "#7d3c98",
                                           "#b9770e", "#5d6d7e", "#117a65", "#a04000"};

/// A problem without its lengths.
static std::string titleOf(const ListedProblem &problem) {
  std::string described = describe(problem);
  llvm::SmallVector<StringRef> words;
  StringRef(described).split(words, ' ');
  llvm::erase_if(words, [](StringRef word) {
    return word.starts_with("Sq") || word.starts_with("Skv") || word == "bshd";
  });
  return llvm::join(words, " ");
}

/// A round number of steps of which at most six reach `most`.
static double stepFor(double most) {
  double power = std::pow(10, std::floor(std::log10(std::max(most, 1e-3) / 6)));
  for (double factor : {1.0, 2.0, 5.0, 10.0})
    if (most / (power * factor) <= 6)
      return power * factor;
  return power * 10;
}

static std::string escaped(StringRef text) {
  std::string result;
  llvm::raw_string_ostream out(result);
  llvm::printHTMLEscaped(text, out);
  return result;
}

namespace {
class Plot {
public:
  Plot(std::vector<Series> series, std::vector<Panel> panels)
      : series(std::move(series)), panels(std::move(panels)), out(text) {
    double most = 0;
    for (const Panel &panel : this->panels)
      for (const Line &line : panel.lines)
        for (const Point &point : line.points)
          most = std::max(most, point.most);
    step = stepFor(most), top = step * std::ceil(std::max(most, step) / step);
  }

  std::string draw(const std::string &kind) {
    size_t columns = std::min(kColumns, panels.size());
    legendColumns = static_cast<size_t>(widthOf(columns) / kLegendColumn);
    size_t rows = (panels.size() + kColumns - 1) / kColumns;
    double width = widthOf(columns), height = legendHeight() + rows * kHeight + 24;
    out << format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                  "viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\" font-size=\"11\">\n",
                  width, height, width, height)
        << "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
    drawLegend(kind);
    for (auto [index, panel] : llvm::enumerate(panels)) {
      left = (index % kColumns) * kWidth, above = legendHeight() + (index / kColumns) * kHeight;
      drawPanel(panel);
    }
    out << format("<text x=\"%.1f\" y=\"%.1f\" fill=\"#555\">TFLOP/s over sequence length; solid "
                  "lines are %s, dashed ones published measurements%s</text>\n",
                  12.0, height - 8, kind.c_str(), isVaried() ? "; shades: doubtful constants varied" : "")
        << "</svg>\n";
    return text;
  }

private:
  bool isVaried() const {
    return llvm::any_of(panels, [](const Panel &panel) {
      return llvm::any_of(panel.lines, [](const Line &line) {
        return llvm::any_of(line.points, [](const Point &point) { return point.least != point.most; });
      });
    });
  }
  static double widthOf(size_t columns) { return std::max(double(columns) * kWidth, kCaption); }
  double legendHeight() const {
    return kLegendRow * double(llvm::divideCeil(series.size(), legendColumns)) + 8;
  }
  const char *colour(size_t index) const { return kColours[index % std::size(kColours)]; }
  const char *dashes(size_t index) const {
    return series[index].published ? " stroke-dasharray=\"5 3\"" : "";
  }
  double y(double tflops) const {
    return above + kTop + (1 - tflops / top) * (kHeight - kTop - kBottom);
  }

  void drawLegend(const std::string &kind) {
    for (auto [index, entry] : llvm::enumerate(series)) {
      double x = 12 + double(index % legendColumns) * kLegendColumn;
      double at = 18 + double(index / legendColumns) * kLegendRow;
      out << format("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
                    "stroke-width=\"2\"%s/>\n",
                    x, at - 4, x + 28, at - 4, colour(index), dashes(index))
          << format("<text x=\"%.1f\" y=\"%.1f\">", x + 34, at) << escaped(entry.name) << " ("
          << (entry.published ? "published" : kind) << ")</text>\n";
    }
  }

  void drawPanel(const Panel &panel) {
    int64_t first = INT64_MAX, last = 1;
    std::set<int64_t> lengths;
    for (const Line &line : panel.lines)
      for (const Point &point : line.points) {
        first = std::min(first, point.length), last = std::max(last, point.length);
        lengths.insert(point.length);
      }
    auto x = [&](int64_t length) {
      double share = last == first ? 0.5 : std::log2(double(length) / double(first)) /
                                               std::log2(double(last) / double(first));
      return left + kLeft + share * (kWidth - kLeft - kRight);
    };
    out << format("<text x=\"%.1f\" y=\"%.1f\" font-size=\"12\" font-weight=\"bold\">",
                  left + kLeft, above + kTop - 10)
        << escaped(panel.title) << "</text>\n";
    for (double value = 0; value <= top + step / 2; value += step)
      out << format("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#e0e0e0\"/>\n",
                    left + kLeft, y(value), left + kWidth - kRight, y(value))
          << format("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\" fill=\"#555\">%g</text>\n",
                    left + kLeft - 6, y(value) + 4, value);
    double written = -1e9;
    for (int64_t length : lengths) {
      if (x(length) - written < 34)
        continue;
      written = x(length);
      out << format("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" fill=\"#555\">", x(length),
                    above + kHeight - kBottom + 18)
          << length << "</text>\n";
    }
    for (const Line &line : llvm::reverse(panel.lines)) // one's own on top
      drawLine(line, x);
  }

  void drawRange(const Line &line, llvm::function_ref<double(int64_t)> x) {
    if (llvm::all_of(line.points, [](const Point &point) { return point.least == point.most; }))
      return;
    out << format("<polygon stroke=\"none\" fill=\"%s\" fill-opacity=\"0.18\" points=\"", colour(line.series));
    for (const Point &point : line.points)
      out << format("%.1f,%.1f ", x(point.length), y(point.most));
    for (const Point &point : llvm::reverse(line.points))
      out << format("%.1f,%.1f ", x(point.length), y(point.least));
    out << "\"/>\n";
  }

  void drawLine(const Line &line, llvm::function_ref<double(int64_t)> x) {
    drawRange(line, x);
    out << format("<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\"%s points=\"",
                  colour(line.series), dashes(line.series));
    for (const Point &point : line.points)
      out << format("%.1f,%.1f ", x(point.length), y(point.tflops));
    out << "\"/>\n";
    for (const Point &point : line.points)
      out << format("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%s\" fill=\"%s\"/>\n", x(point.length),
                    y(point.tflops), series[line.series].published ? "2" : "3",
                    colour(line.series));
  }

  std::vector<Series> series;
  std::vector<Panel> panels;
  std::string text;
  llvm::raw_string_ostream out;
  size_t legendColumns = 1;
  double step = 1, top = 1, left = 0, above = 0;
};
} // namespace

Result<std::string> Bench::toPlot() const {
  std::vector<Series> series;
  for (const BenchKernel &kernel : kernels)
    series.push_back({kernel.name, false});
  for (const std::string &peer : table.kernels)
    series.push_back({peer, true});
  auto pointOf = [&](size_t row, size_t index) -> std::optional<Point> {
    const ListedProblem &problem = table.rows[row].problem;
    const int64_t length = forwardOf(problem).seqKv;
    if (index < kernels.size()) {
      const BenchCell &cell = cells[row][index];
      if (!cell.done)
        return std::nullopt;
      const double nominal = tflops(table.rows[row], cell);
      if (cell.varied.empty())
        return Point{length, nominal, nominal, nominal};
      auto [shortest, longest] = varied(cell).range(microseconds(cell));
      return Point{length, nominal, run::tflops(problem, longest), run::tflops(problem, shortest)};
    }
    const auto &figures = table.rows[row].microseconds;
    auto figure = figures.find(series[index].name);
    if (figure == figures.end())
      return std::nullopt;
    const double published = run::tflops(problem, figure->second);
    return Point{length, published, published, published};
  };
  std::vector<Panel> panels;
  for (size_t row = 0; row < table.rows.size(); ++row) {
    std::string title = titleOf(table.rows[row].problem);
    if (llvm::any_of(panels, [&](const Panel &panel) { return panel.title == title; }))
      continue;
    Panel panel{title, {}};
    std::set<int64_t> lengths;
    for (size_t index = 0; index < series.size(); ++index) {
      Line line{index, {}};
      for (size_t other = row; other < table.rows.size(); ++other)
        if (titleOf(table.rows[other].problem) == title)
          if (std::optional<Point> point = pointOf(other, index)) {
            line.points.push_back(*point);
            lengths.insert(point->length);
          }
      llvm::stable_sort(line.points,
                        [](const Point &a, const Point &b) { return a.length < b.length; });
      if (!line.points.empty())
        panel.lines.push_back(std::move(line));
    }
    if (lengths.size() > 1)
      panels.push_back(std::move(panel));
  }
  if (panels.empty())
    return invalidInput("--plot draws speed over length, and no two of the list's lines differ in "
                        "their length alone; add lines, or leave --plot out");
  return Plot(std::move(series), std::move(panels)).draw(device ? "measured" : "predicted");
}
