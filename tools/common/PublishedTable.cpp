#include "PublishedTable.h"

#include "BackwardRequest.h"
#include "ForwardOptions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Allocator.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/StringSaver.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::run;
using llvm::StringRef;

using Fields = llvm::SmallVector<StringRef, 16>;

/// The column that has a problem as options of `hocket-run fmha-fwd` or `fmha-bwd`, and the one that says which.
static constexpr StringRef kOptions = "options", kPass = "pass";
/// What it may say, and how columns of figures end: microseconds, and the speed where no time is published.
static constexpr StringRef kForward = "forward", kBackward = "backward", kTime = "_us", kSpeed = "_tflops";

/// Columns for readers.
static constexpr StringRef kRemarks[] = {"max_err", "note"};

static Error badLine(StringRef name, size_t line, const std::string &what) {
  return invalidInput(name.str() + ":" + std::to_string(line) + ": " + what);
}

/// The fields of a line; those in quotes may have commas.
static Result<Fields> splitLine(StringRef line) {
  Fields fields;
  while (true) {
    size_t end = line.find(',');
    StringRef field = line.substr(0, end);
    if (line.starts_with("\"")) {
      size_t quote = line.find('"', 1);
      if (quote == StringRef::npos)
        return invalidInput("a field begins with a quote, which nothing closes; close it");
      field = line.slice(1, quote);
      end = quote + 1 == line.size() ? StringRef::npos : quote + 1;
      if (end != StringRef::npos && line[end] != ',')
        return invalidInput("behind the quoted '" + field.str() + "' stands '" + line[end] + "', expected a comma");
    }
    fields.push_back(field);
    if (end == StringRef::npos)
      return std::move(fields);
    line = line.substr(end + 1);
  }
}

/// Fills in the problem that options describe, of a forward or a backward.
static Status readOptions(StringRef text, bool isBackward, PublishedRow &row) {
  llvm::BumpPtrAllocator memory;
  llvm::StringSaver saver(memory);
  llvm::SmallVector<const char *> words;
  llvm::cl::TokenizeGNUCommandLine(text, saver, words);
  Result<std::optional<Options>> options =
      parseForwardOptions(isBackward ? "fmha-bwd" : "fmha-fwd", "", words, isBackward ? BackwardVis : ForwardVis);
  if (!options.ok())
    return options.error();
  if (!*options)
    return invalidInput("'--help' is no problem");
  Result<ListMaking> making = readListMaking(**options);
  if (!making.ok())
    return making.error();
  row.making = *std::move(making);
  if (isBackward) {
    Result<attention::BackwardProblem> backward = readBackwardProblem(**options);
    if (!backward.ok())
      return backward.error();
    row.problem = *std::move(backward);
    return (*options)->refuseUnread("a problem of a list");
  }
  Result<attention::ForwardProblem> forward = readProblem(**options);
  if (!forward.ok())
    return forward.error();
  row.problem = *std::move(forward);
  return (*options)->refuseUnread("a problem of a list");
}

namespace {
/// A data line: fields by column.
using Line = std::map<StringRef, StringRef>;
} // namespace

static StringRef fieldOf(const Line &line, StringRef column) {
  auto found = line.find(column);
  return found == line.end() ? StringRef() : found->second;
}

/// The forward that columns describe; what stands in none has its default.
static Result<attention::ForwardProblem> readColumns(const Line &line) {
  attention::ForwardProblem problem;
  const std::pair<StringRef, int64_t *> extents[] = {
      {"batch", &problem.batch},      {"seq_len", &problem.seqQ},    {"seq_q", &problem.seqQ},
      {"seq_kv", &problem.seqKv},     {"heads", &problem.heads},     {"kv_heads", &problem.kvHeads},
      {"head_dim", &problem.headDim}, {"head_dim_v", &problem.headDimV}};
  for (auto [name, value] : extents)
    if (auto field = line.find(name); field != line.end() && field->second.getAsInteger(10, *value))
      return invalidInput("'" + field->second.str() + "' in column '" + name.str() + "' is not an integer");
  for (auto [name, value, fallback] : {std::tuple(StringRef("seq_kv"), &problem.seqKv, problem.seqQ),
                                       std::tuple(StringRef("kv_heads"), &problem.kvHeads, problem.heads),
                                       std::tuple(StringRef("head_dim_v"), &problem.headDimV, problem.headDim)})
    if (line.count(name) == 0)
      *value = fallback;
  if (auto field = line.find("dtype"); field != line.end()) {
    Result<attention::HeadTypes> dtype = attention::parseHeadTypes(field->second);
    if (!dtype.ok())
      return dtype.error();
    problem.dtype = *dtype;
  }
  if (auto field = line.find("mask"); field != line.end()) {
    Result<attention::Visibility> mask = attention::Visibility::parse(field->second);
    if (!mask.ok())
      return mask.error();
    problem.visibility = *mask;
  }
  return problem;
}

static Status readListed(const Line &line, PublishedRow &row) {
  StringRef pass = fieldOf(line, kPass);
  if (line.count(kPass) != 0 && pass != kForward && pass != kBackward)
    return invalidInput("'" + pass.str() + "' in column 'pass' is neither 'forward' nor 'backward'");
  if (line.count(kOptions) != 0)
    return readOptions(fieldOf(line, kOptions), pass == kBackward, row);
  Result<attention::ForwardProblem> forward = readColumns(line);
  if (!forward.ok())
    return forward.error();
  if (pass == kBackward)
    row.problem = attention::BackwardProblem{*std::move(forward)};
  else
    row.problem = *std::move(forward);
  return Status::success();
}

