// The header of a .npy file is a Python dictionary of three entries, read strictly.
#include "Npy.h"

#include "Elements.h"

#include "hocket/Runtime/File.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>

using namespace hocket;
using namespace hocket::run;
using llvm::StringRef;

int64_t Array::elements() const {
  return static_cast<int64_t>(data.size()) / bytesOf(dtype);
}

Result<uint64_t> run::arrayBytes(const std::vector<int64_t> &shape, ElementType dtype,
                                 const std::string &what) {
  int64_t bytes = bytesOf(dtype);
  for (int64_t extent : shape)
    if (llvm::MulOverflow(bytes, extent, bytes) || bytes > (int64_t(1) << 34))
      return invalidInput(what + " has more than 16 GiB");
  return static_cast<uint64_t>(bytes);
}

namespace {
/// What the header says.
struct Header {
  std::string descr;
  bool fortranOrder = false;
  std::vector<int64_t> shape;
};

/// Reads the dictionary; each function removes what it reads from the front of `text`.
class HeaderParser {
public:
  explicit HeaderParser(StringRef text) : text(text) {}
  std::optional<Header> run();

private:
  bool take(StringRef token) {
    text = text.ltrim();
    return text.consume_front(token);
  }
  bool string(std::string &out);
  bool boolean(bool &out);
  bool tuple(std::vector<int64_t> &out);
  bool entry(Header &header);

  StringRef text;
};
} // namespace

bool HeaderParser::string(std::string &out) {
  text = text.ltrim();
  StringRef quote = text.take_front(1);
  if (quote != "'" && quote != "\"")
    return false;
  size_t end = text.find(quote, 1);
  if (end == StringRef::npos)
    return false;
  out = text.slice(1, end).str();
  text = text.drop_front(end + 1);
  return true;
}

bool HeaderParser::boolean(bool &out) {
  out = take("True");
  return out || take("False");
}

bool HeaderParser::tuple(std::vector<int64_t> &out) {
  if (!take("("))
    return false;
  while (!take(")")) {
    int64_t extent;
    text = text.ltrim();
    if (text.consumeInteger(10, extent) || extent < 0)
      return false;
    out.push_back(extent);
    if (!take(",") && !text.ltrim().starts_with(")"))
      return false;
  }
  return true;
}

bool HeaderParser::entry(Header &header) {
  std::string key;
  if (!string(key) || !take(":"))
    return false;
  if (key == "descr") {
    // Of structured types this is a list; it is shown as it is.
    if (string(header.descr))
      return true;
    header.descr = text.ltrim().take_until([](char c) { return c == ']'; }).str() + "]";
    text = text.drop_until([](char c) { return c == ']'; }).drop_front();
    return true;
  }
  if (key == "fortran_order")
    return boolean(header.fortranOrder);
  return key == "shape" && tuple(header.shape);
}

std::optional<Header> HeaderParser::run() {
  Header header;
  if (!take("{"))
    return std::nullopt;
  while (!take("}")) {
    if (!entry(header))
      return std::nullopt;
    if (!take(",") && !text.ltrim().starts_with("}"))
      return std::nullopt;
  }
  return header.descr.empty() ? std::nullopt : std::optional(header);
}

/// "<f4" and its like: of types that numpy does not have, the integer of their bits.
static std::string descrOf(ElementType type) {
  int64_t bytes = bytesOf(type);
  return (bytes == 1 ? "|" : "<") + std::string(1, infoOf(type).numpy.front()) + std::to_string(bytes);
}

/// Nothing for what is no number of these tools. "V2" is what a bf16 of an extension of numpy is saved as: bits
/// without a meaning.
static std::optional<ElementType> typeOf(StringRef descr) {
  descr.consume_front("<") || descr.consume_front("|") || descr.consume_front("=");
  if (descr == "b1" || descr == "V1")
    return ElementType::U8;
  if (descr == "V2")
    return ElementType::U16;
  for (const ElementTypeInfo &info : elementTypeTable()) {
    bool isOfNumpy = info.kind == ElementKind::Int || info.numpy.starts_with("float");
    if (isOfNumpy && info.hasWholeBytes() && StringRef(descrOf(info.type)).drop_front() == descr)
      return info.type;
  }
  return std::nullopt;
}

