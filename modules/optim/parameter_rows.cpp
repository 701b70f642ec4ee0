#include <levin/modules/optim/parameter_rows.h>
#include <levin/core/system/error.h>
#include <levin/modules/optim/engine/row_change.h>
#include <levin/modules/optim/engine/torch_optimizers.h>
#include <levin/modules/optim/optimizer.h>

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <torch/nn/module.h>

#include <type_traits>
#include <utility>

namespace levin::optim {
namespace {

using detail::RowChange;
using detail::RowCommit;

void check_parameter(const char* call, const at::Tensor& parameter) {
  if (!parameter.defined()) throw UsageError(call, ": the parameter is undefined");
  if (parameter.dim() == 0) throw UsageError(call, ": a parameter of shape [] has no rows");
  if (!parameter.is_leaf())
    throw UsageError(call, ": the tensor of shape ", parameter.sizes(), " is computed; give the parameter itself");
}

/// Returns the numbers of the rows to keep.
at::Tensor row_numbers(const at::Tensor& parameter, const at::Tensor& rows) {
  const int64_t count = parameter.size(0);
  if (!rows.defined() || rows.dim() != 1)
    throw UsageError("keep_rows: rows must have one dimension: a bool mask, or int64 numbers of rows");
  if (rows.scalar_type() == at::kBool) {
    if (rows.size(0) != count)
      throw UsageError("keep_rows: the mask has ", rows.size(0), " elements, and the parameter of shape ",
                       parameter.sizes(), " has ", count, " rows");
    return rows.nonzero().squeeze(1);
  }
  if (rows.scalar_type() != at::kLong && rows.scalar_type() != at::kInt)
    throw UsageError("keep_rows: rows must be a bool mask or int64 numbers of rows, got ", rows.scalar_type());
  if (rows.numel() == 0) return rows.to(at::kLong);
  const auto least = rows.min().item<int64_t>(), greatest = rows.max().item<int64_t>();
  if (least < 0 || greatest >= count)
    throw UsageError("keep_rows: there is no row ", least < 0 ? least : greatest, " in a parameter of shape ",
                     parameter.sizes());
  return rows.to(at::kLong);
}

/// The new state of one parameter in LibTorch's optimizers, by visiting its fields.
struct StateChanger {
  const RowChange& change;
  const at::Tensor& first;

  void operator()(const char* /*key*/, at::Tensor& value) const { value = change.of_state(value, first); }
  template <class Other>
  void operator()(const char* /*key*/, Other& /*value*/) const {}
  void step(int64_t /*value*/) const {}
};

/// Returns the state that new rows begin with; undefined for 0.
template <class Options>
at::Tensor first_state_of(const Options& options, const RowChange& change, const at::Tensor& parameter) {
  if constexpr (std::is_same_v<Options, torch::optim::AdagradOptions>)
    if (change.needs_first_state())
      return at::full(change.values.sizes(), options.initial_accumulator_value(), parameter.options());
  return {};
}

bool holds(const torch::optim::Optimizer& optimizer, const at::Tensor& parameter) {
  for (const torch::optim::OptimizerParamGroup& group : optimizer.param_groups())
    for (const at::Tensor& held : group.params())
      if (held.is_same(parameter)) return true;
  return false;
}

}  // namespace

void keep_rows(const at::Tensor& parameter, const at::Tensor& rows) {
  check_parameter("keep_rows", parameter);
  detail::change_rows(parameter, {.kind = RowChange::Kind::Keep, .rows = row_numbers(parameter, rows)});
}

void append_rows(const at::Tensor& parameter, const at::Tensor& values) {
  check_parameter("append_rows", parameter);
  if (!values.defined() || values.dim() != parameter.dim() || values.sizes().slice(1) != parameter.sizes().slice(1))
    throw UsageError("append_rows: expected rows of the shape [k, ...] of the parameter, which has the shape ",
                     parameter.sizes(), "; got ", values.defined() ? c10::str(values.sizes()) : "nothing");
  detail::change_rows(parameter, {.kind = RowChange::Kind::Append, .values = values});
}

void replace(const at::Tensor& parameter, const at::Tensor& value, StateAfter state) {
  check_parameter("replace", parameter);
  if (!value.defined()) throw UsageError("replace: the value is undefined");
  if (state == StateAfter::Keep && value.sizes() != parameter.sizes())
    throw UsageError("replace: the value has the shape ", value.sizes(), ", the parameter ", parameter.sizes(),
                     "; the state can only be kept for the same shape: use StateAfter::Zero, keep_rows or append_rows");
  detail::change_rows(parameter,
                      {.kind = state == StateAfter::Keep ? RowChange::Kind::ReplaceValue : RowChange::Kind::ReplaceAll,
                       .values = value});
}

void take_row_counts(const torch::nn::Module& module, const State& state_dict) {
  for (const auto& item : module.named_parameters()) {
    const at::Tensor& parameter = item.value();
    const State* const saved = state_dict.find(item.key());
    if (saved == nullptr || !saved->is_tensor() || parameter.dim() == 0) continue;
    std::vector<int64_t> shape = parameter.sizes().vec();
    const at::Tensor& tensor = saved->to_tensor();
    if (tensor.dim() != parameter.dim() || tensor.size(0) == shape[0]) continue;
    shape[0] = tensor.size(0);
    if (tensor.sizes() != shape) continue;
    detail::change_rows(parameter,
                        {.kind = RowChange::Kind::ReplaceAll, .values = at::zeros(shape, parameter.options())},
                        /*needs_optimizer=*/false);
  }
}

struct RowTracker::Impl {
  explicit Impl(torch::optim::Optimizer& tracked) : optimizer(tracked) {}