/// The number in a column of figures; nothing where the field is empty.
static Result<std::optional<double>> readFigure(const Line &line, const std::string &column) {
  StringRef text = fieldOf(line, column);
  if (text.empty())
    return std::optional<double>();
  double value = 0;
  if (text.getAsDouble(value) || !(value > 0))
    return invalidInput("'" + text.str() + "' in column '" + column + "' is not a positive number");
  return std::optional(value);
}

static Result<PublishedRow> readRow(const Line &line, unsigned number, const std::vector<std::string> &kernels) {
  PublishedRow row;
  row.number = number;
  if (Status status = readListed(line, row); !status.ok())
    return status.error();
  if (Status status = validate(row.problem); !status.ok())
    return status.error();
  for (const std::string &kernel : kernels) {
    bool isSpeed = line.count(kernel + kTime.str()) == 0;
    Result<std::optional<double>> figure = readFigure(line, kernel + (isSpeed ? kSpeed : kTime).str());
    if (!figure.ok())
      return figure.error();
    if (*figure)
      row.microseconds[kernel] = isSpeed ? creditedFlops(row.problem) / (**figure * 1e6) : **figure;
  }
  return row;
}

/// The kernels that a list has figures of, by its columns in order.
static std::vector<std::string> kernelsOf(const Fields &columns) {
  std::vector<std::string> kernels;
  for (StringRef column : columns)
    for (StringRef ending : {kTime, kSpeed})
      if (StringRef name = column; name.consume_back(ending) && !llvm::is_contained(kernels, name))
        kernels.push_back(name.str());
  return kernels;
}

/// A file of another kind, or a column that nothing reads.
static Status checkColumns(const Fields &columns) {
  static constexpr StringRef known[] = {"batch",    "seq_len",  "seq_q",      "seq_kv", "heads",
                                        "kv_heads", "head_dim", "head_dim_v", "dtype",  "mask", kOptions, kPass};
  for (StringRef column : columns) {
    if (llvm::is_contained(known, column) || llvm::is_contained(kRemarks, column) || column.ends_with(kTime) ||
        column.ends_with(kSpeed))
      continue;
    auto distance = [&](StringRef name) { return column.edit_distance(name); };
    StringRef nearest = *std::ranges::min_element(known, {}, distance);
    if (distance(nearest) <= 2)
      return invalidInput("there is no column '" + column.str() + "'; did you mean '" +
                          nearest.str() + "'?");
    return invalidInput("there is no column '" + column.str() + "'; columns are " +
                        llvm::join(std::begin(known), std::end(known), ", ") +
                        ", figures of a kernel in NAME_us or NAME_tflops, and " +
                        llvm::join(std::begin(kRemarks), std::end(kRemarks), " and ") +
                        ", which are passed over; say anything else of a problem in 'options'");
  }
  if (llvm::is_contained(columns, kOptions)) {
    auto other = llvm::find_if(columns, [&](StringRef column) {
      return column != kOptions && column != kPass && llvm::is_contained(known, column);
    });
    if (other != columns.end())
      return invalidInput("the columns '" + kOptions.str() + "' and '" + other->str() +
                          "' both say what is computed; leave one of them out");
    return Status::success();
  }
  if (!llvm::is_contained(columns, "seq_len") && !llvm::is_contained(columns, "seq_q"))
    return invalidInput("the first line names no column 'seq_len', 'seq_q' or 'options', is this a list of "
                        "problems? Its columns may be " +
                        llvm::join(std::begin(known), std::end(known), ", "));
  return Status::success();
}

Result<PublishedTable> run::parsePublished(StringRef text, StringRef name) {
  PublishedTable table;
  Fields columns;
  llvm::SmallVector<StringRef> lines;
  text.split(lines, '\n');
  for (size_t i = 0; i < lines.size(); ++i) {
    StringRef line = lines[i].trim();
    if (line.empty() || line.starts_with("#"))
      continue;
    Result<Fields> split = splitLine(line);
    if (!split.ok())
      return badLine(name, i + 1, split.error().message);
    const Fields &fields = *split;
    if (columns.empty()) {
      columns = fields;
      if (Status status = checkColumns(columns); !status.ok())
        return badLine(name, i + 1, status.error().message);
      table.kernels = kernelsOf(columns);
      continue;
    }
    if (fields.size() != columns.size())
      return badLine(name, i + 1,
                     "found " + std::to_string(fields.size()) + " fields, the header has " +
                         std::to_string(columns.size()));
    Line named;
    for (auto [column, field] : llvm::zip_equal(columns, fields))
      named[column] = field;
    Result<PublishedRow> row = readRow(named, static_cast<unsigned>(table.rows.size() + 1), table.kernels);
    if (!row.ok())
      return badLine(name, i + 1, row.error().message);
    table.rows.push_back(*std::move(row));
  }
  if (table.rows.empty())
    return invalidInput(name.str() + ": no measurements found; expected a header and data lines");
  return std::move(table);
}
