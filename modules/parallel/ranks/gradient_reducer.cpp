#include <levin/modules/parallel/ranks/gradient_reducer.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/zeros.h>
#include <c10/util/ScopeExit.h>
#include <levin/core/ranks/rank_memory.h>
#include <levin/core/ranks/torch_compat/reducer.h>
#include <levin/modules/parallel/ranks/backward_of_zeros.h>
#include <levin/modules/parallel/ranks/reduction_buckets.h>
#include <levin/modules/parallel/ranks/reduction_hook.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/distributed/c10d/logger.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace levin::parallel {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Makes the gradients of sparse embeddings dense before they are accumulated, since the buckets hold whole ones.
struct DenseGradients : torch::autograd::FunctionPreHook {
  variable_list operator()(const variable_list& gradients) override {
    variable_list dense = gradients;
    for (at::Tensor& gradient : dense)
      if (gradient.defined() && gradient.is_sparse()) gradient = gradient.to_dense();
    return dense;
  }
};

/// With a static graph, the first step reduces at the end of backward, since the set of gradients is not known before.
/// PyTorch's DDP does the same at this point.
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

/// Returns a tensor whose backward reaches all parameters and gives them no gradients.
struct ReachAll : torch::autograd::Function<ReachAll> {
  static at::Tensor forward(AutogradContext* context, at::TensorList parameters) {
    context->saved_data["parameters"] = static_cast<int64_t>(parameters.size());
    return at::zeros({}, parameters.front().options());
  }
  static variable_list backward(AutogradContext* context, const variable_list& /*gradients*/) {
    return variable_list(static_cast<size_t>(context->saved_data["parameters"].toInt()));
  }
};

}  // namespace

struct GradientReducer::Engine {
  /// Makes the next backward, that of `output`, reduce.
  void begin(const at::Tensor& output) {
    if (first_step) reducer->begin_first_iteration();
    reducer->prepare_for_forward();
    rebuild_buckets();
    make_buckets_mappable();
    reducer->prepare_for_backward(walks ? std::vector<at::Tensor>{output} : std::vector<at::Tensor>{});
  }

  /// Call it after a backward that reduced. Rebuilds the buckets for the observed order here rather than later:
  /// gradients accumulated by the next window would then be in the buckets and be divided differently than after a
  /// resume.
  void end() { rebuild_buckets(); }

  void rebuild_buckets() {
    if (reducer->rebuild_buckets()) are_mappable = false;
  }

  /// Other ranks read the buckets where they lie, once they stay.
  void make_buckets_mappable() {
    if (are_mappable || reducer->should_rebuild_buckets()) return;
    for (c10d::GradBucket& bucket : reducer->get_grad_buckets(/*return_zero_tensors=*/false))
      make_mappable(bucket.getBuffer().storage(), *group);
    are_mappable = true;
  }

  std::shared_ptr<torch_compat::Reducer> reducer;
  /// The reducer holds a weak pointer to it, which it follows without a check when the unused parameters change.
  std::shared_ptr<c10d::Logger> logger;
  c10::intrusive_ptr<c10d::ProcessGroup> group = {};
  bool walks = false;  ///< each graph is searched for unused parameters
  bool first_step = true, are_mappable = false;
};

GradientReducer::GradientReducer(torch::nn::Module& module, ProcessGroup& group, DistributedDataParallelOptions options)
    : module_(module), group_(group), options_(options) {
  for (auto& [name, parameter] : trained_parameters(module)) {
    names_.push_back(name);
    parameters_.push_back(parameter);
  }
  for (const at::Tensor& parameter : module.parameters())
    if (!parameter.requires_grad()) frozen_.push_back(parameter);
  if (parameters_.empty()) throw UsageError("ddp: no parameter of the module requires a gradient; use one process");
  if (options_.init_sync) synchronize_module(module, group);
  make_engine(first_buckets(parameters_, options_));
}

GradientReducer::~GradientReducer() = default;

