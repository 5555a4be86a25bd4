// Where a document names steps: read from its text, since an editor asks while a document does not
// parse.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace hocket::lsp {

/// A place in a document: line and byte of the line, from 0.
struct Position {
  unsigned line = 0, column = 0;
  auto operator<=>(const Position &) const = default;
};

/// A piece of text; `end` is behind it.
struct Piece {
  std::string text;
  Position begin, end;
  bool contains(Position at) const { return begin <= at && at <= end; }
};

/// What a document says of steps and schedules.
struct ScheduleText {
  std::vector<Piece> steps;    ///< the names behind `tile.step @`
  std::vector<Piece> placed;   ///< the names of steps in clusters
  std::vector<Piece> clusters; ///< the bodies of clusters, without text
  bool hasKernel = false;      ///< whether there is anything else to compile than schedules
  bool hasSchedule = false;

  /// The step that is placed at `at`; null if none is.
  const Piece *placedAt(Position at) const;
  /// Whether `at` is in the body of a cluster.
  bool inCluster(Position at) const;
};

ScheduleText readScheduleText(llvm::StringRef text);

} // namespace hocket::lsp
