#include <levin/modules/adapters/adapted_weight.h>
#include <ATen/ops/_to_copy.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/permute.h>
#include <ATen/ops/t.h>
#include <ATen/ops/transpose.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <levin/modules/adapters/held_product.h>
#include <torch/library.h>

#include <optional>
#include <utility>

namespace levin::adapters {
namespace {

/// Adapted weights have this key, which LibTorch does not use. It comes before autograd, autocast and the tracer, and
/// before the key by which fsdp gathers what an operation uses: the operations on the factors are seen by all of them.
constexpr c10::DispatchKey kKey = c10::DispatchKey::TESTING_ONLY_GenericWrapper;

struct Adapted : c10::BackendMeta {
  Adapted(std::shared_ptr<LowRankAdapter> adapter_, bool is_transposed_)
      : adapter(std::move(adapter_)), is_transposed(is_transposed_) {}

  std::shared_ptr<LowRankAdapter> adapter;
  bool is_transposed;
};

Adapted* adapted(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.key_set().has(kKey)) return nullptr;
  return dynamic_cast<Adapted*>(tensor.unsafeGetTensorImpl()->get_backend_meta());
}

/// Gives `tensor` the key and `adapted`, or takes both.
void mark(const at::Tensor& tensor, c10::intrusive_ptr<Adapted> how) {
  c10::TensorImpl* const now = tensor.unsafeGetTensorImpl();
  const c10::DispatchKeySet keys = how ? now->key_set().add(kKey) : now->key_set().remove(kKey);
  const auto marked = c10::make_intrusive<c10::TensorImpl>(c10::Storage(now->storage()), keys, now->dtype());
  marked->set_sizes_and_strides(now->sizes(), now->strides(), now->storage_offset());
  now->shallow_copy_from(marked);
  now->set_backend_meta(std::move(how));
}

/// Returns `view`, of an adapted weight, as its transpose.
at::Tensor transposed(at::Tensor view, const Adapted* of) {
  if (of != nullptr)
    view.unsafeGetTensorImpl()->set_backend_meta(c10::make_intrusive<Adapted>(of->adapter, !of->is_transposed));
  return view;
}

/// Returns what an operation computes that multiplies `input` by `weight`, as a weight [in, out] (`by_stored`) or by
/// the transpose of one [out, in]. `plain` is the operation itself.
at::Tensor compute(const at::Tensor& input, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                   bool by_stored, LowRankAdapter::Layer plain) {
  const Adapted* const one = adapted(weight);
  if (one == nullptr) return plain(input, bias);
  LowRankAdapter& adapter = *one->adapter;
  const bool is_stored = one->is_transposed == adapter.shape.is_transposed;  // and no view that is its transpose
  const at::Tensor stored = is_stored ? weight : weight.t();
  const auto layer = [&](const at::Tensor& x, const std::optional<at::Tensor>& added) {
    if (!adapter.held) return plain(x, added);
    const at::Tensor product = held_product(x, stored, *adapter.held, /*by_transpose=*/is_stored != by_stored);
    return added ? product + added->to(product.scalar_type()) : product;
  };
  if (one->is_transposed != by_stored) return layer(input, bias);
  return adapter.compute(input, bias, stored, layer);
}

at::Tensor linear(const at::Tensor& input, const at::Tensor& weight, const std::optional<at::Tensor>& bias) {
  const c10::impl::ExcludeDispatchKeyGuard alone(kKey);
  const bool has_bias = bias && bias->defined();  // a module without one may give an undefined tensor
  return compute(input, weight, has_bias ? bias : std::nullopt, /*by_stored=*/false,
                 [&](const at::Tensor& x, const std::optional<at::Tensor>& b) { return at::linear(x, weight, b); });
}

at::Tensor matmul(const at::Tensor& input, const at::Tensor& weight) {
  const c10::impl::ExcludeDispatchKeyGuard alone(kKey);
  return compute(input, weight, std::nullopt, /*by_stored=*/true,
                 [&](const at::Tensor& x, const std::optional<at::Tensor>& /*bias*/) { return at::matmul(x, weight); });
}

at::Tensor mm(const at::Tensor& input, const at::Tensor& weight) {
  const c10::impl::ExcludeDispatchKeyGuard alone(kKey);
  return compute(input, weight, std::nullopt, /*by_stored=*/true,
                 [&](const at::Tensor& x, const std::optional<at::Tensor>& /*bias*/) { return at::mm(x, weight); });
}

at::Tensor addmm(const at::Tensor& bias, const at::Tensor& input, const at::Tensor& weight, const at::Scalar& beta,
                 const at::Scalar& alpha) {
  const c10::impl::ExcludeDispatchKeyGuard alone(kKey);
  if (adapted(weight) == nullptr) return at::addmm(bias, input, weight, beta, alpha);
  return compute(alpha.equal(1) ? input : input * alpha, weight, beta.equal(1) ? bias : bias * beta, /*by_stored=*/true,
                 [&](const at::Tensor& x, const std::optional<at::Tensor>& b) {
                   return b ? at::addmm(*b, x, weight) : at::mm(x, weight);
                 });
}

at::Tensor t(const at::Tensor& weight) {
  const c10::impl::ExcludeDispatchKeyGuard alone(kKey);
  return transposed(at::t(weight), adapted(weight));
}

at::Tensor transpose(const at::Tensor& weight, int64_t one, int64_t other) {
  const c10::impl::ExcludeDispatchKeyGuard alone(kKey);
  const bool is_transpose = weight.dim() == 2 && (one - other) % 2 != 0;
  return transposed(at::transpose(weight, one, other), is_transpose ? adapted(weight) : nullptr);
}

at::Tensor permute(const at::Tensor& weight, at::IntArrayRef order) {
  const c10::impl::ExcludeDispatchKeyGuard alone(kKey);
  const bool is_transpose = weight.dim() == 2 && order.size() == 2 && (order[0] == 1 || order[0] == -1);
  return transposed(at::permute(weight, order), is_transpose ? adapted(weight) : nullptr);
}

/// What `to` is made of: a module that moves takes its adapted weights along.
at::Tensor to_copy(const at::Tensor& weight, std::optional<at::ScalarType> dtype, std::optional<at::Layout> layout,
                   std::optional<at::Device> device, std::optional<bool> pin_memory, bool non_blocking,
                   std::optional<at::MemoryFormat> format) {
  const c10::impl::ExcludeDispatchKeyGuard alone(kKey);
  const Adapted* const one = adapted(weight);
  if (one != nullptr && one->adapter->held) dtype = std::nullopt;  // codes stay codes
  at::Tensor copy = at::_to_copy(weight, dtype, layout, device, pin_memory, non_blocking, format);
  if (one != nullptr && copy.has_storage()) mark(copy, c10::make_intrusive<Adapted>(one->adapter, one->is_transposed));
  return copy;
}

}  // namespace