  bool has_rows_of(const at::Tensor& parameter) const { return holds(optimizer, parameter); }

  void prepare(const at::Tensor& parameter, const RowChange& change, RowCommit& commit) {
    commit.has_optimizer = true;
    torch_optimizers::with_types(optimizer, [&]<class Options, class ParamState>(Options*, ParamState*) {
      if constexpr (std::is_same_v<ParamState, torch::optim::LBFGSParamState>)
        prepare_history(parameter, change, commit);
      else
        prepare_state<Options, ParamState>(parameter, change, commit);
    });
  }

  void prepare_history(const at::Tensor& parameter, const RowChange& change, RowCommit& commit) {
    if (change.kind == RowChange::Kind::ReplaceValue) return;
    if (change.of_value(parameter).sizes() != parameter.sizes())
      throw UsageError(
          "LBFGS keeps vectors over all elements of its parameters, whose number cannot change; make a new "
          "LBFGS, or use another optimizer");
    commit.actions.emplace_back([this] { optimizer.state().clear(); });
  }

  template <class Options, class ParamState>
  void prepare_state(const at::Tensor& parameter, const RowChange& change, RowCommit& commit) {
    const auto found = optimizer.state().find(parameter.unsafeGetTensorImpl());
    if (found == optimizer.state().end()) return;
    auto next = std::make_unique<ParamState>(static_cast<const ParamState&>(*found->second));
    at::Tensor first;
    for (const torch::optim::OptimizerParamGroup& group : optimizer.param_groups())
      for (const at::Tensor& held : group.params())
        if (held.is_same(parameter))
          first = first_state_of(static_cast<const Options&>(group.options()), change, parameter);
    StateChanger changer{change, first};
    torch_optimizers::values(changer, *next);
    // std::function wants what can be copied.
    commit.actions.emplace_back([this, parameter, held = std::make_shared<decltype(next)>(std::move(next))] {
      optimizer.state()[parameter.unsafeGetTensorImpl()] = std::move(*held);
    });
  }

  torch::optim::Optimizer& optimizer;
  detail::RowSubscription subscription{*this};
};

RowTracker::RowTracker(torch::optim::Optimizer& optimizer)
    : impl_(dynamic_cast<Optimizer*>(&optimizer) ? nullptr : std::make_unique<Impl>(optimizer)) {}
RowTracker::~RowTracker() = default;
RowTracker::RowTracker(RowTracker&& other) noexcept = default;
RowTracker& RowTracker::operator=(RowTracker&& other) noexcept = default;

}  // namespace levin::optim
