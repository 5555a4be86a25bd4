// Loading, finding and launching, and the two holders of state.
#include "Driver.h"
#include "Properties.h"

#include "Simulator/Check.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>

using namespace hocket;
using namespace hocket::hip;

Driver &Driver::get() {
  // Never destroyed: programs call HIP from destructors of their globals, in any order.
  static Driver *driver = new Driver;
  return *driver;
}

Thread &Thread::get() {
  thread_local Thread thread;
  return thread;
}

/// A number from the environment, or `otherwise`.
static uint64_t setting(const char *name, uint64_t otherwise) {
  const char *text = std::getenv(name);
  if (!text || !*text)
    return otherwise;
  return std::strtoull(text, nullptr, 0);
}

Driver::Driver()
    : memory(deviceMemoryBytes(simulatedChip())), modules(0), functions(2), streams(4), events(6),
      graphs(1), executables(3) {
  settings.log = static_cast<unsigned>(setting("HOCKET_HIP_LOG", 1));
  settings.check = setting("HOCKET_HIP_CHECK", 0) != 0;
  settings.seed = setting("HOCKET_HIP_SEED", 0);
  settings.hang = setting("HOCKET_HIP_HANG_LIMIT", 0);
  startClock();
}

/// HOCKET_HIP_CLOCK=model or model:KEY=VALUE,...
void Driver::startClock() {
  const char *text = std::getenv("HOCKET_HIP_CLOCK");
  std::string_view wanted = text ? text : "";
  constexpr std::string_view model = "model";
  if (wanted.empty() || wanted == "host")
    return;
  if (!wanted.starts_with(model) || (wanted.size() > model.size() && wanted[model.size()] != ':'))
    return say(1, "HOCKET_HIP_CLOCK is '" + std::string(wanted) +
                      "', expected 'host', 'model' or 'model:KEY=VALUE,...'; the clock is the host's");
  wanted.remove_prefix(std::min(model.size() + 1, wanted.size()));
  if (Status status = clock.useModel(std::string(wanted)); !status.ok())
    say(1, "HOCKET_HIP_CLOCK: " + status.error().message);
}

const char *hip::loadedFrom() {
  Dl_info self = {};
  if (dladdr(reinterpret_cast<void *>(&Driver::get), &self) == 0)
    return nullptr;
  return self.dli_fname;
}

unsigned hip::hipMajor() {
  const char *path = loadedFrom();
  if (!path)
    return newestHip;
  const char *slash = std::strrchr(path, '/');
  const char *suffix = std::strstr(slash ? slash : path, ".so.");
  const unsigned long major = suffix ? std::strtoul(suffix + 4, nullptr, 10) : 0;
  return major >= oldestHip && major <= newestHip ? static_cast<unsigned>(major) : newestHip;
}

void Driver::say(unsigned level, const std::string &text) const {
  if (settings.log >= level)
    std::fprintf(stderr, "libhocket_hip: %s\n", text.c_str());
}

void Driver::sayMissing(const char *name) {
  std::lock_guard lock(missing.mutex);
  if (missing.names.insert(name).second)
    say(1, std::string(name) + " is not supported");
}

Outcome Driver::load(const void *image, uint64_t size, std::string name,
                     std::shared_ptr<Module> &module) {
  FoundImage found = findCodeObject(image, size);
  if (!found.codeObject)
    return {found.fault == ImageFault::NoBinaryForGpu ? hipErrorNoBinaryForGpu
                                                      : hipErrorInvalidImage,
            std::move(found.message)};
  auto parsed = sim::CodeObject::load(*found.codeObject, name);
  if (!parsed)
    return {parsed.error().kind == ErrorKind::Unsupported ? hipErrorNoBinaryForGpu
                                                          : hipErrorInvalidImage,
            parsed.error()};
  const std::string chip(simulatedChip().name);
  if ((*parsed)->architecture() != chip)
    return {hipErrorNoBinaryForGpu, "code object '" + name + "' is for " +
                                        (*parsed)->architecture() + "; compile it for " + chip};
  auto program = sim::Program::load(memory, *std::move(parsed));
  if (!program)
    return {hipErrorOutOfMemory, program.error()};
  module = std::make_shared<Module>(
      Module{std::move(name), *std::move(found.codeObject), *std::move(program)});
  return hipSuccess;
}

Outcome Driver::load(FatBinary &binary, std::shared_ptr<Module> &module) {
  if (!binary.module)
    if (Outcome outcome = load(binary.image, unknownSize, "program", binary.module); !outcome.ok())
      return outcome;
  module = binary.module;
  return hipSuccess;
}

Outcome Driver::findFunction(const void *hostFunction, Function &function) {
  auto it = hostFunctions.find(hostFunction);
  if (it == hostFunctions.end())
    return {hipErrorInvalidDeviceFunction, "no kernel stands behind this function; pass the "
                                           "address of a __global__ function"};
  if (Outcome outcome = load(*it->second.binary, function.module); !outcome.ok())
    return outcome;
  auto index = function.module->program->codeObject().kernelIndex(it->second.name);
  if (!index)
    return {hipErrorInvalidDeviceFunction, index.error()};
  function.kernel = *index;
  return hipSuccess;
}

