// Between the attribute that a ring carries and the layout library's data.
#include "Tile/IR/LdsLayout.h"

#include "IR/ElementTypes.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::tile;

LogicalResult LdsLayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t panel,
                                    int64_t chunk, int64_t pad, ArrayRef<int64_t> rows,
                                    ArrayRef<int64_t> bytes) {
  for (auto [value, name] : {std::pair(panel, "panel"), std::pair(chunk, "chunk")})
    if (value < 1 || !llvm::isPowerOf2_64(value) || value > (1 << 20))
      return emitError() << name << " of " << value
                         << " bytes, a power of two up to 1 MiB is needed";
  if (pad < 0 || pad > 4096 || pad % 16 != 0)
    return emitError() << "pad of " << pad << " bytes, a multiple of 16 up to 4096 is needed";
  if (rows.size() > 16 || bytes.size() != llvm::Log2_64(panel))
    return emitError() << rows.size() << " row bits and " << bytes.size()
                       << " byte bits, at most 16 and " << llvm::Log2_64(panel) << " are needed";
  for (int64_t base : llvm::concat<const int64_t>(rows, bytes))
    if (base < 0)
      return emitError() << "offset " << base << " of a bit, a number from 0 is needed";
  return success();
}

static std::vector<Coordinates> offsets(ArrayRef<int64_t> bases) {
  std::vector<Coordinates> result;
  for (int64_t base : bases)
    result.push_back({{std::string(dims::Offset), static_cast<uint64_t>(base)}});
  return result;
}

Result<LdsTileLayout> hocket::tile::toLdsTileLayout(LdsLayoutAttr attr, RingType ring) {
  LdsTileLayout layout;
  layout.rows = ring.getShape()[0];
  layout.rowBytes = ring.getShape()[1] * bytesOf(ring.getElementType());
  layout.panelBytes = attr.getPanel();
  layout.chunkBytes = attr.getChunk();
  layout.padding = attr.getPad();
  unsigned offsetBits = attr.getRows().size() + attr.getBytes().size();
  Result<LinearLayout> linear =
      LinearLayout::fromBases({{std::string(dims::Row), offsets(attr.getRows())},
                               {std::string(dims::Byte), offsets(attr.getBytes())}},
                              {{std::string(dims::Offset), offsetBits}});
  if (!linear)
    return linear.error();
  layout.linear = *linear;
  if (Status status = validateLdsTile(layout); !status)
    return status.error();
  return layout;
}

Result<LdsTileLayout> hocket::tile::toLdsTileLayout(RingOp ring) {
  Result<LdsTileLayout> layout = toLdsTileLayout(*ring.getLayout(), ring.getRing().getType());
  if (layout)
    layout->vectors = ring.getTileVectors();
  return layout;
}

bool hocket::tile::passesRegisters(RingOp ring) {
  return llvm::any_of(ring.getRing().getUsers(), [](Operation *user) {
    auto access = dyn_cast<RingAccessOpInterface>(user);
    return access && access.writesSlot() && !access.isAsynchronous();
  });
}

FailureOr<int64_t> hocket::tile::lookUpsOfFetch(RingOp ring) {
  llvm::DenseMap<Operation *, int64_t> inSteps;
  for (Operation *user : ring.getRing().getUsers())
    if (auto lookUp = dyn_cast<LookUpOp>(user))
      if (auto step = user->getParentOfType<StepOp>())
        inSteps[step] += lookUp.getPages().getType().getRegisters();
  if (inSteps.empty())
    return 0;
  int64_t count = inSteps.begin()->second;
  for (Operation *user : ring.getRing().getUsers())
    if (auto step = user->getParentOfType<StepOp>(); isa<FetchOp>(user) && inSteps.lookup(step) != count)
      return user->emitOpError("stands in a step with other look-ups of pages than others of its ring; give each "
                               "step that fetches the same");
  return count;
}

LdsLayoutAttr hocket::tile::toAttr(MLIRContext *context, const LdsTileLayout &layout) {
  auto bases = [&](std::string_view dim) {
    SmallVector<int64_t> result;
    for (unsigned bit = 0; bit != layout.linear.inputBits(dim); ++bit)
      result.push_back(layout.linear.basis(dim, bit, dims::Offset));
    return result;
  };
  return LdsLayoutAttr::get(context, layout.panelBytes, layout.chunkBytes, layout.padding,
                            bases(dims::Row), bases(dims::Byte));
}
