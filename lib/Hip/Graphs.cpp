// Graphs and the capture of streams. A graph is the work of the captured streams in the order in which it was given;
// launching it does that work again. Graphs that a program builds node by node are not there.
#include "Driver.h"

using namespace hocket;
using namespace hocket::hip;

enum CaptureStatus : int { captureNone, captureActive, captureInvalidated };

static CaptureStatus statusOf(const Capture *capture) {
  if (!capture)
    return captureNone;
  return capture->valid ? captureActive : captureInvalidated;
}

static Outcome findGraph(const Handles<Graph> &table, const void *handle, std::shared_ptr<Graph> &graph) {
  graph = table.find(handle);
  if (graph)
    return hipSuccess;
  return {hipErrorInvalidValue, "the graph was destroyed or never made"};
}

static Outcome beginCapture(Driver &driver, const void *stream, int mode) {
  if (Outcome outcome = driver.checkStream(stream); !outcome.ok())
    return outcome;
  if (mode < int(CaptureMode::Global) || mode > int(CaptureMode::Relaxed))
    return {hipErrorInvalidValue, "capture mode " + std::to_string(mode) + " is unknown; 0, 1 and 2 are known"};
  if (reinterpret_cast<uintptr_t>(stream) <= streamLegacy)
    return {hipErrorStreamCaptureUnsupported, "the default stream cannot be captured; make a stream"};
  if (driver.captureOf(stream))
    return {hipErrorIllegalState, "the stream is captured already"};
  auto capture = std::make_shared<Capture>();
  *capture = {++driver.lastCapture, captureKey(stream),        &Thread::get(), CaptureMode(mode),
              /*valid=*/true,       /*handle=*/nullptr, std::make_shared<Graph>()};
  capture->handle = driver.graphs.insert(capture->graph);
  driver.captures[capture->origin] = capture;
  return hipSuccess;
}

static Outcome endCapture(Driver &driver, const void *stream, void **graph) {
  if (Outcome outcome = needPointers(graph); !outcome.ok())
    return outcome;
  *graph = nullptr;
  if (Outcome outcome = driver.checkStream(stream); !outcome.ok())
    return outcome;
  std::shared_ptr<Capture> capture = driver.captureOf(stream);
  if (!capture)
    return {hipErrorIllegalState, "the stream is not captured"};
  if (capture->origin != captureKey(stream))
    return {hipErrorStreamCaptureUnmatched, "the capture was begun in another stream; end it there"};
  if (capture->mode != CaptureMode::Relaxed && capture->thread != &Thread::get())
    return {hipErrorStreamCaptureWrongThread, "the capture was begun by another thread; end it there"};
  std::erase_if(driver.captures, [&](const auto &entry) { return entry.second == capture; });
  if (!capture->valid) {
    driver.graphs.erase(capture->handle);
    return {hipErrorStreamCaptureInvalidated, "an error ended the capture"};
  }
  *graph = capture->handle;
  return hipSuccess;
}

/// What hipStreamGetCaptureInfo and its second version tell; a null place is not asked for. There are no nodes to
/// depend on.
static int captureInfo(const char *name, const void *stream, int *status, uint64_t *id, void **graph,
                       const void ***dependences, size_t *count) {
  return call(name, [&](Driver &driver) -> Outcome {
    if (Outcome outcome = needPointers(status); !outcome.ok())
      return outcome;
    if (Outcome outcome = driver.checkStream(stream); !outcome.ok())
      return outcome;
    std::shared_ptr<Capture> capture = driver.captureOf(stream);
    *status = statusOf(capture.get());
    if (id)
      *id = capture ? capture->id : 0;
    if (graph)
      *graph = capture ? capture->handle : nullptr;
    if (dependences)
      *dependences = nullptr;
    if (count)
      *count = 0;
    return hipSuccess;
  });
}

static int instantiate(const char *name, void **executable, const void *handle) {
  return call(name, [&](Driver &driver) -> Outcome {
    if (Outcome outcome = needPointers(executable); !outcome.ok())
      return outcome;
    *executable = nullptr;
    std::shared_ptr<Graph> graph;
    if (Outcome outcome = findGraph(driver.graphs, handle, graph); !outcome.ok())
      return outcome;
    *executable = driver.executables.insert(std::make_shared<Graph>(*graph));
    return hipSuccess;
  });
}

/// Does the graph's work, each piece as a call of its own: functions of the host run outside of the lock.
static int launchGraph(const char *name, const void *executable, const void *stream) {
  std::shared_ptr<Graph> graph;
  bool captured = false;
  const int code = call(name, [&](Driver &driver) -> Outcome {
    if (Outcome outcome = findGraph(driver.executables, executable, graph); !outcome.ok())
      return outcome;
    if (Outcome outcome = driver.checkStream(stream); !outcome.ok())
      return outcome;
    std::shared_ptr<Capture> capture = driver.captureOf(stream);
    captured = capture != nullptr;
    if (captured)
      capture->graph->work.insert(capture->graph->work.end(), graph->work.begin(), graph->work.end());
    return hipSuccess;
  });
  if (code != hipSuccess || captured)
    return code;
  for (const Work &work : graph->work) {
    if (work.host)
      work.host();
    else if (int failed = call(name, [&](Driver &driver) { return work.device(driver); }))
      return failed;
  }
  return hipSuccess;
}

