// Reads the MsgPack metadata of a code object into KernelInfo records.
//
// Nothing about the document's shape is assumed: a key of the wrong type, a size that does not fit,
// an argument outside of the kernarg block are errors that name the key.
#include "CodeImage.h"

#include "llvm/BinaryFormat/MsgPackDocument.h"
#include "llvm/BinaryFormat/MsgPackReader.h"

using namespace hocket;
using namespace hocket::sim;
using llvm::StringRef;
namespace msgpack = llvm::msgpack;

namespace {
/// Reads the entries of one map; the first failure is kept and later reads give zeros.
class MapReader {
public:
  MapReader(msgpack::MapDocNode map, std::string where) : map(map), where(std::move(where)) {}

  std::string string(StringRef key, bool required) {
    const msgpack::DocNode *node = get(key, required);
    if (!node)
      return {};
    if (!node->isString()) {
      fail("'" + key.str() + "' of " + where + " is not a string");
      return {};
    }
    return node->getString().str();
  }

  uint32_t number(StringRef key, bool required) {
    const msgpack::DocNode *node = get(key, required);
    if (!node)
      return 0;
    uint64_t value = 0;
    if (node->getKind() == msgpack::Type::UInt)
      value = node->getUInt();
    else if (node->getKind() == msgpack::Type::Int && node->getInt() >= 0)
      value = node->getInt();
    else
      return fail("'" + key.str() + "' of " + where + " is not an unsigned number"), 0;
    if (value > UINT32_MAX)
      return fail("'" + key.str() + "' of " + where + " is " + std::to_string(value) +
                  ", above 32 bits"),
             0;
    return static_cast<uint32_t>(value);
  }

  const msgpack::DocNode *get(StringRef key, bool required) {
    auto it = map.find(key);
    if (it != map.end())
      return &it->second;
    if (required)
      fail("'" + key.str() + "' of " + where + " is missing");
    return nullptr;
  }

  std::string error;

private:
  void fail(std::string message) {
    if (error.empty())
      error = std::move(message);
  }
  msgpack::MapDocNode map;
  std::string where;
};
} // namespace

static std::string readArguments(msgpack::DocNode &node, runtime::KernelInfo &info) {
  if (!node.isArray())
    return "'.args' of kernel '" + info.name + "' is not an array";
  uint64_t end = 0;
  for (msgpack::DocNode &element : node.getArray()) {
    std::string where =
        "argument " + std::to_string(info.arguments.size()) + " of kernel '" + info.name + "'";
    if (!element.isMap())
      return where + " is not a map";
    MapReader reader(element.getMap(), where);
    runtime::KernelArgument argument;
    argument.name = reader.string(".name", false);
    argument.kind = reader.string(".value_kind", true);
    argument.offset = reader.number(".offset", true);
    argument.size = reader.number(".size", true);
    if (!reader.error.empty())
      return reader.error;
    if (uint64_t(argument.offset) + argument.size > info.kernargSize)
      return where + " ends at byte " + std::to_string(uint64_t(argument.offset) + argument.size) +
             ", the kernarg segment has " + std::to_string(info.kernargSize);
    if (argument.offset < end)
      return where + " overlaps the one before it";
    end = uint64_t(argument.offset) + argument.size;
    info.arguments.push_back(std::move(argument));
  }
  return {};
}

