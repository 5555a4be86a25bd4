// The public face of a parsed code object; ElfReader.cpp does the work.
#include "Simulator/CodeObject.h"

#include "CodeImage.h"

#include <string>

using namespace hocket;
using namespace hocket::sim;

CodeObject::CodeObject(std::unique_ptr<CodeImage> content) : content(std::move(content)) {}
CodeObject::~CodeObject() = default;

Result<std::shared_ptr<const CodeObject>> CodeObject::load(std::span<const std::byte> bytes,
                                                           std::string_view name) {
  // A copy, aligned as LLVM's readers want it whatever the caller holds.
  std::string copy(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  auto image = readCodeImage(copy, name);
  if (!image)
    return image.error();
  return std::shared_ptr<const CodeObject>(new CodeObject(std::move(*image)));
}

const std::string &CodeObject::name() const { return content->name; }
const std::string &CodeObject::architecture() const { return content->architecture; }
const std::vector<runtime::KernelInfo> &CodeObject::kernels() const { return content->kernels; }

Result<size_t> CodeObject::kernelIndex(std::string_view kernel) const {
  std::string known;
  for (size_t i = 0; i < content->kernels.size(); ++i) {
    if (content->kernels[i].name == kernel)
      return i;
    known += (i ? ", '" : "'") + content->kernels[i].name + "'";
  }
  return notFound("'" + name() + "' has no kernel '" + std::string(kernel) + "'; it has " +
                  (known.empty() ? "none" : known));
}
