// What all parts of a loop's expansion share.
#pragma once

#include "ExpansionBuilder.h"

#include "Conversion/TileShape.h"
#include "Target/Arch/ArchInfo.h"

namespace hocket {

struct LoopContext {
  ExpansionBuilder &builder;
  const ArchInfo &arch;
  TileShape shape;
  mlir::Type element; ///< of heads

  /// A tile's scores in f32: keys x queries, or the other way round.
  tile::FragType scores() const {
    return builder.frag(shape.kvTile, kWaveRows, builder.getF32Type(), tile::FragLayout::Acc);
  }
};

} // namespace hocket
