#include <levin/trainer/precision/true_precision.h>
#include <c10/core/DefaultDtype.h>
#include <levin/core/system/console.h>

#include <list>
#include <mutex>

namespace levin {
namespace {

/// Makes a dtype LibTorch's default while it lives. The process has one default: the newest of those that live, in any
/// thread; after them, the one from before.
class DefaultDtype {
 public:
  explicit DefaultDtype(at::ScalarType dtype) {
    const std::lock_guard lock(mutex());
    if (all().empty()) before() = c10::get_default_dtype();
    shares_ = !all().empty() && all().back() != dtype;
    place_ = all().insert(all().end(), dtype);
    c10::set_default_dtype(c10::scalarTypeToTypeMeta(dtype));
  }
  ~DefaultDtype() {
    const std::lock_guard lock(mutex());
    all().erase(place_);
    c10::set_default_dtype(all().empty() ? before() : c10::scalarTypeToTypeMeta(all().back()));
  }
  DefaultDtype(const DefaultDtype&) = delete;
  DefaultDtype& operator=(const DefaultDtype&) = delete;

  /// Returns whether another step, with another dtype, was in progress.
  bool shares() const { return shares_; }

 private:
  static std::mutex& mutex() {
    static std::mutex mutex;
    return mutex;
  }
  static std::list<at::ScalarType>& all() {
    static std::list<at::ScalarType> all;
    return all;
  }
  static caffe2::TypeMeta& before() {
    static caffe2::TypeMeta before;
    return before;
  }

  bool shares_ = false;
  std::list<at::ScalarType>::iterator place_ = {};
};

}  // namespace

void TruePrecision::forward_context(c10::function_ref<void()> step) const {
  if (!sets_default_dtype_) {
    step();
    return;
  }
  const DefaultDtype default_dtype(dtype_);
  if (default_dtype.shares())
    console::warn(
        "runs of different precisions are in a step at the same time, and LibTorch has one default dtype for the "
        "process: name the dtype of each tensor that a step makes, and set trainer.keep_torch_settings");
  step();
}

}  // namespace levin