static std::string readKernel(msgpack::DocNode &node, size_t index, runtime::KernelInfo &info,
                              std::string &symbol) {
  std::string where = "kernel " + std::to_string(index);
  if (!node.isMap())
    return where + " is not a map";
  MapReader reader(node.getMap(), where);
  info.name = reader.string(".name", true);
  symbol = reader.string(".symbol", true);
  info.kernargSize = reader.number(".kernarg_segment_size", true);
  info.staticLds = reader.number(".group_segment_fixed_size", true);
  info.privateSegment = reader.number(".private_segment_fixed_size", true);
  info.vgprs = reader.number(".vgpr_count", false);
  info.agprs = reader.number(".agpr_count", false);
  info.sgprs = reader.number(".sgpr_count", false);
  info.vgprSpills = reader.number(".vgpr_spill_count", false);
  info.sgprSpills = reader.number(".sgpr_spill_count", false);
  info.maxWorkgroupSize = reader.number(".max_flat_workgroup_size", true);
  uint32_t waveSize = reader.number(".wavefront_size", true);
  if (!reader.error.empty())
    return reader.error;
  if (waveSize != 64)
    return "kernel '" + info.name + "' has wavefront size " + std::to_string(waveSize) +
           ", wanted 64";
  // 64 KiB is far above what any runtime passes; it bounds what a bad file makes us allocate.
  if (info.kernargSize > 65536)
    return "kernel '" + info.name + "' has " + std::to_string(info.kernargSize) +
           " bytes of arguments, at most 65536 are possible";
  if (const msgpack::DocNode *arguments = reader.get(".args", false))
    return readArguments(const_cast<msgpack::DocNode &>(*arguments), info);
  return {};
}

/// Whether one object follows whose maps have string keys only and which is not nested deeply: what
/// LLVM's Document can hold. It stops the program for other keys.
static bool isPlainDocument(msgpack::Reader &reader, unsigned depth) {
  msgpack::Object object;
  llvm::Expected<bool> read = reader.read(object);
  if (!read) {
    llvm::consumeError(read.takeError());
    return false;
  }
  if (!*read || depth == 0)
    return false;
  if (object.Kind == msgpack::Type::Array) {
    for (size_t i = 0; i < object.Length; ++i)
      if (!isPlainDocument(reader, depth - 1))
        return false;
  } else if (object.Kind == msgpack::Type::Map) {
    for (size_t i = 0; i < object.Length; ++i) {
      msgpack::Object key;
      llvm::Expected<bool> readKey = reader.read(key);
      if (!readKey) {
        llvm::consumeError(readKey.takeError());
        return false;
      }
      if (!*readKey || key.Kind != msgpack::Type::String || !isPlainDocument(reader, depth - 1))
        return false;
    }
  }
  return object.Kind != msgpack::Type::Extension;
}

Result<std::vector<runtime::KernelInfo>>
sim::readKernelMetadata(std::string_view blob, std::string_view fileName,
                        std::vector<std::string> &symbols) {
  auto bad = [&](const std::string &what) {
    return invalidInput("'" + std::string(fileName) + "': bad metadata: " + what +
                        "; is this a complete code object?");
  };
  msgpack::Reader reader(StringRef(blob.data(), blob.size()));
  if (!isPlainDocument(reader, /*depth=*/16))
    return bad("not a MsgPack document of maps with string keys");
  msgpack::Document document;
  if (!document.readFromBlob(StringRef(blob.data(), blob.size()), /*Multi=*/false))
    return bad("not a MsgPack document");
  if (!document.getRoot().isMap())
    return bad("the document is not a map");
  MapReader root(document.getRoot().getMap(), "the document");
  const msgpack::DocNode *kernels = root.get("amdhsa.kernels", true);
  if (!kernels)
    return bad(root.error);
  if (kernels->getKind() != msgpack::Type::Array)
    return bad("'amdhsa.kernels' is not an array");

  std::vector<runtime::KernelInfo> infos;
  for (msgpack::DocNode &node : const_cast<msgpack::DocNode &>(*kernels).getArray()) {
    runtime::KernelInfo info;
    std::string symbol;
    std::string error = readKernel(node, infos.size(), info, symbol);
    if (!error.empty())
      return bad(error);
    for (const runtime::KernelInfo &other : infos)
      if (other.name == info.name)
        return bad("two kernels are called '" + info.name + "'");
    infos.push_back(std::move(info));
    symbols.push_back(std::move(symbol));
  }
  return infos;
}
