#include <levin/modules/parallel/ranks/sync_batch_norm.h>
#include <ATen/ATen.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <levin/core/run/batch_counts.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/library.h>

#include <mutex>
#include <numeric>
#include <optional>
#include <vector>

namespace levin::parallel {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using OptionalTensor = std::optional<at::Tensor>;

/// The dispatch key that routes a thread's batch norms here. It belongs to autocast for out-of-tree backends and is
/// otherwise unused.
constexpr c10::DispatchKey kKey = c10::DispatchKey::AutocastPrivateUse1;

thread_local Comm* ranks_of_thread = nullptr;
thread_local std::vector<torch::autograd::Edge>* results_of_thread = nullptr;

/// Returns all dimensions except the channels.
std::vector<int64_t> reduced_dims(const at::Tensor& input) {
  std::vector<int64_t> dims(static_cast<size_t>(input.dim()));
  std::iota(dims.begin(), dims.end(), 0);
  dims.erase(dims.begin() + 1);
  return dims;
}

/// Reshapes [channels] to broadcast with `like`.
at::Tensor along_channels(const at::Tensor& values, const at::Tensor& like) {
  std::vector<int64_t> shape(static_cast<size_t>(like.dim()), 1);
  shape[1] = values.numel();
  return values.reshape(shape);
}

/// The statistics of the channels over all ranks' batches: means, sums of squared deviations, and number of values.
struct Statistics {
  at::Tensor mean, squares, count;
};

/// Source: Chan et al., Updating Formulae and a Pairwise Algorithm for Computing Sample Variances (1979).
Statistics over_ranks(const at::Tensor& input, Comm& ranks, bool counts) {
  const std::vector<int64_t> dims = reduced_dims(input);
  const int64_t channels = input.size(1);
  const int64_t count = counts ? input.numel() / channels : 0;
  const at::Tensor mean = input.mean(dims);
  const at::Tensor squares = (input - along_channels(mean, input)).square().sum(dims);
  const at::Tensor own =
      at::cat({mean, counts ? squares : at::zeros_like(squares), at::full({1}, count, mean.options())});
  const at::Tensor all = at::stack(ranks.all_gather(own));  // [ranks, 2 * channels + 1]
  const at::Tensor means = all.narrow(1, 0, channels), counts_of = all.narrow(1, 2 * channels, 1);
  Statistics found;
  found.count = counts_of.sum();
  found.mean = (means * counts_of).sum(0) / found.count;
  found.squares = all.narrow(1, channels, channels).sum(0) + ((means - found.mean).square() * counts_of).sum(0);
  return found;
}

struct Function : torch::autograd::Function<Function> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& given, const OptionalTensor& weight,
                            const OptionalTensor& bias, const OptionalTensor& running_mean,
                            const OptionalTensor& running_var, double momentum, double eps) {
    const at::Tensor input = at::isReducedFloatingType(given.scalar_type()) ? given.to(at::kFloat) : given;
    const Statistics statistics = over_ranks(input, *ranks_of_thread, batch_counts());
    const at::Tensor inverse = (statistics.squares / statistics.count + eps).rsqrt();
    update(running_mean, statistics.mean, momentum);
    update(running_var, statistics.squares / (statistics.count - 1), momentum);
    const at::Tensor normalized = (input - along_channels(statistics.mean, input)) * along_channels(inverse, input);
    at::Tensor output = normalized;
    if (weight) output = output * along_channels(*weight, input);
    if (bias) output = output + along_channels(*bias, input);
    context->save_for_backward({normalized, inverse, statistics.count, weight ? *weight : at::Tensor()});
    context->saved_data["ranks"] = reinterpret_cast<int64_t>(ranks_of_thread);
    context->saved_data["dtype"] = given.scalar_type();
    context->saved_data["has_bias"] = bias.has_value();
    return output.to(given.scalar_type());
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &normalized = saved[0], &inverse = saved[1], &count = saved[2], &weight = saved[3];
    auto& ranks = *reinterpret_cast<Comm*>(context->saved_data["ranks"].toInt());
    const at::Tensor gradient = gradients[0].to(normalized.scalar_type());
    const std::vector<int64_t> dims = reduced_dims(gradient);
    const at::Tensor of_bias = gradient.sum(dims), of_weight = (gradient * normalized).sum(dims);
    at::Tensor sums = at::stack({of_bias, of_weight});
    ranks.all_reduce(sums, ReduceOp::Sum);
    const at::Tensor means = sums / count;
    at::Tensor of_input =
        gradient - along_channels(means[0], gradient) - normalized * along_channels(means[1], gradient);
    of_input = of_input * along_channels(weight.defined() ? inverse * weight : inverse, gradient);
    return {of_input.to(context->saved_data["dtype"].toScalarType()),
            weight.defined() ? of_weight.to(weight.scalar_type()) : at::Tensor(),
            context->saved_data["has_bias"].toBool() ? of_bias : at::Tensor(),
            at::Tensor(),
            at::Tensor(),
            at::Tensor(),
            at::Tensor()};
  }

  static void update(const OptionalTensor& running, const at::Tensor& newest, double momentum) {
    if (!running || !running->defined()) return;
    const at::NoGradGuard no_grad;
    at::Tensor(*running).mul_(1 - momentum).add_(newest.to(running->scalar_type()), momentum);
  }
};

