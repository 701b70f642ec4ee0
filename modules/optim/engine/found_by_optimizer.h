#pragma once
#include <mutex>
#include <unordered_map>
#include <utility>

namespace torch::optim {
class Optimizer;
}

namespace levin::optim::detail {

/// Base of a class T whose objects stand between a module and the tensors that an optimizer steps: `T::of(optimizer)`
/// finds the object of an optimizer. Thread-safe.
template <class T>
class FoundByOptimizer {
 public:
  /// Returns null if there is none.
  static const T* of(const torch::optim::Optimizer& optimizer) {
    const std::lock_guard lock(all().mutex);
    const auto found = all().objects.find(&optimizer);
    return found == all().objects.end() ? nullptr : static_cast<const T*>(found->second);
  }

 protected:
  explicit FoundByOptimizer(const torch::optim::Optimizer& optimizer) : optimizer_(&optimizer) {
    const std::lock_guard lock(all().mutex);
    all().objects[optimizer_] = this;
  }
  FoundByOptimizer(FoundByOptimizer&& other) noexcept : optimizer_(std::exchange(other.optimizer_, nullptr)) {
    const std::lock_guard lock(all().mutex);
    if (optimizer_ != nullptr) all().objects.at(optimizer_) = this;
  }
  FoundByOptimizer& operator=(FoundByOptimizer&&) = delete;
  ~FoundByOptimizer() {
    const std::lock_guard lock(all().mutex);
    if (optimizer_ != nullptr) all().objects.erase(optimizer_);
  }

 private:
  struct All {
    std::mutex mutex;
    std::unordered_map<const torch::optim::Optimizer*, const FoundByOptimizer*> objects;
  };
  static All& all() {
    static All all;
    return all;
  }

  const torch::optim::Optimizer* optimizer_;
};

}  // namespace levin::optim::detail
