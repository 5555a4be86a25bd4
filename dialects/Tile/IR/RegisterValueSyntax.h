// How types are written where several kinds may stand: the most frequent kind without its name.
// Private to the dialect.
#pragma once

#include "Tile/IR/Tile.h"

namespace hocket::tile {

/// `<64x32xf32, acc>` is a fragment.
mlir::ParseResult parseRegisterValue(mlir::OpAsmParser &parser, mlir::Type &type);
void printRegisterValue(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::Type type);

/// `<32x128xbf16, 4>` is a part.
mlir::ParseResult parsePutValue(mlir::OpAsmParser &parser, mlir::Type &type);
void printPutValue(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::Type type);

/// `<?x?x?x128xbf16> -> <64x128xbf16>`, or without a view `!tile.ring<64x64xbf16>`.
mlir::ParseResult parseRingTypes(mlir::OpAsmParser &parser, mlir::Type &view, mlir::Type &ring);
void printRingTypes(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::Type view,
                    mlir::Type ring);

/// `<?xi32>, <64x128xbf16>`: a table of pages and the ring that it is for, whose tiles have `pages`.
mlir::ParseResult parseTableTypes(mlir::OpAsmParser &parser, mlir::Type &table, mlir::Type &ring, mlir::Type &pages);
void printTableTypes(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::Type table, mlir::Type ring,
                     mlir::Type pages);
} // namespace hocket::tile