void attach(const at::Tensor& weight, std::shared_ptr<LowRankAdapter> adapter) {
  const bool is_transposed = adapter->shape.is_transposed;
  mark(weight, c10::make_intrusive<Adapted>(std::move(adapter), is_transposed));
}

void detach(const at::Tensor& weight) { mark(weight, nullptr); }

std::shared_ptr<LowRankAdapter> adapter_of(const at::Tensor& weight) {
  const Adapted* const one = adapted(weight);
  return one != nullptr ? one->adapter : nullptr;
}

}  // namespace levin::adapters

// Views that these kernels do not make keep the key and have no adapter: they are plain tensors.
TORCH_LIBRARY_IMPL(_, TESTING_ONLY_GenericWrapper, library) { library.fallback(torch::CppFunction::makeFallthrough()); }

TORCH_LIBRARY_IMPL(aten, TESTING_ONLY_GenericWrapper, library) {
  library.impl("linear", &levin::adapters::linear);
  library.impl("matmul", &levin::adapters::matmul);
  library.impl("mm", &levin::adapters::mm);
  library.impl("addmm", &levin::adapters::addmm);
  library.impl("t", &levin::adapters::t);
  library.impl("transpose.int", &levin::adapters::transpose);
  library.impl("permute", &levin::adapters::permute);
  library.impl("_to_copy", &levin::adapters::to_copy);
}
