// Lists of work: which rows of which sequence each workgroup has, longest first (docs/WorkLists.md).
//
// Workgroups start in the order of their numbers, and the next one starts where one ends: a list sorted by work is the
// greedy assignment of the longest first. A list is data of a launch; it can be made here, where lengths are known, or on
// the device by a launch in front of attention, which makes the same one.
#pragma once

#include "hocket/Grid/WorkItem.h"
#include "hocket/Manifest/Tensors.h"
#include "hocket/Support/Result.h"

#include <cstdint>
#include <span>
#include <vector>

namespace hocket::attention {

struct ForwardProblem;
struct ForwardSemantics;

/// Who makes the list of a problem.
enum class WorkLists {
  None,  ///< there is none: workgroups follow from the grid
  Given, ///< the caller, as the tensor "work_list"
  Made,  ///< a launch in front of attention, in the workspace
};

/// How work is listed.
struct WorkUse {
  WorkLists list = WorkLists::None;
  /// Long work may be cut into slices of the keys; a launch behind attention puts their results together.
  bool slices = false;

  bool any() const { return list != WorkLists::None; }
  bool operator==(const WorkUse &) const = default;
};

/// Workgroups that run at a time, where nobody says how many: two on each compute unit of a whole gfx950.
inline constexpr int64_t kUsualWorkSlots = 512;
/// LDS of a kernel that follows a list, where none is chosen yet: at most two of them are on a compute unit at a time.
inline constexpr int64_t kListedLdsBytes = 66 * 1024, kListedResidents = 2;

/// Whether an entry may be of the heads of a group: what dropout drops follows from rows of one head.
bool mayGroupHeads(const ForwardSemantics &semantics);
/// How many entries a list has at most, whatever lengths are: what sizes the grid and the tensor. And how many of them
/// may be slices.
int64_t mostWorkEntries(const ForwardProblem &problem);
int64_t mostWorkParts(const ForwardProblem &problem);

/// What the numbers of an entry may be, in the order of its fields.
std::vector<manifest::NumberRange> workNumbers(const ForwardProblem &problem);

/// The list of `problem`, whose lengths are known: int32 [`mostWorkEntries` + 1, kWorkFields], zeros behind the last entry.
std::vector<int32_t> makeWorkList(const ForwardProblem &problem);

/// Whether `numbers` is a list for `problem`: each number possible, and every row of every sequence, with all slices, in
/// one entry. InvalidInput names the entry and what is wrong with it.
Status validateWorkList(const ForwardProblem &problem, std::span<const int32_t> numbers);

} // namespace hocket::attention
