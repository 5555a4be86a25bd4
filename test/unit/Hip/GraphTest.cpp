// Capture of streams into graphs, and what a capture forbids.
#include "Hip.h"

#include <array>
#include <thread>

using namespace hocket;

namespace {
constexpr int captureUnsupported = 900, captureInvalidated = 901, captureUnmatched = 903, captureImplicit = 906,
              capturedEvent = 907, captureIsolation = 905, illegalState = 401;
constexpr int globalMode = 0, threadLocalMode = 1, relaxedMode = 2;

class HipGraph : public HipTest {
protected:
  void SetUp() override {
    HipTest::SetUp();
    ASSERT_EQ(hipModuleLoad(&module, HOCKET_TEST_CODE_OBJECT), 0);
    ASSERT_EQ(hipModuleGetFunction(&fill, module, "fill"), 0);
    ASSERT_EQ(hipMalloc(&memory, 400), 0);
    ASSERT_EQ(hipMemset(memory, 0, 400), 0);
    ASSERT_EQ(hipStreamCreate(&stream), 0);
    ASSERT_EQ(hipStreamCreate(&other), 0);
  }
  int launch(uint32_t value, uint32_t count, void *where) {
    void *parameters[] = {&memory, &value, &count};
    return hipModuleLaunchKernel(fill, (count + 63) / 64, 1, 1, 64, 1, 1, 0, where, parameters, nullptr);
  }
  std::array<uint32_t, 100> result() {
    std::array<uint32_t, 100> values{};
    EXPECT_EQ(hipMemcpy(values.data(), memory, 400, deviceToHost), 0);
    return values;
  }
  void *module = nullptr, *fill = nullptr, *memory = nullptr, *stream = nullptr, *other = nullptr;
};
} // namespace

// Nothing runs while it is captured; what runs later has the arguments of the capture.
TEST_F(HipGraph, RepeatsWhatWasCaptured) {
  void *graph = nullptr, *executable = nullptr;
  int status = 7, called = 0;
  ASSERT_EQ(hipStreamBeginCapture(stream, globalMode), 0);
  EXPECT_EQ(hipStreamIsCapturing(stream, &status), 0);
  EXPECT_EQ(status, 1);
  EXPECT_EQ(launch(5, 100, stream), 0);
  EXPECT_EQ(hipMemsetAsync(memory, 0, 4, stream), 0);
  EXPECT_EQ(hipLaunchHostFunc(
                stream,
                [](void *data) {
                  ++*static_cast<int *>(data);
                  EXPECT_EQ(hipGetLastError(), 0); // HIP may be called from here
                },
                &called),
            0);
  ASSERT_EQ(hipStreamEndCapture(stream, &graph), 0);
  EXPECT_EQ(hipStreamIsCapturing(stream, &status), 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(called, 0);
  EXPECT_THAT(result(), testing::Each(0u));
  size_t count = 0;
  EXPECT_EQ(hipGraphGetNodes(graph, nullptr, &count), 0);
  EXPECT_EQ(count, 3u);

  ASSERT_EQ(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0), 0);
  EXPECT_EQ(hipGraphDestroy(graph), 0);
  for (int times = 1; times != 3; ++times) {
    ASSERT_EQ(hipMemset(memory, 0xff, 400), 0);
    ASSERT_EQ(hipGraphLaunch(executable, stream), 0);
    EXPECT_EQ(called, times);
    EXPECT_EQ(result()[0], 0u);
    EXPECT_EQ(result()[99], 5u);
  }
  EXPECT_EQ(hipGraphExecDestroy(executable), 0);
  EXPECT_EQ(hipGraphExecDestroy(executable), invalidValue);
  EXPECT_EQ(hipGraphLaunch(executable, stream), invalidValue);
  EXPECT_EQ(hipGraphDestroy(graph), invalidValue);
}

