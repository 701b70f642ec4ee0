#include <levin/modules/parallel/gradient_reducer.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/zeros_like.h>
#include <levin/trainer/core/torch_compat/reducer.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/distributed/c10d/comm.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include <algorithm>
#include <limits>
#include <set>
#include <unordered_map>
#include <utility>

namespace levin::parallel {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Buckets = std::vector<std::vector<size_t>>;

constexpr size_t kBroadcastBytes = size_t{250} << 20;

size_t bytes_of(double megabytes) { return static_cast<size_t>(megabytes * (1 << 20)); }

/// Buckets in the order in which backward is expected to fill them: that of the parameters, reversed.
Buckets first_buckets(const std::vector<at::Tensor>& parameters, const DistributedDataParallelOptions& options) {
  // In one bucket until the true order is known, where it will be.
  const bool will_rebuild = options.static_graph || !options.find_unused_parameters;
  const std::vector<size_t> limits =
      will_rebuild ? std::vector<size_t>{static_cast<size_t>(std::numeric_limits<int64_t>::max())}
                   : std::vector<size_t>{bytes_of(options.first_bucket_mb), bytes_of(options.bucket_cap_mb)};
  Buckets buckets = std::get<0>(c10d::compute_bucket_assignment_by_size(parameters, limits));
  std::reverse(buckets.begin(), buckets.end());
  return buckets;
}

/// Sends the gradients in a smaller float. Source: torch.distributed.algorithms.ddp_comm_hooks.default_hooks.
class CompressHook final : public c10d::CommHookInterface {
 public:
  CompressHook(c10::intrusive_ptr<c10d::ProcessGroup> group, at::ScalarType dtype)
      : group_(std::move(group)), dtype_(dtype) {}

  c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override {
    const at::Tensor buffer = bucket.getBuffer();
    std::vector<at::Tensor> sent{buffer.to(dtype_).div_(group_->getSize())};
    return group_->allreduce(sent)->getFuture()->then(
        [buffer, sent](c10::ivalue::Future&) {
          at::Tensor(buffer).copy_(sent[0]);
          return c10::IValue(buffer);
        },
        c10::TensorType::get());
  }
  at::Tensor parseHookResult(const c10::IValue& result) override {
    return result.isTensor() ? result.toTensor() : result.toTensorVector()[0];
  }

 private:
  c10::intrusive_ptr<c10d::ProcessGroup> group_;
  at::ScalarType dtype_;
};

/// With a static graph the first step reduces when all of backward is done, since which gradients will come is not
/// known before: what PyTorch's DDP does in the same place.
struct ReduceAtTheEnd : torch::autograd::Function<ReduceAtTheEnd> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& output, int64_t reducer) {
    context->saved_data["reducer"] = reducer;
    return output.view_as(output);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    auto* const reducer = reinterpret_cast<c10d::Reducer*>(context->saved_data["reducer"].toInt());
    torch::autograd::Engine::get_default_engine().queue_callback([reducer] { reducer->delay_all_reduce(); });
    return {gradients[0], at::Tensor()};
  }
};

}  // namespace

struct GradientReducer::Engine {
  /// The next backward reduces; `outputs`: whose graphs show what is used, where that is looked for.
  void begin(const std::vector<at::Tensor>& outputs) {
    reducer->prepare_for_forward();
    reducer->rebuild_buckets();
    reducer->prepare_for_backward(outputs);
  }

  std::shared_ptr<c10d::Reducer> reducer;
  bool first_step = true;
};

GradientReducer::GradientReducer(torch::nn::Module& module, const ProcessGroup& group,
                                 DistributedDataParallelOptions options)
    : module_(module), group_(group), options_(options) {
  std::set<const void*> seen;
  for (const auto& item : module.named_parameters())
    if (item.value().requires_grad() && seen.insert(item.value().unsafeGetTensorImpl()).second) {
      names_.push_back(item.key());
      parameters_.push_back(item.value());
    }
  if (parameters_.empty()) throw UsageError("ddp: no parameter of the module requires a gradient; use one process");
  try {
    c10d::verify_params_across_processes(group.raw(), parameters_, {});
  } catch (const c10::Error& error) {
    throw UsageError("ddp: rank ", group.rank(),
                     " has other parameters than rank 0, in number, shape or dtype; do all "
                     "ranks run the same program with the same config? ",
                     error.what_without_backtrace());
  }
  std::vector<at::Tensor> states;
  {
    const at::NoGradGuard no_grad;
    for (const at::Tensor& parameter : module.parameters()) states.push_back(parameter.detach());
    for (const at::Tensor& buffer : module.buffers()) states.push_back(buffer.detach());
    group.guarded("broadcast", [&] { c10d::broadcast_coalesced(group.raw(), states, kBroadcastBytes); });
  }
  make_engine(first_buckets(parameters_, options_));
}

GradientReducer::~GradientReducer() = default;