extern "C" {

int hipStreamBeginCapture(void *stream, int mode) {
  return call("hipStreamBeginCapture", [&](Driver &driver) { return beginCapture(driver, stream, mode); });
}
int hipStreamBeginCapture_spt(void *stream, int mode) { return hipStreamBeginCapture(ofThread(stream), mode); }
int hipStreamEndCapture(void *stream, void **graph) {
  return call("hipStreamEndCapture", [&](Driver &driver) { return endCapture(driver, stream, graph); });
}
int hipStreamEndCapture_spt(void *stream, void **graph) { return hipStreamEndCapture(ofThread(stream), graph); }
int hipStreamIsCapturing(void *stream, int *status) {
  return captureInfo("hipStreamIsCapturing", stream, status, nullptr, nullptr, nullptr, nullptr);
}
int hipStreamIsCapturing_spt(void *stream, int *status) { return hipStreamIsCapturing(ofThread(stream), status); }
int hipStreamGetCaptureInfo(void *stream, int *status, uint64_t *id) {
  return captureInfo("hipStreamGetCaptureInfo", stream, status, id, nullptr, nullptr, nullptr);
}
int hipStreamGetCaptureInfo_spt(void *stream, int *status, uint64_t *id) {
  return hipStreamGetCaptureInfo(ofThread(stream), status, id);
}
int hipStreamGetCaptureInfo_v2(void *stream, int *status, uint64_t *id, void **graph, const void ***dependences,
                               size_t *count) {
  return captureInfo("hipStreamGetCaptureInfo_v2", stream, status, id, graph, dependences, count);
}
int hipStreamGetCaptureInfo_v2_spt(void *stream, int *status, uint64_t *id, void **graph, const void ***dependences,
                                   size_t *count) {
  return hipStreamGetCaptureInfo_v2(ofThread(stream), status, id, graph, dependences, count);
}
int hipThreadExchangeStreamCaptureMode(int *mode) {
  return call("hipThreadExchangeStreamCaptureMode", [&](Driver &) -> Outcome {
    if (Outcome outcome = needPointers(mode); !outcome.ok())
      return outcome;
    if (*mode < int(CaptureMode::Global) || *mode > int(CaptureMode::Relaxed))
      return {hipErrorInvalidValue, "capture mode " + std::to_string(*mode) + " is unknown; 0, 1 and 2 are known"};
    const CaptureMode before = std::exchange(Thread::get().captureMode, CaptureMode(*mode));
    *mode = int(before);
    return hipSuccess;
  });
}

int hipGraphCreate(void **graph, unsigned) {
  return call("hipGraphCreate", [&](Driver &driver) {
    const Outcome valid = needPointers(graph);
    if (valid.ok())
      *graph = driver.graphs.insert(std::make_shared<Graph>());
    return valid;
  });
}
int hipGraphDestroy(void *graph) {
  return call("hipGraphDestroy", [&](Driver &driver) -> Outcome {
    if (driver.graphs.erase(graph))
      return hipSuccess;
    return {hipErrorInvalidValue, "the graph was destroyed before or never made"};
  });
}
/// With null `nodes` their number is asked for. They have no handles, so that no more can be known of them.
int hipGraphGetNodes(void *handle, void **nodes, size_t *count) {
  return call("hipGraphGetNodes", [&](Driver &driver) -> Outcome {
    if (Outcome outcome = needPointers(count); !outcome.ok())
      return outcome;
    std::shared_ptr<Graph> graph;
    if (Outcome outcome = findGraph(driver.graphs, handle, graph); !outcome.ok())
      return outcome;
    if (nodes)
      return {hipErrorNotSupported, "the nodes of a captured graph cannot be asked for, only their number"};
    *count = graph->work.size();
    return hipSuccess;
  });
}
int hipGraphInstantiate(void **executable, void *graph, void **, char *, size_t) {
  return instantiate("hipGraphInstantiate", executable, graph);
}
int hipGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long) {
  return instantiate("hipGraphInstantiateWithFlags", executable, graph);
}
int hipGraphUpload(void *executable, void *stream) {
  return call("hipGraphUpload", [&](Driver &driver) {
    std::shared_ptr<Graph> graph;
    const Outcome valid = findGraph(driver.executables, executable, graph);
    return valid.ok() ? driver.checkStream(stream) : valid;
  });
}
int hipGraphLaunch(void *executable, void *stream) { return launchGraph("hipGraphLaunch", executable, stream); }
int hipGraphLaunch_spt(void *executable, void *stream) { return launchGraph("hipGraphLaunch_spt", executable, ofThread(stream)); }
int hipGraphExecDestroy(void *executable) {
  return call("hipGraphExecDestroy", [&](Driver &driver) -> Outcome {
    if (driver.executables.erase(executable))
      return hipSuccess;
    return {hipErrorInvalidValue, "the graph was destroyed before or never instantiated"};
  });
}
}