void GradientReducer::make_engine(Buckets buckets) {
  engine_.reset();  // removes its hooks first
  // c10d::Reducer rejects parameters that require no gradient, which toggle_optimizer produces temporarily.
  std::vector<at::Tensor> resting;
  for (const at::Tensor& parameter : parameters_)
    if (!parameter.requires_grad()) resting.push_back(parameter.requires_grad_(true));
  const auto rest_again = c10::make_scope_exit([&] {
    for (const at::Tensor& parameter : resting) parameter.requires_grad_(false);
  });
  std::unordered_map<size_t, std::string> names;
  for (size_t i = 0; i < names_.size(); ++i) names[i] = names_[i];
  auto engine = std::make_unique<Engine>();
  engine->group = group_.raw();
  engine->walks = options_.find_unused_parameters && !options_.static_graph;
  engine->reducer =
      torch_compat::make_reducer({.parameters = parameters_,
                                  .buckets = std::move(buckets),
                                  .group = group_.raw(),
                                  .bucket_bytes = static_cast<int64_t>(bucket_bytes(options_)),
                                  .first_bucket_bytes = static_cast<int64_t>(first_bucket_bytes(options_)),
                                  .find_unused_parameters = options_.find_unused_parameters,
                                  .names = std::move(names)});
  engine->logger = std::make_shared<c10d::Logger>(engine->reducer);
  engine->reducer->set_logger(engine->logger);
  if (options_.shard_gradients) engine->reducer->keep_buckets();
  if (options_.static_graph) engine->reducer->set_static_graph();
  if (options_.shard_gradients || options_.compression != Compression::None)
    engine->reducer->register_comm_hook(
        make_reduction_hook(group_.raw(), dtype_of(options_.compression), options_.shard_gradients));
  engine_ = std::move(engine);
  const auto before = std::exchange(accumulators_, {});
  for (const at::Tensor& parameter : parameters_) {
    const auto& accumulator = accumulators_.emplace_back(torch::autograd::impl::grad_accumulator(parameter));
    if (std::find(before.begin(), before.end(), accumulator) == before.end())
      accumulator->add_pre_hook(std::make_unique<DenseGradients>());
  }
}

void GradientReducer::synchronize_buffers() {
  if (options_.broadcast_buffers) broadcast_buffers(module_, group_, source_of_buffers_);
}

at::Tensor GradientReducer::prepare(const at::Tensor& output) {
  group_.guarded("rebuild of buckets", [&] { engine_->begin(output); });
  const bool first = std::exchange(engine_->first_step, false);
  if (!first || !options_.static_graph) return output;
  return ReduceAtTheEnd::apply(output, reinterpret_cast<int64_t>(static_cast<c10d::Reducer*>(engine_->reducer.get())));
}

void GradientReducer::check_finished() {
  try {
    engine_->reducer->check_finalized();
  } catch (const c10::Error& error) {
    std::string unused;
    for (const size_t number : torch_compat::numbers_of_missing(error.what_without_backtrace()))
      if (number < names_.size()) unused += (unused.empty() ? "" : ", ") + names_[number];
    throw UsageError(options_.shard_gradients ? "zero1" : "ddp",
                     ": these parameters got no gradient: ", unused.empty() ? "not known which" : unused,
                     "; set find_unused_parameters to true, or let the loss use all parameters in each step");
  }
  group_.guarded("rebuild of buckets", [&] { engine_->end(); });
}

void GradientReducer::run_backward(const std::function<void()>& backward) {
  try {
    group_.guarded("backward", backward);
  } catch (const c10::Error& error) {
    const std::string_view text = error.what_without_backtrace();
    if (!options_.static_graph || text.find("graph has changed") == std::string_view::npos) throw;
    throw UsageError(
        "static_graph: this step used other parameters than the steps before it, and a static graph is the "
        "same in each; set static_graph to false, and find_unused_parameters to true");
  }
}

void GradientReducer::backward(const at::Tensor& loss) {
  const at::Tensor prepared = prepare(loss);
  run_backward([&] { prepared.backward(); });
  check_finished();
}

