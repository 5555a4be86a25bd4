// What a code object says about itself: target, kernels, resources, arguments.
//
// Reads any 64-bit AMDGPU ELF file with MsgPack metadata (code object version 3 and later),
// whatever its target, without loading it anywhere. Files are taken as hostile: every offset and
// size is checked, and each way to be wrong is an error that names the file.
#pragma once

#include "hocket/Runtime/Device.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::runtime {

/// The metadata of one code object.
struct CodeObjectInfo {
  std::string name;         ///< the file's name, for messages
  std::string target;       ///< "amdgcn-amd-amdhsa--gfx950:xnack-"; may be empty
  std::string architecture; ///< "gfx950"
  uint32_t version = 0;     ///< code object version: 3 to 6
  std::vector<KernelInfo> kernels;

  std::vector<std::string> kernelNames() const;
  /// The kernel called `kernel`; NotFound with the list of those there are.
  Result<const KernelInfo *> find(std::string_view kernel) const;
};

/// What the metadata says of a kernel.
struct KernelMetadata {
  KernelInfo info;
  std::string descriptor;    ///< the symbol of its descriptor
  uint32_t waveSize = 0;     ///< 0: not said
  bool dynamicStack = false; ///< scratch need not known at compile time
};

/// The kernels of an NT_AMDGPU_METADATA note: the one reader of it in Hocket. `name` is the file's
/// name for messages. A `global_buffer` has 8 bytes in the result where metadata written by hand
/// gives it 4 and nothing else begins in the other 4: a device address has no other size.
Result<std::vector<KernelMetadata>> readKernelMetadata(std::span<const std::byte> note,
                                                       std::string_view name);

/// Parses `bytes`. Errors: InvalidInput for what is no AMDGPU code object or is damaged.
Result<CodeObjectInfo> readCodeObjectInfo(std::span<const std::byte> bytes, std::string_view name);

/// "0x00007f0012340000", as addresses are written in messages.
std::string formatAddress(DeviceAddress address);

} // namespace hocket::runtime
