// The launch manifest of a kernel, read off its tile-level form.
//
// The order of arguments is the argument block's (lib/Conversion/TileToROCDL/Kernel.cpp): a view's
// pointer, strides and extents, each at its natural alignment.
#include "KernelManifest.h"

#include "IR/ElementTypes.h"
#include "Target/Arch/ArchInfo.h"
#include "Tile/IR/MemoryAccess.h"
#include "Tile/IR/WorkItems.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <set>

using namespace mlir;
using namespace hocket;

/// What a descriptor's base must be aligned to for 16-byte loads.
static constexpr uint32_t kTensorAlignment = 16;
/// What offsets within one access may reach, with room for a row's columns: less than 2 GiB.
static constexpr int64_t kMaxSpanBytes = (int64_t(1) << 31) - (int64_t(1) << 20);

namespace {
class ManifestBuilder {
public:
  explicit ManifestBuilder(tile::KernelOp kernel) : kernel(kernel) {}

  Result<manifest::Manifest> build() {
    result.kernel = kernel.getSymName().str();
    result.target = kernel.getTarget().str();
    Result<const ArchInfo *> arch = findArch(result.target);
    if (!arch)
      return arch.error();
    result.block[0] = manifest::Expression::constant(static_cast<int64_t>(kernel.getWaves()) * (*arch)->waves.waveSize);
    for (unsigned index = 0; index != kernel.getNumArguments(); ++index)
      if (Status status = addArgument(index); !status)
        return status.error();
    if (Status status = setGrid(); !status)
      return status.error();
    if (Status status = setWorkItems(); !status)
      return status.error();
    result.kernargSize = offset;
    // The tiles that pass through LDS have a row for each key, or a column for each step in depth.
    for (auto source : kernel.getBody().getOps<tile::TileSourceOpInterface>())
      result.tileKeys = static_cast<uint32_t>(source.getTileStep());
    for (auto grid : kernel.getBody().getOps<tile::GridOpInterface>())
      result.waveRows = static_cast<uint32_t>(std::max<int64_t>(grid.getGridShape().blockSize() / kernel.getWaves(), 1));
    if (Status status = setWorkspace(); !status)
      return status.error();
    if (Status status = addRequirements(); !status)
      return status.error();
    if (Status status = requireSpans(); !status)
      return status.error();
    if (Status status = requireGatherSpans(); !status)
      return status.error();
    return result;
  }

private:
  Status addArgument(unsigned index) {
    StringRef binding = kernel.getBinding(index);
    if (binding.empty())
      return invalidInput("kernel '" + result.kernel + "': argument " + std::to_string(index) +
                          " has neither a name nor 'tile.bind', so a manifest cannot say what to "
                          "pass; name it as in '%x'");
    Type type = kernel.getFunctionType().getInput(index);
    if (auto view = dyn_cast<tile::ViewType>(type))
      return addView(index, view, binding);
    manifest::ArgumentType scalar = type.isF32()         ? manifest::ArgumentType::F32
                                    : type.isInteger(64) ? manifest::ArgumentType::I64
                                                         : manifest::ArgumentType::I32;
    return add(binding.str(), scalar, binding.str());
  }

  Status addView(unsigned index, tile::ViewType view, StringRef binding) {
    auto given = kernel.getArgAttrOfType<StringAttr>(index, "tile.address");
    std::string address = given ? given.str() : binding.str();
    if (Status status = add(binding.str(), manifest::ArgumentType::Pointer, address); !status)
      return status;
    result.arguments.back().align = kTensorAlignment;
    Result<std::vector<std::string>> strides = expressions(
        index, "tile.strides", defaults(binding, "stride", llvm::seq(view.getRank() - 1)));
    if (!strides)
      return strides.error();
    for (auto [dimension, stride] : llvm::enumerate(*strides))
      if (Status status = add((binding + "_stride" + Twine(dimension)).str(),
                              manifest::ArgumentType::I64, stride);
          !status)
        return status;
    auto dynamic = llvm::make_filter_range(llvm::seq(view.getRank()), [&](int64_t dimension) {
      return ShapedType::isDynamic(view.getShape()[dimension]);
    });
    Result<std::vector<std::string>> sizes =
        expressions(index, "tile.sizes", defaults(binding, "size", dynamic));
    if (!sizes)
      return sizes.error();
    for (auto [dimension, size] : llvm::enumerate(*sizes))
      if (Status status =
              add((binding + "_size" + Twine(dimension)).str(), manifest::ArgumentType::I32, size);
          !status)
        return status;
    viewSizes[kernel.getArgument(index)] = *sizes;
    viewStrides[kernel.getArgument(index)] = *strides;
    std::vector<std::string> &extents = viewExtents[kernel.getArgument(index)];
    for (auto next = sizes->begin(); int64_t extent : view.getShape())
      extents.push_back(ShapedType::isDynamic(extent) ? *next++ : std::to_string(extent));
    strides->push_back("1");
    if (address == binding)
      if (Status status = addTensor(view, binding, extents, *strides); !status)
        return status;
    return requireView(binding);
  }

