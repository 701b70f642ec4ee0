#pragma once
#include <levin/core/system/error.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

namespace levin::c {

/// Returns a number that it has not returned before, above 0.
uintptr_t next_handle_number();

/// The objects behind the handles of one kind. A handle is a number that no other handle of any kind ever has, so that
/// one that was destroyed is known as such; nobody follows it as a pointer. A table of handles is never destroyed: what
/// a host has left in it stays alone at exit, when LibTorch's own objects may be gone.
template <class Handle, class Object>
class Handles {
 public:
  /// `kind`: "a session", for errors.
  explicit Handles(const char* kind) : kind_(kind) {}

  Handle* add(std::shared_ptr<Object> object) {
    const std::unique_lock lock(mutex_);
    const uintptr_t number = next_handle_number();
    objects_.emplace(number, std::move(object));
    return reinterpret_cast<Handle*>(number);
  }
  /// Throws levin::UsageError for a handle that is null, was destroyed, or is of another kind.
  std::shared_ptr<Object> at(const Handle* handle) const {
    {
      const std::shared_lock lock(mutex_);
      const auto found = objects_.find(reinterpret_cast<uintptr_t>(handle));
      if (found != objects_.end()) return found->second;
    }
    throw UsageError("the handle is not that of ", kind_, handle == nullptr ? ": it is null" : ", or was destroyed");
  }
  /// Returns the object, which has no handle any more; null if there was none.
  std::shared_ptr<Object> take(const Handle* handle) {
    const std::unique_lock lock(mutex_);
    const auto found = objects_.find(reinterpret_cast<uintptr_t>(handle));
    if (found == objects_.end()) return nullptr;
    std::shared_ptr<Object> object = std::move(found->second);
    objects_.erase(found);
    return object;
  }

 private:
  const char* kind_;
  mutable std::shared_mutex mutex_ = {};
  std::unordered_map<uintptr_t, std::shared_ptr<Object>> objects_ = {};
};

}  // namespace levin::c
