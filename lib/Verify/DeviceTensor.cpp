// Tensors between guards: rows are grouped into segments, each built as one image on the host and
// copied at once. A dense tensor is one segment; one with large holes is many small ones.
#include "Verify/DeviceTensor.h"

#include <algorithm>
#include <cstring>
#include <numeric>

using namespace hocket;
using namespace hocket::verify;

DeviceTensor::DeviceTensor(runtime::Device &device, std::string label,
                           std::vector<uint64_t> rowOffsets, uint64_t rowBytes,
                           uint64_t guard, RowPieces pieces)
    : device(device), label(std::move(label)), rowOffsets(std::move(rowOffsets)),
      rowBytes(rowBytes), guard(guard),
      pieces(pieces.bytes == 0 ? RowPieces{std::max<uint64_t>(rowBytes, 1), rowBytes} : pieces) {}

DeviceTensor::~DeviceTensor() {
  if (allocation != 0)
    (void)device.free(allocation).ok();
}

void DeviceTensor::makeSegments(uint64_t extent) {
  order.resize(rowOffsets.size());
  std::iota(order.begin(), order.end(), uint64_t(0));
  std::sort(order.begin(), order.end(), [&](uint64_t a, uint64_t b) {
    return rowOffsets[a] != rowOffsets[b] ? rowOffsets[a] < rowOffsets[b] : a < b;
  });
  for (size_t i = 0; i != order.size(); ++i) {
    uint64_t begin = guard + rowOffsets[order[i]], end = begin + rowSpan();
    span = std::max(span, rowOffsets[order[i]] + rowSpan());
    if (!segments.empty() && begin <= segments.back().end + 2 * holeGuardBytes) {
      segments.back().end = std::max(segments.back().end, end);
      segments.back().endRow = i + 1;
    } else {
      segments.push_back({begin, end, i, i + 1});
    }
  }
  // A tensor without rows is guards alone.
  if (segments.empty())
    segments.push_back({guard, guard, 0, 0});
  for (Segment &segment : segments) {
    segment.begin -= holeGuardBytes;
    segment.end += holeGuardBytes;
  }
  segments.front().begin = 0;
  // What fills the last dword; nothing at all cannot be allocated.
  const uint64_t whole = std::max(span, extent);
  bytes = guard + whole + (whole == 0 && guard == 0 ? 4 : -whole & 3) + guard;
  const uint64_t near = guard + span + std::max(guard, holeGuardBytes);
  segments.back().end = std::min(bytes, extent > span ? near : bytes);
}

Result<std::unique_ptr<DeviceTensor>>
DeviceTensor::create(runtime::Device &device, std::string label, std::vector<uint64_t> rowOffsets,
                     uint64_t rowBytes, uint64_t alignment, uint64_t guard, RowPieces pieces, uint64_t extent) {
  std::unique_ptr<DeviceTensor> tensor(
      new DeviceTensor(device, std::move(label), std::move(rowOffsets), rowBytes, guard, pieces));
  tensor->makeSegments(extent);
  Result<runtime::DeviceAddress> address = device.allocate(tensor->bytes, alignment, tensor->label);
  if (!address.ok())
    return Error{address.error().kind,
                 "tensor '" + tensor->label + "': " + address.error().message};
  tensor->allocation = *address;
  return tensor;
}

std::vector<std::byte> DeviceTensor::guardImage(const Segment &segment) const {
  std::vector<std::byte> image(segment.end - segment.begin);
  for (uint64_t i = 0; i != image.size(); ++i)
    image[i] = guardByte(segment.begin + i);
  return image;
}

void DeviceTensor::takeRows(std::vector<std::byte> &image, const Segment &segment,
                            std::span<std::byte> dense) const {
  for (size_t i = segment.firstRow; i != segment.endRow; ++i)
    forEachPiece(image, segment, order[i], [&](std::span<std::byte> piece, uint64_t byte) {
      std::memcpy(dense.data() + order[i] * rowBytes + byte, piece.data(), piece.size());
    });
}

Status DeviceTensor::upload(std::span<std::byte> dense) {
  for (const Segment &segment : segments) {
    std::vector<std::byte> image = guardImage(segment);
    for (size_t i = segment.firstRow; i != segment.endRow; ++i)
      forEachPiece(image, segment, order[i], [&](std::span<std::byte> piece, uint64_t byte) {
        std::memcpy(piece.data(), dense.data() + order[i] * rowBytes + byte, piece.size());
      });
    takeRows(image, segment, dense);
    if (Status status = device.copyToDevice(allocation + segment.begin, image); !status.ok())
      return status;
  }
  return Status::success();
}

Status DeviceTensor::uploadGuards() {
  for (const Segment &segment : segments)
    if (Status status = device.copyToDevice(allocation + segment.begin, guardImage(segment));
        !status.ok())
      return status;
  return Status::success();
}

/// Counts bytes of `image` that are neither in a row nor what the guards held; spoils the image.
uint64_t DeviceTensor::findChanges(std::vector<std::byte> &image, const Segment &segment,
                                   std::string &where) const {
  for (size_t i = segment.firstRow; i != segment.endRow; ++i) {
    forEachPiece(image, segment, order[i], [&](std::span<std::byte> piece, uint64_t) {
      uint64_t base = segment.begin + static_cast<uint64_t>(piece.data() - image.data());
      for (uint64_t byte = 0; byte != piece.size(); ++byte)
        piece[byte] = guardByte(base + byte);
    });
  }
  uint64_t changes = 0;
  for (uint64_t i = 0; i != image.size(); ++i) {
    uint64_t at = segment.begin + i;
    if (image[i] == guardByte(at))
      continue;
    if (changes++ != 0 || !where.empty())
      continue;
    where = at < guard ? std::to_string(guard - at) + " bytes in front of it"
            : at >= guard + span
                ? std::to_string(at - guard - span) + " bytes behind its end"
                : "at byte " + std::to_string(at - guard) + ", between rows";
  }
  return changes;
}

Result<uint64_t> DeviceTensor::download(std::span<std::byte> dense, std::string &where) const {
  uint64_t changes = 0;
  for (const Segment &segment : segments) {
    std::vector<std::byte> image(segment.end - segment.begin);
    if (Status status = device.copyFromDevice(image, allocation + segment.begin); !status.ok())
      return status.error();
    takeRows(image, segment, dense);
    changes += findChanges(image, segment, where);
  }
  return changes;
}
