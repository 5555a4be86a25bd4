// The names of the stages.
#include "hocket/Pipelines/Stages.h"

#include <string>

using namespace hocket;

std::string_view hocket::toString(Stage stage) {
  switch (stage) {
  case Stage::Attn:
    return "attn";
  case Stage::Tile:
    return "tile";
  case Stage::Clusters:
    return "clusters";
  case Stage::ROCDL:
    return "rocdl";
  case Stage::LLVM:
    return "llvm";
  case Stage::Asm:
    return "asm";
  case Stage::HSACO:
    return "hsaco";
  }
  return "";
}

Result<Stage> hocket::parseStage(std::string_view name) {
  std::string known;
  for (Stage stage : kStages) {
    if (toString(stage) == name)
      return stage;
    known += known.empty() ? "" : ", ";
    known += toString(stage);
  }
  return invalidInput("unknown stage '" + std::string(name) + "', expected one of " + known);
}

std::string_view hocket::extension(Stage stage) {
  switch (stage) {
  case Stage::LLVM:
    return "ll";
  case Stage::Asm:
    return "s";
  case Stage::HSACO:
    return "hsaco";
  default:
    return "mlir";
  }
}