// A stream that waits for captured work is captured, too; a graph may be captured into another.
TEST_F(HipGraph, CapturesStreamsThatJoin) {
  void *event = nullptr, *graph = nullptr, *outer = nullptr, *executable = nullptr;
  int status = 0;
  ASSERT_EQ(hipEventCreate(&event), 0);
  ASSERT_EQ(hipStreamBeginCapture(stream, globalMode), 0);
  ASSERT_EQ(hipEventRecord(event, stream), 0);
  ASSERT_EQ(hipStreamWaitEvent(other, event, 0), 0);
  EXPECT_EQ(hipStreamIsCapturing(other, &status), 0);
  EXPECT_EQ(status, 1);
  EXPECT_EQ(launch(6, 100, other), 0);
  EXPECT_EQ(hipStreamEndCapture(other, &graph), captureUnmatched);
  ASSERT_EQ(hipStreamEndCapture(stream, &graph), 0);
  EXPECT_EQ(hipStreamIsCapturing(other, &status), 0);
  EXPECT_EQ(status, 0);
  EXPECT_THAT(result(), testing::Each(0u));
  ASSERT_EQ(hipGraphInstantiateWithFlags(&executable, graph, 0), 0);
  ASSERT_EQ(hipStreamBeginCapture(stream, globalMode), 0);
  ASSERT_EQ(hipGraphLaunch(executable, stream), 0);
  ASSERT_EQ(hipStreamEndCapture(stream, &outer), 0);
  EXPECT_THAT(result(), testing::Each(0u));
  ASSERT_EQ(hipGraphInstantiateWithFlags(&executable, outer, 0), 0);
  ASSERT_EQ(hipGraphLaunch(executable, other), 0);
  EXPECT_THAT(result(), testing::Each(6u));
}

// An event belongs to the capture in which it was recorded, not to a later one of the same stream.
TEST_F(HipGraph, ForgetsCapturesThatAreOver) {
  void *event = nullptr, *graph = nullptr;
  ASSERT_EQ(hipEventCreate(&event), 0);
  ASSERT_EQ(hipStreamBeginCapture(stream, globalMode), 0);
  ASSERT_EQ(hipEventRecord(event, stream), 0);
  ASSERT_EQ(hipStreamEndCapture(stream, &graph), 0);
  EXPECT_EQ(hipStreamWaitEvent(other, event, 0), captureIsolation);
  ASSERT_EQ(hipStreamBeginCapture(stream, globalMode), 0);
  EXPECT_EQ(hipStreamWaitEvent(other, event, 0), captureIsolation);
  EXPECT_EQ(hipEventSynchronize(event), 0);
  EXPECT_EQ(hipStreamEndCapture(stream, &graph), 0);
}

// Each of these ends the capture; only the capture's end tells the graph's fate.
TEST_F(HipGraph, ForbidsWhatItCannotRepeat) {
  void *event = nullptr, *graph = nullptr, *more = nullptr;
  ASSERT_EQ(hipEventCreate(&event), 0);
  auto refused = [&](int code, auto action) {
    int status = 0;
    ASSERT_EQ(hipStreamBeginCapture(stream, globalMode), 0);
    EXPECT_EQ(hipEventRecord(event, stream), 0);
    EXPECT_EQ(action(), code);
    EXPECT_EQ(hipStreamIsCapturing(stream, &status), 0);
    EXPECT_EQ(status, 2);
    EXPECT_EQ(launch(1, 100, stream), captureInvalidated);
    EXPECT_EQ(hipStreamEndCapture(stream, &graph), captureInvalidated);
    EXPECT_EQ(graph, nullptr);
  };
  refused(captureUnsupported, [&] { return hipMalloc(&more, 4); });
  refused(captureUnsupported, [&] { return hipFree(memory); });
  refused(captureUnsupported, [&] { return hipDeviceSynchronize(); });
  refused(captureUnsupported, [&] { return hipStreamSynchronize(stream); });
  refused(captureImplicit, [&] { return hipMemset(memory, 1, 4); });
  refused(captureImplicit, [&] { return launch(1, 100, nullptr); });
  refused(capturedEvent, [&] { return hipEventSynchronize(event); });
  EXPECT_THAT(result(), testing::Each(0u));
}

TEST_F(HipGraph, FollowsModes) {
  void *graph = nullptr, *more = nullptr;
  // Another thread may allocate beside a capture of its own thread alone, and anybody beside a relaxed one.
  ASSERT_EQ(hipStreamBeginCapture(stream, threadLocalMode), 0);
  std::thread([&] { EXPECT_EQ(hipMalloc(&more, 4), 0); }).join();
  EXPECT_EQ(hipStreamEndCapture(stream, &graph), 0);
  ASSERT_EQ(hipStreamBeginCapture(stream, relaxedMode), 0);
  EXPECT_EQ(hipMalloc(&more, 4), 0);
  EXPECT_EQ(hipStreamEndCapture(stream, &graph), 0);
  // A thread may leave the rule for itself.
  int mode = relaxedMode;
  ASSERT_EQ(hipThreadExchangeStreamCaptureMode(&mode), 0);
  EXPECT_EQ(mode, globalMode);
  ASSERT_EQ(hipStreamBeginCapture(stream, globalMode), 0);
  EXPECT_EQ(hipMalloc(&more, 4), 0);
  EXPECT_EQ(hipStreamEndCapture(stream, &graph), 0);
  ASSERT_EQ(hipThreadExchangeStreamCaptureMode(&mode), 0);
  mode = 5;
  EXPECT_EQ(hipThreadExchangeStreamCaptureMode(&mode), invalidValue);
}

