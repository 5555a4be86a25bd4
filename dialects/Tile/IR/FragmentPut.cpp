// How a fragment is stored into its share of a ring's tile.
#include "Tile/IR/FragmentPut.h"

#include "Tile/IR/FragmentAccess.h"

#include "llvm/Support/MathExtras.h"

using namespace hocket;
using namespace hocket::tile;

static constexpr int64_t kWidestBytes = 16;

FragmentStores::Source FragmentStores::source(int64_t store, int64_t panel) const {
  int64_t perPiece = map.piece.registers / elements;
  int64_t first = store % perPiece * elements, piece = store / perPiece;
  int64_t column = panel * columnPieces + piece % columnPieces, row = piece / columnPieces;
  int64_t index = map.rowsFirst ? column * map.pieces.row + row : row * map.pieces.column + column;
  return {index, first};
}

static Coordinates place(uint64_t row, uint64_t column, int64_t elementBytes) {
  return {{std::string(dims::Row), row}, {std::string(dims::Byte), column * elementBytes}};
}

/// The images of the bits of `in` from `first` on.
static void addBases(InputBases &bases, const LinearLayout &map, std::string_view in,
                     unsigned first, int64_t elementBytes) {
  for (unsigned bit = first; bit != map.inputBits(in); ++bit)
    bases.bases.push_back(place(map.basis(in, bit, dims::Row), map.basis(in, bit, dims::Col), elementBytes));
}

/// Where each wave's part begins: bits of the wave's number.
static InputBases partsOf(PutOp put, FragType frag, int64_t elementBytes) {
  WavePart rows = wavePartOf(put.getRowsPart()), columns = wavePartOf(put.getColumnsPart());
  InputBases waves{std::string(dims::Wave), {}};
  for (unsigned bit = 1; bit < rows.count * columns.count; bit *= 2) {
    auto share = [&](const WavePart &part, int64_t size) -> uint64_t {
      bool counts = bit >= part.stride && bit < part.stride * part.count;
      return counts ? uint64_t(bit / part.stride) * size : 0;
    };
    waves.bases.push_back(
        place(share(rows, frag.getMemoryRows()), share(columns, frag.getMemoryColumns()), elementBytes));
  }
  return waves;
}

Result<FragmentStores> hocket::tile::fragmentStores(PutOp put, bool byElement) {
  auto frag = mlir::cast<FragType>(put.getPart().getType());
  RingType ring = put.getRing().getType();
  FragmentStores stores(frag);
  int64_t elementBytes = stores.elementBytes = ring.getElementType().getIntOrFloatBitWidth() / 8;
  const FragmentMap &map = stores.map;
  int64_t panel = panelColumns(ring);
  if (frag.getMemoryColumns() < panel
          ? !llvm::isPowerOf2_64(frag.getMemoryColumns())
          : wavePartOf(put.getColumnsPart()).count > 1 && frag.getMemoryColumns() % panel != 0)
    return unsupported("parts of " + std::to_string(frag.getMemoryColumns()) +
                       " columns of a tile of " + std::to_string(ring.getShape()[1]) +
                       ", whose panels have " + std::to_string(panel) +
                       "; give waves parts of its rows");
  if (!llvm::isPowerOf2_64(map.pieces.row))
    return unsupported("parts of " + std::to_string(frag.getMemoryRows()) +
                       " rows, which are no power of two");
  stores.elements = byElement ? 1 : std::min(map.piece.run(), kWidestBytes / elementBytes);
  int64_t columns = std::min(panel, frag.getMemoryColumns());
  stores.panels = frag.getMemoryColumns() / columns;
  stores.columnPieces = columns / map.piece.columns;

  InputBases registers{std::string(dims::Register), {}}, lanes{std::string(dims::Lane), {}};
  addBases(registers, map.piece.map, dims::Register, llvm::Log2_64(stores.elements), elementBytes);
  for (int64_t piece = 1; piece < stores.columnPieces; piece *= 2)
    registers.bases.push_back(place(0, piece * map.piece.columns, elementBytes));
  for (int64_t piece = 1; piece < map.pieces.row; piece *= 2)
    registers.bases.push_back(place(piece * map.piece.rows, 0, elementBytes));
  addBases(lanes, map.piece.map, dims::Lane, 0, elementBytes);
  Result<LinearLayout> access = LinearLayout::fromBases(
      {registers, lanes, partsOf(put, frag, elementBytes)},
      {{std::string(dims::Row), llvm::Log2_64(ring.getShape()[0])},
       {std::string(dims::Byte), llvm::Log2_64(panel * elementBytes)}});
  if (!access)
    return access.error();
  stores.access = *std::move(access);
  return stores;
}

Result<std::optional<LdsUse>> hocket::tile::fragmentStoresUse(PutOp put) {
  Result<FragmentStores> stores = fragmentStores(put, /*byElement=*/false);
  if (!stores)
    return stores.error();
  switch (stores->bytes()) {
  case 4:
    return std::optional(LdsUse{LdsInstruction::WriteB32, stores->access});
  case 8:
    return std::optional(LdsUse{LdsInstruction::WriteB64, stores->access});
  case 16:
    return std::optional(LdsUse{LdsInstruction::WriteB128, stores->access});
  default:
    return std::optional<LdsUse>();
  }
}

Result<std::optional<LdsUse>> PutOp::getLdsUse(const ArchInfo &) {
  if (getStagedPart())
    return std::optional<LdsUse>();
  return fragmentStoresUse(*this);
}

bool hocket::tile::isComputed(RingOp ring) {
  return llvm::any_of(ring.getRing().getUsers(), [](mlir::Operation *user) {
    auto put = mlir::dyn_cast<PutOp>(user);
    return put && mlir::isa<FragType>(put.getPart().getType());
  });
}
