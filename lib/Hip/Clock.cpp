// The clock that events read: the host's, or one that moves by what the cycle model predicts for each launch.
//
// A prediction executes workgroups and so writes memory. It is made in a child process, whose memory is a copy; the
// launch itself then runs as it does without this clock. Copies and fills take no model time.
#include "Clock.h"

#include "Simulator/GridTime.h"

#include <cerrno>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

using namespace hocket;
using namespace hocket::hip;

Status Clock::useModel(const std::string &parameters) {
  isModel = true;
  for (std::string_view rest = parameters; !rest.empty();) {
    const size_t end = std::min(rest.find(','), rest.size());
    if (Status status = model.set(rest.substr(0, end)); !status.ok())
      return status;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return Status::success();
}

std::chrono::steady_clock::time_point Clock::now() const {
  using std::chrono::steady_clock;
  if (!isModel)
    return steady_clock::now();
  return steady_clock::time_point(
      std::chrono::duration_cast<steady_clock::duration>(std::chrono::duration<double, std::micro>(microseconds)));
}

/// What the child process has to say.
namespace {
struct Message {
  double microseconds = -1; ///< below 0: an error
  char error[512] = {};
};
} // namespace

static Message predictHere(sim::Program &program, size_t kernel, const runtime::LaunchShape &shape,
                           std::span<const std::byte> kernarg, const sim::TimeParameters &parameters) {
  sim::TimingOptions options;
  options.parameters = parameters;
  Message message;
  Result<sim::GridTime> grid = sim::predictGrid(program, kernel, shape, kernarg, options);
  if (grid.ok())
    message.microseconds = grid->microseconds;
  else
    std::strncpy(message.error, grid.error().message.c_str(), sizeof(message.error) - 1);
  return message;
}

/// Reads a whole message; false: its writer ended before.
static bool receive(int from, Message &message) {
  auto *at = reinterpret_cast<char *>(&message);
  size_t left = sizeof(message);
  while (left != 0) {
    const ssize_t count = ::read(from, at, left);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    at += count, left -= static_cast<size_t>(count);
  }
  return true;
}

Result<double> Clock::predict(sim::Program &program, size_t kernel, const runtime::LaunchShape &shape,
                              std::span<const std::byte> kernarg) const {
  int ends[2];
  if (::pipe(ends) != 0)
    return hostError(std::string("no pipe for a prediction: ") + std::strerror(errno));
  const pid_t child = ::fork();
  if (child == 0) {
    const Message message = predictHere(program, kernel, shape, kernarg, model);
    const ssize_t written = ::write(ends[1], &message, sizeof(message));
    ::_exit(written == sizeof(message) ? 0 : 1);
  }
  ::close(ends[1]);
  Message message;
  const bool complete = child > 0 && receive(ends[0], message);
  ::close(ends[0]);
  if (child < 0)
    return hostError(std::string("no process for a prediction: ") + std::strerror(errno));
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR)
    ;
  if (!complete)
    return hostError("the process that predicts a launch ended without a result");
  if (message.microseconds < 0)
    return executionError(message.error);
  return message.microseconds;
}

Status Clock::pass(LaunchTimes &known, sim::Program &program, size_t kernel, const runtime::LaunchShape &shape,
                   std::span<const std::byte> kernarg) {
  if (!isModel)
    return Status::success();
  LaunchTimes::key_type key{kernel, {shape.grid.x, shape.grid.y, shape.grid.z}, {kernarg.begin(), kernarg.end()}};
  auto found = known.find(key);
  if (found == known.end()) {
    Result<double> time = predict(program, kernel, shape, kernarg);
    if (!time.ok())
      return time.error();
    found = known.emplace(std::move(key), *time).first;
  }
  microseconds += found->second;
  return Status::success();
}
