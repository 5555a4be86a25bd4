// What messages call the program, which each one that links the tools' library says.
#include "Output.h"

const llvm::StringLiteral hocket::run::programName = "FirstDayTests";
