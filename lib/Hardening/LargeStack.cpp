// POSIX threads and not llvm::thread, which ends the process where a thread cannot be made.
#include "Hardening/LargeStack.h"

#include <pthread.h>

static void *runWork(void *work) {
  (*static_cast<llvm::function_ref<void()> *>(work))();
  return nullptr;
}

/// Starts a thread on `work`; false if that cannot be done.
static bool start(pthread_t &thread, llvm::function_ref<void()> &work) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0)
    return false;
  bool started = pthread_attr_setstacksize(&attributes, hocket::kLargeStack) == 0 &&
                 pthread_create(&thread, &attributes, runWork, &work) == 0;
  pthread_attr_destroy(&attributes);
  return started;
}

void hocket::runOnLargeStack(llvm::function_ref<void()> work) {
  pthread_t thread;
  if (!start(thread, work))
    return work();
  pthread_join(thread, nullptr);
}