void GradientReducer::make_engine(Buckets buckets) {
  engine_.reset();  // its hooks first
  std::unordered_map<size_t, std::string> names;
  for (size_t i = 0; i < names_.size(); ++i) names[i] = names_[i];
  auto engine = std::make_unique<Engine>();
  engine->reducer =
      torch_compat::make_reducer({.parameters = parameters_,
                                  .buckets = std::move(buckets),
                                  .group = group_.raw(),
                                  .bucket_bytes = static_cast<int64_t>(bytes_of(options_.bucket_cap_mb)),
                                  .first_bucket_bytes = static_cast<int64_t>(bytes_of(options_.first_bucket_mb)),
                                  .find_unused_parameters = options_.find_unused_parameters,
                                  .names = std::move(names)});
  if (options_.static_graph) engine->reducer->set_static_graph();
  if (options_.compression != GradientCompression::None)
    engine->reducer->register_comm_hook(std::make_unique<CompressHook>(
        group_.raw(), options_.compression == GradientCompression::Float16 ? at::kHalf : at::kBFloat16));
  engine_ = std::move(engine);
}

void GradientReducer::synchronize_buffers() {
  if (!options_.broadcast_buffers) return;
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> buffers;
  for (const at::Tensor& buffer : module_.buffers()) buffers.push_back(buffer.detach());
  if (buffers.empty()) return;
  group_.guarded("broadcast", [&] { c10d::broadcast_coalesced(group_.raw(), buffers, kBroadcastBytes); });
}

at::Tensor GradientReducer::prepare(const at::Tensor& output) {
  const bool walks = options_.find_unused_parameters && !options_.static_graph;
  group_.guarded("rebuild of buckets",
                 [&] { engine_->begin(walks ? std::vector<at::Tensor>{output} : std::vector<at::Tensor>{}); });
  const bool first = std::exchange(engine_->first_step, false);
  if (!first || !options_.static_graph) return output;
  return ReduceAtTheEnd::apply(output, reinterpret_cast<int64_t>(engine_->reducer.get()));
}

void GradientReducer::check_finished() {
  try {
    engine_->reducer->check_finalized();
  } catch (const c10::Error&) {
    std::string unused;
    for (size_t i = 0; i < parameters_.size(); ++i)
      if (!parameters_[i].grad().defined()) unused += (unused.empty() ? "" : ", ") + names_[i];
    throw UsageError("ddp: these parameters got no gradient: ", unused.empty() ? "not known which" : unused,
                     "; set find_unused_parameters to true, or let the loss use all parameters in each step");
  }
}

void GradientReducer::backward(const at::Tensor& loss) {
  const at::Tensor prepared = prepare(loss);
  group_.guarded("backward", [&] { prepared.backward(); });
  check_finished();
}

void GradientReducer::backward_of_nothing() {
  if (options_.static_graph)
    throw UsageError("ddp: training_step returned no loss on rank ", group_.rank(),
                     ", and static_graph says that each step is like the others; set it to false");
  std::vector<at::Tensor> zeros;
  for (const at::Tensor& parameter : parameters_) zeros.push_back(at::zeros_like(parameter));
  group_.guarded("backward", [&] {
    engine_->begin({});  // without a graph to walk: all parameters come
    torch::autograd::backward(parameters_, zeros);
  });
}

State GradientReducer::state_dict() const {
  std::unordered_map<const void*, int64_t> places;
  for (size_t i = 0; i < parameters_.size(); ++i)
    places[parameters_[i].unsafeGetTensorImpl()] = static_cast<int64_t>(i);
  State buckets = State::list();
  for (const c10d::GradBucket& bucket : engine_->reducer->get_grad_buckets()) {
    State indices = State::list();
    for (const at::Tensor& parameter : bucket.getParameters())
      indices.push_back(places.at(parameter.unsafeGetTensorImpl()));
    buckets.push_back(std::move(indices));
  }
  return State::dict({{"buckets", std::move(buckets)}});
}

void GradientReducer::load_state_dict(const State& state) {
  Buckets buckets;
  std::set<size_t> seen;
  for (const State& indices : state.at("buckets").items()) {
    std::vector<size_t> bucket;
    for (const State& index : indices.items()) {
      bucket.push_back(static_cast<size_t>(index.to_int()));
      seen.insert(bucket.back());
    }
    buckets.push_back(std::move(bucket));
  }
  if (seen.size() != parameters_.size() || (!seen.empty() && *seen.rbegin() >= parameters_.size()))
    throw UsageError("ddp: the saved buckets hold ", seen.size(), " parameters, the module has ", parameters_.size());
  make_engine(std::move(buckets));
}

ReductionPlan plan_reduction(const torch::nn::Module& module, const DistributedDataParallelOptions& options) {
  ReductionPlan plan;
  std::vector<at::Tensor> parameters;
  std::set<const void*> seen;
  for (const at::Tensor& parameter : module.parameters())
    if (parameter.requires_grad() && seen.insert(parameter.unsafeGetTensorImpl()).second)
      parameters.push_back(parameter);
  std::reverse(parameters.begin(), parameters.end());
  const bool compresses = options.compression != GradientCompression::None;
  for (const at::Tensor& parameter : parameters)
    plan.bytes += parameter.numel() * static_cast<int64_t>(compresses ? 2 : parameter.element_size());
  if (parameters.empty()) return plan;
  plan.buckets = static_cast<int64_t>(
      std::get<0>(c10d::compute_bucket_assignment_by_size(
                      parameters, {bytes_of(options.first_bucket_mb), bytes_of(options.bucket_cap_mb)}))
          .size());
  return plan;
}

}  // namespace levin::parallel