  /// What the view is to callers who give tensors by name.
  Status addTensor(tile::ViewType view, StringRef binding, const std::vector<std::string> &extents,
                   const std::vector<std::string> &strides) {
    manifest::TensorInfo tensor{binding.str(), asElementType(view.getElementType()), {}, {}};
    for (auto [list, texts] :
         {std::pair(&tensor.sizes, &extents), std::pair(&tensor.strides, &strides)})
      for (const std::string &text : *texts) {
        Result<manifest::Expression> expression = manifest::Expression::parse(text);
        if (!expression)
          return invalidInput("kernel '" + result.kernel + "': argument '" + binding.str() +
                              "': " + expression.error().message);
        list->push_back(*expression);
      }
    result.tensors.push_back(std::move(tensor));
    return Status::success();
  }

  /// What sizes and strides are called where the kernel does not say: "x_size_0".
  static std::vector<std::string> defaults(StringRef binding, StringRef what, auto dimensions) {
    std::vector<std::string> names;
    for (int64_t dimension : dimensions)
      names.push_back((binding + "_" + what + "_" + Twine(dimension)).str());
    return names;
  }

  /// An optional output must be wanted: a kernel that writes LSE does so through a pointer that must not be null.
  Status requireView(StringRef binding) {
    if (binding == "lse")
      return require("want_lse", "the kernel writes LSE, which must be asked for");
    return Status::success();
  }

  Status require(const std::string &condition, std::string message) {
    Result<manifest::Expression> expression = manifest::Expression::parse(condition);
    if (!expression)
      return expression.error();
    result.requirements.push_back({*expression, std::move(message)});
    return Status::success();
  }

  /// The list of expressions in an argument's attribute, as many as `defaults`, which stand for it
  /// where there is none.
  Result<std::vector<std::string>> expressions(unsigned index, StringRef attribute,
                                               std::vector<std::string> defaults) {
    auto array = kernel.getArgAttrOfType<ArrayAttr>(index, attribute);
    if (!array)
      return std::move(defaults);
    std::vector<std::string> list;
    for (Attribute entry : array)
      if (auto text = dyn_cast<StringAttr>(entry))
        list.push_back(text.str());
    if (list.size() == defaults.size())
      return std::move(list);
    return invalidInput("kernel '" + result.kernel + "': argument " + std::to_string(index) +
                        " has " + std::to_string(list.size()) + " expressions in '" +
                        attribute.str() + "', its view needs " + std::to_string(defaults.size()));
  }

  Status add(std::string name, manifest::ArgumentType type, const std::string &expression) {
    Result<manifest::Expression> value = manifest::Expression::parse(expression);
    if (!value)
      return invalidInput("kernel '" + result.kernel + "': argument '" + name +
                          "': " + value.error().message);
    uint32_t size = manifest::sizeInBytes(type);
    offset = llvm::alignTo(offset, size);
    result.arguments.push_back({std::move(name), offset, type, *value});
    offset += size;
    return Status::success();
  }

  /// The grid follows from the one op that says which part of a view a workgroup works on.
  Status setGrid() {
    SmallVector<tile::WorkgroupIdOp> own(kernel.getBody().getOps<tile::WorkgroupIdOp>());
    SmallVector<tile::GridOpInterface> ops(kernel.getBody().getOps<tile::GridOpInterface>());
    if (!own.empty())
      return setOwnGrid(own, /*others=*/!ops.empty());
    if (ops.empty())
      return Status::success();
    auto extents = viewExtents.find(ops.front().getView());
    if (ops.size() > 1 || extents == viewExtents.end())
      return invalidInput("kernel '" + result.kernel + "': the grid follows from one '" +
                          ops.front()->getName().getStringRef().str() +
                          "' of a view, which is an argument");
    tile::GridShape shape = ops.front().getGridShape();
    std::string x;
    for (const tile::GridBlocks &blocks : shape.x) {
      std::string extent = extents->second[blocks.dimension];
      if (auto count = dyn_cast_if_present<BlockArgument>(ops.front().getCount(blocks.dimension)))
        extent = kernel.getBinding(count.getArgNumber()).str();
      x += (x.empty() ? "" : " * ") + blockCount(extent, blocks.size);
    }
    if (Status status = setGridDimension(0, x); !status || !shape.rounds)
      return status;
    const std::string &counted = extents->second[*shape.rounds];
    std::string round = std::to_string(tile::kGridRound);
    if (Status status = setGridDimension(1, "min(" + counted + ", " + round + ")"); !status)
      return status;
    return setGridDimension(2, blockCount(counted, tile::kGridRound));
  }

