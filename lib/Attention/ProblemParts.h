// What the files that make up a forward problem say to one another.
#pragma once

#include "hocket/Attention/ForwardProblem.h"

#include <string>
#include <vector>

namespace hocket::attention {

/// What does not depend on tensors.
manifest::Variables scalarVariables(const ForwardProblem &problem);

/// The most keys that a row sees, as far as masks of fixed width say. For choosing kernels and measuring work only.
int64_t mostKeysOfRow(const ForwardProblem &problem);

/// A table of pages: `rows` times `extent` numbers.
struct PageTable {
  std::string name;
  int64_t extent, rows;
  manifest::NumberRange numbers;
};
/// The tables of a problem's pages; none without pages.
std::vector<PageTable> pageTables(const ForwardProblem &problem);

/// Whether a list has the first rows of sequences.
bool hasFirstRows(const SequenceList &list);
/// What the numbers of `list` may be.
manifest::NumberRange numbersOf(const ForwardProblem &problem, const SequenceList &list);

/// The tensors of lists of blocks of queries for each block of keys (BlockLists.h), those of full blocks last.
std::vector<manifest::TensorSpec> transposedTensors(const ForwardProblem &problem, manifest::TensorRole role);
/// Appends the tensors that modifications capture and those of block lists, each once.
void addCaptured(const ForwardProblem &problem, std::vector<manifest::TensorSpec> &list);

// Parts of `validate`.
/// What pages ask of the rest of the problem.
Status checkPages(const ForwardProblem &problem);
/// What appending to a cache asks of the rest of the problem.
Status checkUpdate(const ForwardProblem &problem);
/// What is known of lists and tables of pages.
Status checkLists(const ForwardProblem &problem);
/// What a list of work asks of the rest of the problem, and the list where it is known.
Status checkWork(const ForwardProblem &problem);
/// The shortest decimal that reads back as `value`.
std::string shortest(double value);
/// Modifications, the numbers and tensors that they take, block lists.
Status checkModifications(const ForwardProblem &problem);

} // namespace hocket::attention