/// The header, and where the data begin.
static Result<std::pair<Header, size_t>> readHeader(StringRef bytes, const std::string &path) {
  auto wrong = [&](const std::string &what) { return invalidInput("'" + path + "' " + what); };
  if (!bytes.starts_with("\x93NUMPY") || bytes.size() < 10)
    return wrong("is no .npy file; write one with numpy.save");
  unsigned version = static_cast<uint8_t>(bytes[6]);
  if (version < 1 || version > 3)
    return wrong("has version " + std::to_string(version) +
                 " of the .npy format, 1 to 3 are known");
  size_t begin = version == 1 ? 10 : 12;
  if (bytes.size() < begin)
    return wrong("ends within its header");
  size_t length = version == 1 ? llvm::support::endian::read16le(bytes.data() + 8)
                               : llvm::support::endian::read32le(bytes.data() + 8);
  if (length > bytes.size() - begin)
    return wrong("ends within its header");
  std::optional<Header> header = HeaderParser(bytes.substr(begin, length)).run();
  if (!header)
    return wrong("has a header that cannot be read: " +
                 bytes.substr(begin, std::min<size_t>(length, 200)).trim().str());
  return std::pair(*std::move(header), begin + length);
}

/// Whether the array is the same in both orders.
static bool hasOneOrder(const std::vector<int64_t> &shape) {
  return std::count_if(shape.begin(), shape.end(), [](int64_t extent) { return extent != 1; }) < 2;
}

static Status checkHeader(const Header &header, const std::string &path) {
  auto wrong = [&](const std::string &what) { return invalidInput("'" + path + "' " + what); };
  if (StringRef(header.descr).starts_with(">"))
    return wrong("is big-endian ('" + header.descr +
                 "'); save array.astype(array.dtype.newbyteorder('<'))");
  if (!typeOf(header.descr))
    return wrong("has elements of '" + header.descr +
                 "', which no kernel takes; save it as one of the types of numbers");
  if (header.fortranOrder && !hasOneOrder(header.shape))
    return wrong("is in Fortran order; save numpy.ascontiguousarray(array)");
  return Status::success();
}

Result<Array> run::readNpy(const std::string &path, std::optional<ElementType> as) {
  Result<std::vector<std::byte>> bytes = runtime::readFile(path, size_t(1) << 34);
  if (!bytes.ok())
    return bytes.error();
  StringRef text(reinterpret_cast<const char *>(bytes->data()), bytes->size());
  Result<std::pair<Header, size_t>> read = readHeader(text, path);
  if (!read.ok())
    return read.error();
  const auto &[header, begin] = *read;
  if (Status status = checkHeader(header, path); !status.ok())
    return status.error();
  Array array{*typeOf(header.descr), header.shape, {}};
  Result<uint64_t> size = arrayBytes(array.shape, array.dtype, "'" + path + "'");
  if (!size.ok())
    return size.error();
  if (text.size() - begin != *size)
    return invalidInput("'" + path + "' has " + std::to_string(text.size() - begin) +
                        " bytes of data, its header says " + std::to_string(*size));
  array.data.assign(bytes->begin() + static_cast<ptrdiff_t>(begin), bytes->end());
  if (!as || *as == array.dtype)
    return array;
  bool isBits = !isFloat(array.dtype) &&
                bytesOf(array.dtype) == bytesOf(*as);
  if (isBits) {
    array.dtype = *as;
    return array;
  }
  if (!isFloat(array.dtype) || !isFloat(*as))
    return invalidInput("'" + path + "' has elements of '" + header.descr + "', which are no " +
                        std::string(toString(*as)) +
                        "; floats are rounded to it, unsigned integers of its width are its bits");
  return convertFloats(array, *as);
}

Status run::writeNpy(const std::string &path, const Array &array) {
  std::string shape;
  for (int64_t extent : array.shape)
    shape += std::to_string(extent) + ", ";
  if (array.shape.size() > 1)
    shape.resize(shape.size() - 2);
  std::string header = "{'descr': '" + descrOf(array.dtype) +
                       "', 'fortran_order': False, 'shape': (" + StringRef(shape).rtrim().str() +
                       "), }";
  // As numpy does: the data begin at a multiple of 64 bytes.
  header.append(llvm::alignTo(10 + header.size() + 1, 64) - 10 - header.size() - 1, ' ');
  header += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 255);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  bytes.append(reinterpret_cast<const char *>(array.data.data()), array.data.size());
  return runtime::writeFile(path, std::as_bytes(std::span(bytes)));
}
