// Who accessed which bytes of LDS within one workgroup: AccessShadow's answers, for whole
// operations at a time.
//
// A kernel's instructions touch the same few sets of bytes over and over: the tiles that its loads
// fill and the fragments that its waves read. Cells that every operation so far has touched
// together have the same past, so they share one record, a *group*. An operation that touches a
// part of a group splits it; after the first turns of a loop nothing splits any more, and an
// operation of 64 lanes is a handful of groups, remembered by its addresses. Where an operation
// finds anything, the caller goes through its lanes one by one instead (`touch`), with the cells
// that these touch in groups of their own. So what is found is what single cells would find.
#pragma once

#include "OperationBytes.h"
#include "ShadowCell.h"

#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace hocket::sim::check {

/// The LDS bytes of one operation.
struct LdsFootprint {
  uint32_t begin = ~0u, end = 0; ///< the first byte, and the one behind the last
  uint32_t addressBits = 0;      ///< of all addresses of its lanes, or-ed
  llvm::SmallVector<uint32_t, 16> groups;
};

class LdsShadow {
public:
  void resize(uint32_t bytes);
  uint32_t bytes() const { return size; }
  /// A workgroup starts afresh; splitting is not undone.
  void clear() { std::fill(groups.begin(), groups.end(), Cell()); }

  /// The bytes of `op`, in groups of their own. Valid until the next call of anything else here
  /// that is not `enter`.
  const LdsFootprint &footprint(const InstructionInfo &info, const PendingOp &op);
  /// Enters the access of a whole operation if it meets nobody and reads nothing that is undefined.
  /// False: it does, and nothing is entered; its lanes are to be touched one by one.
  bool enter(const Access &access, const LdsFootprint &footprint);
  /// The access of a whole operation is still in flight in the epoch `access.epoch`.
  void extend(const Access &access, const LdsFootprint &footprint);

  /// As AccessShadow's functions of these names, and what is read.
  void touch(const Access &access, uint32_t address, uint32_t bytes, Conflict &conflict,
             Contents &contents);
  /// What was just written is undefined.
  void setUndefined(uint32_t address, uint32_t bytes, OriginId origin);
  void extend(const Access &access, uint32_t address, uint32_t bytes);

private:
  /// A footprint and what it was made from.
  struct Known {
    uint64_t key = 0; ///< a hash of what it was made from
    uint64_t mask = 0;
    uint32_t scalar = 0;
    uint32_t made = 0; ///< the value of `splits` when its groups were looked up; 0: unused
    uint8_t bytes = 0;
    MemoryKind kind = MemoryKind::None;
    bool two = false, oneLane = false;
    LdsFootprint footprint;
    uint32_t addresses[64];
  };
  struct Range {
    uint32_t first, end; ///< cells
  };
  /// The known footprints whose hashes begin alike.
  struct Bucket {
    Known ways[4];
    unsigned oldest = 0;
  };
  Known &find(const InstructionInfo &info, const PendingOp &op);
  bool isOf(const Known &known, const InstructionInfo &info, const PendingOp &op) const;
  void remember(Known &known, const InstructionInfo &info, const PendingOp &op);
  bool findSingles(const InstructionInfo &info, const PendingOp &op, LdsFootprint &footprint);
  void findGroups(const InstructionInfo &info, const PendingOp &op, LdsFootprint &footprint);
  /// Cells of [address, address + bytes), which they cover as a whole.
  Range cellsOf(uint32_t address, uint32_t bytes);
  void splitCells(unsigned bits);
  /// Gives the cell a group of its own; the result is the group's number.
  uint32_t single(uint32_t cell);
  uint32_t divide(uint32_t group, uint32_t cells);
  uint32_t cellCount() const { return static_cast<uint32_t>(groupOf.size()); }

  static constexpr unsigned coarsest = 4;
  static constexpr unsigned bucketBits = 8;

  uint32_t size = 0;
  unsigned shift = coarsest;        ///< a cell is 2^shift bytes
  std::vector<uint32_t> groupOf;    ///< of each cell
  std::vector<Cell> groups;         ///< the past of a group's cells
  std::vector<uint32_t> groupCells; ///< cells of each group
  uint32_t splits = 1;              ///< counts changes of `groupOf`
  std::unique_ptr<Bucket[]> known;  ///< [2^bucketBits]
  // While the groups of an operation are looked up:
  std::vector<uint32_t> cellMark;     ///< of each cell: `mark` if the operation touches it
  std::vector<uint32_t> touchedCells; ///< of each group
  std::vector<uint32_t> replacement;  ///< of each group
  std::vector<uint32_t> cells;
  uint32_t mark = 0;
};

} // namespace hocket::sim::check
