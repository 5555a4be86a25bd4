# expand.sh LLVM_BIN SOURCE_DIRECTORY FILE: FILE, for C++ after the header of problems, as the preprocessor leaves it with the
# table of problem fields that lies under include/ here. Other headers are left out.
set -e
case "$3" in
*.cpp) problem=include/hocket/Attention/ForwardProblem.h ;;
*) problem= ;;
esac
sed -e '/^ *#include/{/ProblemFields.def"/!d;}' $problem "$2/$3" > expanded.c
"$1/clang" -E -P -w -x c -I include expanded.c
