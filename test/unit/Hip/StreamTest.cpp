// Streams, events, callbacks.
#include "Hip.h"

using namespace hocket;

class HipStream : public HipTest {};

TEST_F(HipStream, LivesUntilDestroyed) {
  void *stream = nullptr;
  unsigned flags = 7;
  ASSERT_EQ(hipStreamCreateWithFlags(&stream, 1), 0);
  EXPECT_EQ(hipStreamGetFlags(stream, &flags), 0);
  EXPECT_EQ(flags, 1u);
  EXPECT_EQ(hipStreamGetFlags(stream, nullptr), invalidValue);
  EXPECT_EQ(hipStreamQuery(stream), 0);
  EXPECT_EQ(hipStreamSynchronize(stream), 0);
  EXPECT_EQ(hipStreamDestroy(stream), 0);
  EXPECT_EQ(hipStreamDestroy(stream), invalidHandle);
  EXPECT_EQ(hipStreamSynchronize(stream), invalidHandle);
  EXPECT_EQ(hipMemcpyAsync(nullptr, nullptr, 0, 1, stream), invalidHandle);
  EXPECT_EQ(hipStreamCreate(nullptr), invalidValue);
  EXPECT_EQ(hipStreamCreateWithFlags(&stream, 32), invalidValue);
  // The default stream, and the thread's own.
  EXPECT_EQ(hipStreamSynchronize(nullptr), 0);
  EXPECT_EQ(hipStreamSynchronize(reinterpret_cast<void *>(uintptr_t(2))), 0);
}

TEST_F(HipStream, TakesCallbacks) {
  struct Seen {
    void *stream = nullptr;
    int status = -1, calls = 0;
  } seen;
  void *stream = nullptr;
  ASSERT_EQ(hipStreamCreate(&stream), 0);
  auto callback = [](void *which, int status, void *data) {
    auto *to = static_cast<Seen *>(data);
    *to = {which, status, to->calls + 1};
    EXPECT_EQ(hipGetLastError(), 0); // HIP may be called from here
  };
  EXPECT_EQ(hipStreamAddCallback(stream, callback, &seen, 0), 0);
  EXPECT_EQ(seen.stream, stream);
  EXPECT_EQ(seen.status, 0);
  EXPECT_EQ(hipStreamAddCallback(stream, callback, &seen, 1), invalidValue);
  EXPECT_EQ(hipStreamAddCallback(stream, nullptr, &seen, 0), invalidValue);
  EXPECT_EQ(seen.calls, 1);
  hipGetLastError();
  int called = 0;
  EXPECT_EQ(hipLaunchHostFunc(stream, [](void *data) { ++*static_cast<int *>(data); }, &called), 0);
  EXPECT_EQ(called, 1);
  EXPECT_EQ(hipLaunchHostFunc(stream, nullptr, nullptr), invalidValue);
}

class HipEvent : public HipTest {};

TEST_F(HipEvent, TellsTime) {
  void *start = nullptr, *stop = nullptr, *untimed = nullptr;
  float milliseconds = -1;
  ASSERT_EQ(hipEventCreate(&start), 0);
  ASSERT_EQ(hipEventCreate(&stop), 0);
  ASSERT_EQ(hipEventCreateWithFlags(&untimed, 2), 0);
  EXPECT_EQ(hipEventQuery(stop), 0);
  EXPECT_EQ(hipEventRecord(start, nullptr), 0);
  EXPECT_EQ(hipEventElapsedTime(&milliseconds, start, stop), invalidHandle); // not recorded
  EXPECT_EQ(hipEventRecord(stop, nullptr), 0);
  EXPECT_EQ(hipEventRecord(untimed, nullptr), 0);
  EXPECT_EQ(hipEventSynchronize(stop), 0);
  EXPECT_EQ(hipStreamWaitEvent(nullptr, stop, 0), 0);
  ASSERT_EQ(hipEventElapsedTime(&milliseconds, start, stop), 0);
  EXPECT_GE(milliseconds, 0);
  EXPECT_EQ(hipEventElapsedTime(&milliseconds, start, untimed), invalidHandle);
  EXPECT_EQ(hipEventElapsedTime(nullptr, start, stop), invalidValue);
  EXPECT_EQ(hipEventDestroy(stop), 0);
  for (int code : {hipEventDestroy(stop), hipEventRecord(stop, nullptr), hipEventQuery(stop),
                   hipEventSynchronize(stop), hipStreamWaitEvent(nullptr, stop, 0),
                   hipEventRecord(nullptr, nullptr)})
    EXPECT_EQ(code, invalidHandle);
}

// A handle of one kind is none of another.
TEST_F(HipEvent, IsNoStream) {
  void *stream = nullptr, *event = nullptr;
  ASSERT_EQ(hipStreamCreate(&stream), 0);
  ASSERT_EQ(hipEventCreate(&event), 0);
  EXPECT_EQ(hipEventRecord(stream, nullptr), invalidHandle);
  EXPECT_EQ(hipStreamSynchronize(event), invalidHandle);
  EXPECT_EQ(hipModuleUnload(stream), invalidHandle);
}