TEST_F(HipGraph, RefusesMisuse) {
  void *graph = nullptr;
  int status = 0;
  unsigned long long id = 0;
  EXPECT_EQ(hipStreamBeginCapture(nullptr, globalMode), captureUnsupported);
  EXPECT_EQ(hipStreamBeginCapture(stream, 3), invalidValue);
  EXPECT_EQ(hipStreamEndCapture(stream, &graph), illegalState);
  ASSERT_EQ(hipStreamBeginCapture(stream, globalMode), 0);
  EXPECT_EQ(hipStreamBeginCapture(stream, globalMode), illegalState);
  EXPECT_EQ(hipStreamEndCapture(stream, nullptr), invalidValue);
  ASSERT_EQ(hipStreamGetCaptureInfo_v2(stream, &status, &id, &graph, nullptr, nullptr), 0);
  EXPECT_EQ(status, 1);
  EXPECT_NE(id, 0u);
  EXPECT_NE(graph, nullptr);
  EXPECT_EQ(hipStreamGetCaptureInfo_v2(stream, nullptr, &id, &graph, nullptr, nullptr), invalidValue);
  ASSERT_EQ(hipStreamEndCapture(stream, &graph), 0);
  EXPECT_EQ(hipGraphInstantiate(nullptr, graph, nullptr, nullptr, 0), invalidValue);
  EXPECT_EQ(hipGraphInstantiate(&graph, stream, nullptr, nullptr, 0), invalidValue);
}

// The default stream of the per-thread forms is the thread's own, whose work goes where that stream's goes.
TEST_F(HipGraph, CapturesTheThreadsStreamByPerThreadForms) {
  void *memory = nullptr, *graph = nullptr, *executable = nullptr;
  std::array<uint8_t, 64> in, out;
  in.fill(7);
  ASSERT_EQ(hipMalloc(&memory, 64), 0);
  ASSERT_EQ(hipMemset(memory, 0, 64), 0);
  ASSERT_EQ(hipStreamBeginCapture_spt(nullptr, 0), 0);
  int status = 0;
  EXPECT_EQ(hipStreamIsCapturing_spt(nullptr, &status), 0);
  EXPECT_EQ(status, 1);
  EXPECT_EQ(hipMemsetAsync_spt(memory, 1, 16, nullptr), 0);
  EXPECT_EQ(hipMemset2DAsync_spt(static_cast<char *>(memory) + 16, 8, 2, 4, 2, nullptr), 0);
  EXPECT_EQ(hipMemcpyAsync_spt(static_cast<char *>(memory) + 32, in.data(), 8, 1, nullptr), 0);
  EXPECT_EQ(hipMemcpy2DAsync_spt(static_cast<char *>(memory) + 40, 8, in.data(), 8, 3, 2, 1, nullptr), 0);
  ASSERT_EQ(hipStreamEndCapture_spt(nullptr, &graph), 0);
  ASSERT_EQ(hipMemcpy(out.data(), memory, 64, 2), 0);
  EXPECT_THAT(out, testing::Each(0)); // nothing ran yet
  ASSERT_EQ(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0), 0);
  ASSERT_EQ(hipGraphLaunch(executable, nullptr), 0);
  ASSERT_EQ(hipMemcpy(out.data(), memory, 64, 2), 0);
  EXPECT_EQ(out[0], 1);
  EXPECT_EQ(out[15], 1);
  EXPECT_EQ(out[19], 2);
  EXPECT_EQ(out[20], 0);
  EXPECT_EQ(out[27], 2);
  EXPECT_EQ(out[39], 7);
  EXPECT_EQ(out[42], 7);
  EXPECT_EQ(out[43], 0);
  EXPECT_EQ(out[50], 7);
  // At once, where nothing is captured.
  EXPECT_EQ(hipMemset2D_spt(memory, 8, 9, 8, 8), 0);
  EXPECT_EQ(hipMemcpy2D_spt(out.data(), 8, memory, 8, 8, 8, 2), 0);
  EXPECT_THAT(out, testing::Each(9));
}