Outcome Driver::findVariable(const void *hostVariable, uint64_t &address, uint64_t &bytes) {
  auto it = hostVariables.find(hostVariable);
  if (it == hostVariables.end())
    return {hipErrorInvalidSymbol,
            "no device variable stands behind this address; pass that of a __device__ variable"};
  std::shared_ptr<Module> module;
  if (Outcome outcome = load(*it->second.binary, module); !outcome.ok())
    return outcome;
  auto variable = hip::findVariable(module->bytes, it->second.name);
  if (!variable)
    return {hipErrorInvalidSymbol, "the program has no device variable '" + it->second.name + "'"};
  address = module->program->base() + variable->address;
  bytes = variable->bytes;
  return hipSuccess;
}

Outcome Driver::checkStream(const void *handle) const {
  const auto value = reinterpret_cast<uintptr_t>(handle);
  if (value == 0 || value == streamLegacy || value == streamPerThread || streams.find(handle))
    return hipSuccess;
  return {hipErrorInvalidHandle, "the stream was destroyed or never made"};
}

const void *hip::captureKey(const void *stream) {
  return reinterpret_cast<uintptr_t>(stream) == streamPerThread ? &Thread::get() : stream;
}

std::shared_ptr<Capture> Driver::captureOf(const void *stream) const {
  auto it = captures.find(captureKey(stream));
  return it == captures.end() ? nullptr : it->second;
}

std::shared_ptr<Capture> Driver::openCapture(uint64_t id) const {
  for (auto &[stream, capture] : captures)
    if (capture->id == id)
      return capture;
  return nullptr;
}

/// Whether `capture` forbids calls of `thread` that a graph cannot repeat.
static bool forbids(const Capture &capture, const Thread &thread) {
  if (thread.captureMode == CaptureMode::Relaxed || capture.mode == CaptureMode::Relaxed)
    return false;
  return capture.thread == &thread ||
         (capture.mode == CaptureMode::Global && thread.captureMode == CaptureMode::Global);
}

Outcome Driver::checkOutsideCapture(const char *what) {
  for (auto &[stream, capture] : captures)
    if (forbids(*capture, Thread::get())) {
      capture->valid = false;
      return {hipErrorStreamCaptureUnsupported,
              std::string(what) + " is not allowed while a stream is captured; do it before "
                                  "hipStreamBeginCapture, or capture in relaxed mode"};
    }
  return hipSuccess;
}

Outcome Driver::enqueue(const void *stream, std::function<Outcome(Driver &)> device) {
  if (Outcome outcome = checkStream(stream); !outcome.ok())
    return outcome;
  std::shared_ptr<Capture> capture = captureOf(stream);
  if (!capture) {
    const bool isDefault = reinterpret_cast<uintptr_t>(stream) <= streamLegacy;
    Outcome outside = isDefault ? checkOutsideCapture("work in the default stream") : Outcome(hipSuccess);
    if (outside.ok())
      return device(*this);
    return {hipErrorStreamCaptureImplicit, std::move(outside.reason)};
  }
  if (!capture->valid)
    return {hipErrorStreamCaptureInvalidated, "an error ended the capture of this stream"};
  capture->graph->work.push_back({std::move(device), {}});
  return hipSuccess;
}

Outcome Driver::launch(const Function &function, const runtime::LaunchShape &shape,
                       std::span<const std::byte> kernarg) {
  if (fault)
    return *fault;
  const runtime::KernelInfo &kernel = function.info();
  runtime::DeviceProperties device;
  device.name = deviceName();
  device.maxLdsPerWorkgroup = simulatedChip().lds.bytesPerWorkgroup;
  if (Status status = runtime::checkLaunch(kernel, device, shape, kernarg.size()); !status)
    return {kernarg.size() < kernel.explicitKernargSize() ? hipErrorInvalidValue
                                                          : hipErrorInvalidConfiguration,
            status.error()};
  if (Status status = clock.pass(function.module->times, *function.module->program, function.kernel, shape, kernarg); !status)
    say(1, "kernel '" + kernel.name + "': " + status.error().message);
  sim::LaunchOptions options;
  options.seed = settings.seed;
  options.maxSeconds = static_cast<double>(settings.hang);
  auto run = settings.check ? sim::launchChecked : sim::launch;
  auto report = run(*function.module->program, function.kernel, shape, kernarg, options);
  if (!report)
    say(1, "kernel '" + kernel.name + "': " + report.error().message);
  else
    for (const runtime::Finding &finding : groupFindings(report->findings))
      say(1, describeFinding(finding));
  if (report && !hasErrors(report->findings))
    return hipSuccess;
  if (!report && report.error().kind == ErrorKind::Unsupported)
    return {hipErrorNotSupported, report.error()};
  fault = Outcome(hipErrorLaunchFailure, "kernel '" + kernel.name + "' failed");
  return *fault;
}

void Driver::reset() {
  functions.clear();
  modules.clear();
  streams.clear();
  events.clear();
  captures.clear();
  graphs.clear();
  executables.clear();
  for (auto &[binary, owner] : binaries)
    owner->module.reset();
  for (uint64_t address : allocations)
    (void)memory.free(address).ok();
  allocations.clear();
  pools = Pools();
  for (auto &[address, host] : hostMemory) {
    (void)memory.free(address).ok();
    if (host.pages)
      munmap(host.pages, host.bytes);
  }
  hostMemory.clear();
  fault.reset();
}

extern "C" int hocket_hip_missing(const char *name) {
  Driver::get().sayMissing(name);
  return Thread::get().lastError = hipErrorNotSupported;
}