void GradientReducer::backward_without_loss(std::vector<torch::autograd::Edge> results) {
  if (options_.static_graph)
    throw UsageError("ddp: training_step returned no loss on rank ", group_.rank(),
                     ", and static_graph says that each step is like the others; set it to false");
  const at::Tensor all = ReachAll::apply(at::TensorList(parameters_));
  results.push_back(torch::autograd::impl::gradient_edge(all));
  group_.guarded("backward", [&] {
    engine_->begin(all);
    backward_of_zeros(results);
    engine_->end();
  });
}

bool GradientReducer::has_unfrozen() const {
  return std::any_of(frozen_.begin(), frozen_.end(), [](const at::Tensor& one) { return one.requires_grad(); });
}

bool GradientReducer::has_other_rows() const {
  for (size_t i = 0; i < parameters_.size(); ++i)
    if (torch::autograd::impl::try_get_grad_accumulator(parameters_[i]) != accumulators_[i]) return true;
  return false;
}

void GradientReducer::follow_module() {
  std::set<const void*> known, seen;
  for (const at::Tensor& parameter : parameters_) known.insert(parameter.unsafeGetTensorImpl());
  std::vector<std::string> names;
  std::vector<at::Tensor> parameters, added, frozen;
  for (const auto& item : module_.named_parameters()) {
    const void* const place = item.value().unsafeGetTensorImpl();
    if (!seen.insert(place).second) continue;
    const bool is_new = known.count(place) == 0;
    if (is_new) (item.value().requires_grad() ? added : frozen).push_back(item.value());
    if (is_new && !item.value().requires_grad()) continue;
    names.push_back(item.key());
    parameters.push_back(item.value());
  }
  frozen_ = std::move(frozen);
  if (added.empty() && parameters.size() == parameters_.size() && !has_other_rows()) return;
  if (options_.shard_gradients && parameters.size() != parameters_.size() + added.size())
    throw UsageError(
        "zero1: the module has lost a parameter whose gradients the ranks share; replace parameters before ",
        "configure_optimizers, or use ddp");
  names_ = std::move(names);
  parameters_ = std::move(parameters);
  std::vector<at::Tensor> values;
  // The broadcast must not increment version counters: a graph may have saved the parameters already.
  for (const at::Tensor& parameter : added) values.push_back(parameter.variable_data());
  broadcast_tensors(std::move(values), group_, /*source=*/0);
  make_engine(options_.shard_gradients ? buckets_with(added) : first_buckets(parameters_, options_));
}

/// Returns the current buckets, followed by new ones for `added`.
Buckets GradientReducer::buckets_with(const std::vector<at::Tensor>& added) const {
  std::vector<std::vector<at::Tensor>> all = buckets();
  for (const std::vector<size_t>& bucket : buckets_of_backward(added, options_)) {
    all.emplace_back();
    for (const size_t index : bucket) all.back().push_back(added[index]);
  }
  return indices_in(parameters_, all);
}

std::vector<std::vector<at::Tensor>> GradientReducer::buckets() const {
  std::vector<std::vector<at::Tensor>> buckets;
  for (const c10d::GradBucket& bucket : engine_->reducer->get_grad_buckets()) buckets.push_back(bucket.getParameters());
  return buckets;
}

State GradientReducer::state_dict() const {
  // Rebuilds the buckets requested by the first backward now instead of at the next: they determine the order of sums.
  group_.guarded("rebuild of buckets", [&] { engine_->rebuild_buckets(); });
  State buckets = State::list();
  for (const std::vector<size_t>& bucket : indices_in(parameters_, this->buckets())) {
    State indices = State::list();
    for (const size_t index : bucket) indices.push_back(static_cast<int64_t>(index));
    buckets.push_back(std::move(indices));
  }
  return State::dict({{"buckets", std::move(buckets)}, {"buckets_stay", engine_->reducer->keeps_buckets()}});
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
    throw UsageError("ddp: the saved buckets hold ", seen.size(), " trained parameters, the module has ",
                     parameters_.size(),
                     "; parameters that were unfrozen or frozen during the run must be so when it is resumed; see "
                     "\"Parameters that join later\" (docs/optimizers.md)");
  make_engine(std::move(buckets));
  if (const State* stay = state.find("buckets_stay"); stay != nullptr && stay->to_bool())
    engine_->reducer->keep_buckets();
}

}  // namespace levin::parallel
