// The layouts that the LDS search tries, in order of preference. Private to the library.
#pragma once

#include "Layout/LdsSearch.h"

#include <functional>

namespace hocket {

/// Takes a layout and its number of swizzled bits; returns true to stop.
using LdsCandidateVisitor = std::function<bool(const LdsTileLayout &, unsigned)>;

/// Visits candidates for `request` until the visitor stops it or there are no more.
void forEachLdsCandidate(const LdsTileRequest &request, const LdsCandidateVisitor &visit);

} // namespace hocket
