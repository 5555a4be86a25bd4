// A jump buffer per thread and one handler per process.
#include "Hardening/FatalErrorGuard.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/PrettyStackTrace.h"
#include "llvm/Support/raw_ostream.h"

#include <csetjmp>
#include <mutex>

namespace hocket {

namespace {

/// Where a fatal error of this thread goes.
struct Landing {
  std::jmp_buf buffer;
  std::string *message = nullptr;
};

} // namespace

static thread_local Landing *currentLanding = nullptr;

static void handleFatalError(void *, const char *reason, bool) {
  Landing *landing = currentLanding;
  if (!landing) {
    // Nobody guards this thread: say what LLVM would have said; it ends the process when we return.
    llvm::errs() << "LLVM ERROR: " << reason << '\n';
    return;
  }
  *landing->message = reason;
  std::longjmp(landing->buffer, 1);
}

bool runGuarded(llvm::function_ref<void()> work, std::string &message) {
  static std::once_flag installed;
  std::call_once(installed, [] { llvm::install_fatal_error_handler(handleFatalError); });

  Landing landing;
  landing.message = &message;
  const void *const traceHead = llvm::SavePrettyStackState();
  if (setjmp(landing.buffer) != 0) {
    llvm::RestorePrettyStackState(traceHead);
    currentLanding = nullptr;
    return false;
  }
  currentLanding = &landing;
  work();
  currentLanding = nullptr;
  return true;
}

} // namespace hocket
