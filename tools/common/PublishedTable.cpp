#include "PublishedTable.h"

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

/// The column that has a problem as options of `hocket-run fmha-fwd`.
static constexpr StringRef kOptions = "options";

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

/// The problem that options describe.
static Result<attention::ForwardProblem> problemOf(StringRef text) {
  llvm::BumpPtrAllocator memory;
  llvm::StringSaver saver(memory);
  llvm::SmallVector<const char *> words;
  llvm::cl::TokenizeGNUCommandLine(text, saver, words);
  Result<std::optional<Options>> options = parseForwardOptions("fmha-fwd", "", words);
  if (!options.ok())
    return options.error();
  if (!*options)
    return invalidInput("'--help' is no problem");
  return readProblem(**options);
}

static Status readField(StringRef column, StringRef text, PublishedRow &row) {
  attention::ForwardProblem &problem = row.problem;
  const std::pair<const char *, int64_t *> extents[] = {
      {"batch", &problem.batch},     {"seq_len", &problem.seqQ}, {"seq_q", &problem.seqQ},
      {"seq_kv", &problem.seqKv},    {"heads", &problem.heads},  {"kv_heads", &problem.kvHeads},
      {"head_dim", &problem.headDim}, {"head_dim_v", &problem.headDimV}};
  for (auto [name, value] : extents)
    if (column == name && text.getAsInteger(10, *value))
      return invalidInput("'" + text.str() + "' in column '" + name + "' is not an integer");
  if (column == kOptions) {
    Result<attention::ForwardProblem> described = problemOf(text);
    if (!described.ok())
      return described.error();
    problem = *std::move(described);
  }
  if (column == "dtype") {
    Result<DataType> dtype = parseDataType(text);
    if (!dtype.ok())
      return dtype.error();
    problem.dtype = *dtype;
  }
  if (column == "mask") {
    Result<attention::Visibility> mask = attention::Visibility::parse(text);
    if (!mask.ok())
      return mask.error();
    problem.visibility = *mask;
  }
  if (!column.ends_with("_us") || text.empty())
    return Status::success();
  double value = 0;
  if (text.getAsDouble(value) || !(value > 0))
    return invalidInput("'" + text.str() + "' in column '" + column.str() + "' is not a time");
  row.microseconds[column.drop_back(3).str()] = value;
  return Status::success();
}

/// A file of another kind, or a column that a slip of the pen would leave at its default.
static Status checkColumns(const Fields &columns) {
  static constexpr StringRef known[] = {"batch",    "seq_len",  "seq_q",      "seq_kv", "heads",
                                        "kv_heads", "head_dim", "head_dim_v", "dtype",  "mask", kOptions};
  for (StringRef column : columns) {
    if (llvm::is_contained(known, column) || column.ends_with("_us"))
      continue;
    auto distance = [&](StringRef name) { return column.edit_distance(name); };
    StringRef nearest = *std::ranges::min_element(known, {}, distance);
    if (distance(nearest) <= 2)
      return invalidInput("there is no column '" + column.str() + "'; did you mean '" +
                          nearest.str() + "'?");
  }
  if (llvm::is_contained(columns, kOptions)) {
    auto other = llvm::find_if(columns, [&](StringRef column) { return column != kOptions && llvm::is_contained(known, column); });
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
      for (StringRef column : columns)
        if (column.ends_with("_us"))
          table.kernels.push_back(column.drop_back(3).str());
      continue;
    }
    if (fields.size() != columns.size())
      return badLine(name, i + 1,
                     "found " + std::to_string(fields.size()) + " fields, the header has " +
                         std::to_string(columns.size()));
    PublishedRow row;
    row.number = static_cast<unsigned>(table.rows.size() + 1);
    for (size_t c = 0; c < columns.size(); ++c)
      if (Status status = readField(columns[c], fields[c], row); !status.ok())
        return badLine(name, i + 1, status.error().message);
    bool hasOptions = llvm::is_contained(columns, kOptions);
    if (!hasOptions && !llvm::is_contained(columns, "seq_kv"))
      row.problem.seqKv = row.problem.seqQ;
    if (!hasOptions && !llvm::is_contained(columns, "kv_heads"))
      row.problem.kvHeads = row.problem.heads;
    if (!hasOptions && !llvm::is_contained(columns, "head_dim_v"))
      row.problem.headDimV = row.problem.headDim;
    if (Status status = attention::validate(row.problem); !status.ok())
      return badLine(name, i + 1, status.error().message);
    table.rows.push_back(std::move(row));
  }
  if (table.rows.empty())
    return invalidInput(name.str() + ": no measurements found; expected a header and data lines");
  return std::move(table);
}
