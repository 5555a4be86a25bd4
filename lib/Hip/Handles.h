// Tables of what HIP calls handles. A handle is a number in disguise that is never used again, so
// that a stale or foreign one is found and not followed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

namespace hocket::hip {

/// Live objects by handle. Handles of one table are all of one residue, so that no handle is valid
/// in two tables, and none is one of HIP's small predefined values.
template <typename T> class Handles {
public:
  explicit Handles(uintptr_t residue) : next(0x1000 + residue) {}

  void *insert(std::shared_ptr<T> object) {
    void *handle = reinterpret_cast<void *>(next);
    next += 8;
    objects.emplace(handle, std::move(object));
    return handle;
  }
  /// The object behind `handle`, or null.
  std::shared_ptr<T> find(const void *handle) const {
    auto it = objects.find(handle);
    return it == objects.end() ? nullptr : it->second;
  }
  bool erase(const void *handle) { return objects.erase(handle) != 0; }
  template <typename Predicate> void eraseIf(Predicate predicate) {
    std::erase_if(objects, [&](const auto &entry) { return predicate(*entry.second); });
  }
  void clear() { objects.clear(); }

private:
  std::map<const void *, std::shared_ptr<T>> objects;
  uintptr_t next;
};

} // namespace hocket::hip