  /// As the kernel says.
  Status setOwnGrid(ArrayRef<tile::WorkgroupIdOp> own, bool others) {
    if (own.size() > 1 || others)
      return invalidInput("kernel '" + result.kernel +
                          "': the grid follows from one 'tile.workgroup_id', 'tile.block_id' or "
                          "'tile.block_tile', found several");
    for (auto [dimension, text] : llvm::enumerate(tile::WorkgroupIdOp(own.front()).getGrid()))
      if (Status status = setGridDimension(dimension, cast<StringAttr>(text).str()); !status)
        return invalidInput("kernel '" + result.kernel +
                            "': 'tile.workgroup_id': " + status.error().message);
    return Status::success();
  }

  /// The expression for the blocks of `size` in `extent`.
  static std::string blockCount(const std::string &extent, int64_t size) {
    return size == 1 ? "(" + extent + ")" : "ceildiv(" + extent + ", " + std::to_string(size) + ")";
  }

  /// Of a persistent kernel the grid is that of its items; what is started is so many workgroups for each compute unit.
  /// Its last arguments say how many items there are (lib/Conversion/TileToROCDL/WorkItems.cpp).
  Status setWorkItems() {
    auto workgroups = kernel->getAttrOfType<IntegerAttr>(tile::kPersistentAttr);
    if (!workgroups)
      return Status::success();
    Result<const ArchInfo *> arch = findArch(kernel.getTarget().str());
    if (!arch)
      return arch.error();
    std::string texts[3];
    for (auto [text, extent] : llvm::zip_equal(texts, result.grid))
      text = "(" + extent.text() + ")";
    std::string items = texts[0] + " * " + texts[1] + " * " + texts[2];
    for (auto [name, text] : {std::pair("items_x", texts[0]), {"items_y", texts[1]}, {"items", items}})
      if (Status status = add(name, manifest::ArgumentType::I32, text); !status)
        return status;
    if (Status status = require(items + " <= " + std::to_string(tile::kMaxWorkItems),
                                "a persistent kernel may have at most " + std::to_string(tile::kMaxWorkItems) +
                                    " items");
        !status)
      return status;
    int64_t most = workgroups.getInt() * (*arch)->chip.computeUnits;
    result.grid[1] = result.grid[2] = manifest::Expression::constant(1);
    return setGridDimension(0, "min(" + items + ", " + std::to_string(most) + ")");
  }

  Status setGridDimension(unsigned dimension, const std::string &text) {
    Result<manifest::Expression> expression = manifest::Expression::parse(text);
    if (!expression)
      return expression.error();
    result.grid[dimension] = *expression;
    return Status::success();
  }

  /// `tile.workspace` of the kernel: bytes of device memory, an expression.
  Status setWorkspace() {
    auto bytes = kernel->getAttrOfType<StringAttr>("tile.workspace");
    if (!bytes)
      return Status::success();
    Result<manifest::Expression> expression = manifest::Expression::parse(bytes.str());
    if (!expression)
      return invalidInput("kernel '" + result.kernel +
                          "': 'tile.workspace': " + expression.error().message);
    result.workspace = *expression;
    return Status::success();
  }

