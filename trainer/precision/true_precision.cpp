#include <levin/trainer/precision/true_precision.h>
#include <c10/core/DefaultDtype.h>

namespace levin {
namespace {

class DefaultDtype {
 public:
  explicit DefaultDtype(at::ScalarType dtype) { c10::set_default_dtype(c10::scalarTypeToTypeMeta(dtype)); }
  ~DefaultDtype() { c10::set_default_dtype(before_); }
  DefaultDtype(const DefaultDtype&) = delete;
  DefaultDtype& operator=(const DefaultDtype&) = delete;

 private:
  caffe2::TypeMeta before_ = c10::get_default_dtype();
};

}  // namespace

void TruePrecision::forward_context(c10::function_ref<void()> step) const {
  const DefaultDtype default_dtype(dtype_);
  step();
}

}  // namespace levin
