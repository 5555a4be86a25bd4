// What the runtime's tests share: the code object of Inputs/fill.c, and short checks of errors.
#pragma once

#include "hocket/Runtime/File.h"
#include "hocket/Support/Result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket {

inline std::vector<std::byte> testCodeObject() {
  Result<std::vector<std::byte>> bytes = runtime::readFile(HOCKET_TEST_CODE_OBJECT);
  return bytes.ok() ? *bytes : std::vector<std::byte>();
}

/// Fails unless `result` is an error whose message contains `text`.
template <typename T> void expectError(const T &result, const std::string &text) {
  ASSERT_FALSE(result.ok()) << "expected: " << text;
  EXPECT_THAT(result.error().message, testing::HasSubstr(text));
}

} // namespace hocket