at::Tensor batch_norm(const at::Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias,
                      const OptionalTensor& running_mean, const OptionalTensor& running_var, bool training,
                      double momentum, double eps, bool cudnn_enabled) {
  const c10::impl::ExcludeDispatchKeyGuard below(kKey);
  if (!training || ranks_of_thread == nullptr)
    return at::batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled);
  at::Tensor result = Function::apply(input, weight, bias, running_mean, running_var, momentum, eps);
  if (results_of_thread != nullptr && result.requires_grad())
    results_of_thread->push_back(torch::autograd::impl::gradient_edge(result));
  return result;
}

/// Bypasses the synchronization: instance_norm calls batch_norm, but its statistics are per sample.
at::Tensor instance_norm(const at::Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias,
                         const OptionalTensor& running_mean, const OptionalTensor& running_var, bool use_input_stats,
                         double momentum, double eps, bool cudnn_enabled) {
  const c10::impl::ExcludeDispatchKeyGuard below(kKey);
  return at::instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps,
                           cudnn_enabled);
}

/// Registers the kernels at the first use, since most programs do not need them.
void register_operations() {
  static std::once_flag once;
  std::call_once(once, [] {
    static std::vector<torch::Library> libraries;
    if (!c10::Dispatcher::singleton().hasBackendFallbackForDispatchKey(kKey)) {
      libraries.emplace_back(torch::Library::IMPL, "_", kKey, __FILE__, __LINE__);
      libraries.back().fallback(torch::CppFunction::makeFallthrough());
    }
    libraries.emplace_back(torch::Library::IMPL, "aten", kKey, __FILE__, __LINE__);
    libraries.back().impl("batch_norm", TORCH_FN(batch_norm));
    libraries.back().impl("instance_norm", TORCH_FN(instance_norm));
  });
}

}  // namespace

SyncBatchNorm::SyncBatchNorm(Comm& ranks, std::vector<torch::autograd::Edge>* results)
    : ranks_before_(ranks_of_thread),
      results_before_(results_of_thread),
      included_before_(c10::impl::tls_is_dispatch_key_included(kKey)),
      excluded_before_(c10::impl::tls_is_dispatch_key_excluded(kKey)) {
  register_operations();
  ranks_of_thread = ranks.world_size() > 1 ? &ranks : nullptr;
  results_of_thread = results;
  c10::impl::tls_set_dispatch_key_included(kKey, true);
  c10::impl::tls_set_dispatch_key_excluded(kKey, false);  // autocast keys are excluded by default
}

SyncBatchNorm::~SyncBatchNorm() {
  ranks_of_thread = ranks_before_;
  results_of_thread = results_before_;
  c10::impl::tls_set_dispatch_key_included(kKey, included_before_);
  c10::impl::tls_set_dispatch_key_excluded(kKey, excluded_before_);
}

UncountedBatch::UncountedBatch() { batch_counts() = false; }
UncountedBatch::~UncountedBatch() { batch_counts() = true; }

}  // namespace levin::parallel
