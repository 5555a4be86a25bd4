// A result holds a value or an error, never both, and moves its value out.
#include "hocket/Support/Result.h"

#include <gtest/gtest.h>
#include <memory>

using namespace hocket;

TEST(Result, HoldsAValue) {
  Result<int> result = 7;
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(*result, 7);
}

TEST(Result, HoldsAnError) {
  Result<int> result = invalidInput("tensor 'k' has 3 dimensions, 4 are needed");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::InvalidInput);
  EXPECT_EQ(result.error().message, "tensor 'k' has 3 dimensions, 4 are needed");
}

TEST(Result, MovesItsValueOut) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(3);
  std::unique_ptr<int> owner = *std::move(result);
  EXPECT_EQ(*owner, 3);
}

TEST(Status, IsSuccessByDefault) {
  EXPECT_TRUE(Status().ok());
  Status failure = hostError("cannot write 'out.hsaco'");
  EXPECT_FALSE(failure.ok());
  EXPECT_EQ(failure.error().kind, ErrorKind::Host);
}
