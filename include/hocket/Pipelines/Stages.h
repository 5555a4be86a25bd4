// The stages of a compilation: the same words in flags, docs, dump files and tests.
#pragma once

#include "hocket/Support/Result.h"

#include <array>
#include <string_view>

namespace hocket {

/// In order. `Attn` to `ROCDL` are MLIR text, `LLVM` is LLVM IR, `Asm` assembly, `HSACO` bytes.
enum class Stage { Attn, Tile, Clusters, ROCDL, LLVM, Asm, HSACO };

inline constexpr std::array<Stage, 7> kStages = {
    Stage::Attn, Stage::Tile, Stage::Clusters, Stage::ROCDL, Stage::LLVM, Stage::Asm, Stage::HSACO};

/// "attn", "tile", "clusters", "rocdl", "llvm", "asm", "hsaco".
std::string_view toString(Stage stage);
/// An error that lists the stages if `name` is none of them.
Result<Stage> parseStage(std::string_view name);
/// The file name extension of a stage's text: "mlir", "ll", "s", "hsaco".
std::string_view extension(Stage stage);

} // namespace hocket