  /// Within one access offsets have 31 bits: its rows must not span more. Attention's and products'
  /// own ops leave that to the kernel's requirements.
  Status requireSpans() {
    std::set<std::string> conditions;
    Status status = Status::success();
    kernel.walk([&](Operation *op) {
      std::optional<tile::MemoryAccess> access = tile::memoryAccessOf(op);
      if (!status || !access || access->isNumber() || tile::isOfWholeHeadRows(*access))
        return;
      tile::ViewType view = access->view.getType();
      int64_t rows = tile::shapeOf(*access).rows, along = access->dimension();
      auto argument = dyn_cast<BlockArgument>(tile::wholeView(access->view));
      auto strides = argument ? viewStrides.find(argument) : viewStrides.end();
      if (rows == 1 || strides == viewStrides.end())
        return;
      auto whole = cast<tile::ViewType>(argument.getType());
      const int64_t further = whole.getRank() - view.getRank();
      /// What a dimension of the view spans, `most` of its places or all.
      auto spanOf = [&](int64_t ofView, std::optional<int64_t> most) {
        int64_t dimension = further + ofView;
        std::string count = std::to_string(most.value_or(whole.getShape()[dimension]));
        if (ShapedType::isDynamic(whole.getShape()[dimension])) {
          int64_t before =
              llvm::count_if(whole.getShape().take_front(dimension), ShapedType::isDynamic);
          count = most ? "min(" + viewSizes[argument][before] + ", " + count + ")" : viewSizes[argument][before];
        }
        bool isLast = dimension + 1 == whole.getRank();
        return "(" + count + " - 1) * (" + (isLast ? "1" : strides->second[dimension]) + ")";
      };
      int64_t elementBytes = view.getElementType().getIntOrFloatBitWidth() / 8;
      std::string limit = std::to_string(kMaxSpanBytes / elementBytes);
      std::string span = spanOf(along, rows);
      if (access->over)
        span += " + " + spanOf(access->over->second, std::nullopt);
      std::string condition = span + " <= " + limit;
      if (conditions.insert(condition).second)
        status = require(condition, std::to_string(rows) + " rows of " +
                                        kernel.getBinding(argument.getArgNumber()).str() +
                                        " may span at most " + limit + " elements");
    });
    return status;
  }

  /// What the indices of a gather that vary reach, counted from where the others point.
  Status requireGatherSpans() {
    std::set<std::string> conditions;
    Status status = Status::success();
    kernel.walk([&](tile::GatherOp gather) {
      tile::ViewType view = gather.getView().getType();
      auto argument = dyn_cast<BlockArgument>(tile::wholeView(gather.getView()));
      auto strides = argument ? viewStrides.find(argument) : viewStrides.end();
      if (!status || strides == viewStrides.end())
        return;
      auto whole = cast<tile::ViewType>(argument.getType());
      int64_t before = whole.getRank() - view.getRank();
      std::string span;
      for (auto [index, value] : llvm::enumerate(gather.getIndices())) {
        int64_t dimension = before + static_cast<int64_t>(index);
        if (value.getType().isInteger(32))
          continue;
        std::string extent = std::to_string(whole.getShape()[dimension]);
        if (ShapedType::isDynamic(whole.getShape()[dimension]))
          extent = viewSizes[argument][llvm::count_if(whole.getShape().take_front(dimension),
                                                      ShapedType::isDynamic)];
        bool isLast = dimension + 1 == whole.getRank();
        span += (span.empty() ? "(" : " + (") + extent + " - 1) * (" +
                (isLast ? "1" : strides->second[dimension]) + ")";
      }
      int64_t elementBytes = std::max(view.getElementType().getIntOrFloatBitWidth() / 8, 1u);
      std::string limit = std::to_string(kMaxSpanBytes / elementBytes);
      if (conditions.insert(span + " <= " + limit).second)
        status = require(span + " <= " + limit,
                         "what is looked up in " + kernel.getBinding(argument.getArgNumber()).str() +
                             " may span at most " + limit + " elements");
    });
    return status;
  }

  /// `tile.requires` of the kernel: pairs of a condition and what to say where it fails.
  Status addRequirements() {
    auto list = kernel->getAttrOfType<ArrayAttr>("tile.requires");
    if (!list)
      return Status::success();
    for (Attribute entry : list) {
      auto pair = dyn_cast<ArrayAttr>(entry);
      auto condition = pair && pair.size() == 2 ? dyn_cast<StringAttr>(pair[0]) : StringAttr();
      auto message = condition ? dyn_cast<StringAttr>(pair[1]) : StringAttr();
      if (!message)
        return invalidInput("kernel '" + result.kernel +
                            "': 'tile.requires' is a list of [condition, message]");
      Result<manifest::Expression> expression = manifest::Expression::parse(condition.str());
      if (!expression)
        return invalidInput("kernel '" + result.kernel +
                            "': 'tile.requires': " + expression.error().message);
      result.requirements.push_back({*expression, message.str()});
    }
    return Status::success();
  }

  tile::KernelOp kernel;
  manifest::Manifest result;
  uint32_t offset = 0;
  llvm::DenseMap<Value, std::vector<std::string>> viewSizes, viewStrides;
  llvm::DenseMap<Value, std::vector<std::string>> viewExtents; ///< of all dimensions
};
} // namespace

Result<manifest::Manifest> hocket::makeManifest(tile::KernelOp kernel) {
  return ManifestBuilder(kernel).build();
}
