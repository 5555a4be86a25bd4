// LLVM reads the tables; a file that it cannot read has no lines.
#include "SourceLines.h"

#include "llvm/DebugInfo/DIContext.h"
#include "llvm/DebugInfo/DWARF/DWARFContext.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/MemoryBufferRef.h"

using namespace hocket::sim;

struct SourceLines::Tables {
  std::unique_ptr<llvm::object::ObjectFile> object;
  std::unique_ptr<llvm::DWARFContext> context;
};

SourceLines::SourceLines(const std::string &file) {
  if (file.empty())
    return;
  auto object = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(file, ""));
  if (!object) {
    llvm::consumeError(object.takeError());
    return;
  }
  tables = std::make_unique<Tables>();
  tables->object = std::move(*object);
  auto ignore = [](llvm::Error error) { llvm::consumeError(std::move(error)); };
  tables->context = llvm::DWARFContext::create(*tables->object,
                                               llvm::DWARFContext::ProcessDebugRelocations::Process,
                                               nullptr, "", ignore, ignore);
}

SourceLines::~SourceLines() = default;

std::string SourceLines::at(uint64_t address) {
  if (!tables)
    return "";
  auto info = tables->context->getLineInfoForAddress(
      {address, llvm::object::SectionedAddress::UndefSection});
  if (!info || info->Line == 0)
    return "";
  return info->FileName + ":" + std::to_string(info->Line);
}
