// A tensor in device memory between guard regions, uploaded from and downloaded to a dense host
// array.
//
// The tensor may be strided with holes of any size; only what is near its rows is ever touched, so
// a tensor that spans many gigabytes costs what its rows cost (in the simulator, whose memory is
// sparse). Everything near the rows holds `guardPattern`, and stays under watch.
#pragma once

#include "hocket/Runtime/Device.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace hocket::verify {

/// The bits that output memory and everything around tensors hold before a launch: a NaN in bf16,
/// fp16 and float32, so that reading it spoils a result and leaving it there is seen.
inline constexpr uint16_t guardPattern = 0x7fd5;
/// Byte `index` of it, from where it begins.
constexpr std::byte guardByte(uint64_t index) {
  return static_cast<std::byte>(index & 1 ? guardPattern >> 8 : guardPattern & 255);
}
/// Bytes in front of and behind every tensor, where nothing else is said: more than one tile of rows.
inline constexpr uint64_t guardBytes = 65536;
/// Bytes around each row that are watched inside of a tensor's holes.
inline constexpr uint64_t holeGuardBytes = 512;

/// Rows that do not lie in one piece: their pieces of `bytes` bytes lie `stride` bytes apart. Of 0 bytes: in one piece.
struct RowPieces {
  uint64_t bytes = 0, stride = 0;
};

class DeviceTensor {
public:
  /// Allocates the tensor `label` of rows of `rowBytes` bytes; row i of the dense array stands at
  /// byte rowOffsets[i], an even number. Rows may overlap if the tensor is only read. The address
  /// of byte 0 is aligned to `alignment` bytes; in the simulator no better. `guard` bytes stand in
  /// front of the first row and behind the last and what fills its last dword, which descriptors
  /// include. With none, checked execution finds what is read there. The tensor has `extent` bytes
  /// at least: rooms and pages that no row fills are the reader's as well.
  static Result<std::unique_ptr<DeviceTensor>> create(runtime::Device &device, std::string label,
                                                      std::vector<uint64_t> rowOffsets,
                                                      uint64_t rowBytes, uint64_t alignment,
                                                      uint64_t guard = guardBytes, RowPieces pieces = {},
                                                      uint64_t extent = 0);
  ~DeviceTensor();
  DeviceTensor(const DeviceTensor &) = delete;
  DeviceTensor &operator=(const DeviceTensor &) = delete;

  /// The device address of byte 0.
  runtime::DeviceAddress address() const { return allocation + guard; }

  /// Writes guards and rows. Where rows overlap the last one wins, and `dense` is updated to what
  /// is really there.
  Status upload(std::span<std::byte> dense);
  /// Writes guards, and the guard pattern in place of the rows.
  Status uploadGuards();

  /// Reads the rows into `dense`. Returns how many bytes outside of rows have changed; the first is
  /// described in `where`: "16 bytes behind row 3".
  Result<uint64_t> download(std::span<std::byte> dense, std::string &where) const;

private:
  /// A stretch of the allocation, rows and what surrounds them, handled at once.
  struct Segment {
    uint64_t begin, end;     ///< bytes into the allocation
    size_t firstRow, endRow; ///< into `order`
  };
  DeviceTensor(runtime::Device &device, std::string label, std::vector<uint64_t> rowOffsets,
               uint64_t rowBytes, uint64_t guard, RowPieces pieces);
  void makeSegments(uint64_t extent);
  /// Bytes from a row's first to behind its last.
  uint64_t rowSpan() const {
    return rowBytes == 0 ? 0 : (rowBytes / pieces.bytes - 1) * pieces.stride + pieces.bytes;
  }
  std::vector<std::byte> guardImage(const Segment &segment) const;
  /// Calls `visit` with each piece of a row in `image`, and the byte of the row that it begins with.
  template <typename Visit>
  void forEachPiece(std::vector<std::byte> &image, const Segment &segment, size_t row, Visit visit) const {
    for (uint64_t byte = 0, at = guard + rowOffsets[row] - segment.begin; byte != rowBytes;
         byte += pieces.bytes, at += pieces.stride)
      visit(std::span(image).subspan(at, pieces.bytes), byte);
  }
  /// Copies a segment's rows into `dense`.
  void takeRows(std::vector<std::byte> &image, const Segment &segment, std::span<std::byte> dense) const;
  uint64_t findChanges(std::vector<std::byte> &image, const Segment &segment,
                       std::string &where) const;

  runtime::Device &device;
  std::string label;
  std::vector<uint64_t> rowOffsets;
  uint64_t rowBytes, guard;
  RowPieces pieces;
  uint64_t span = 0;           ///< bytes from the first to behind the last row
  uint64_t bytes = 0;          ///< of the allocation
  std::vector<uint64_t> order; ///< rows by ascending offset
  std::vector<Segment> segments;
  runtime::DeviceAddress allocation = 0;
};

} // namespace hocket::verify
