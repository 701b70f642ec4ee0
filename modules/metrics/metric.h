#pragma once
#include <ATen/core/Tensor.h>
#include <levin/core/run/logged_metric.h>

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace levin::metrics {

/// One accumulated value of a metric: a tensor that is summed, or rows that are concatenated.
struct MetricState {
  std::string name = {};
  bool is_list = false;
  at::Tensor sum = {};                ///< not a list: summed over updates, replicas and ranks
  std::vector<at::Tensor> rows = {};  ///< a list: tensors [rows, columns], in the order of the updates
};

/// The base class of metrics, values accumulated over many batches: `update` counts a batch, `compute` returns the
/// value of all batches since `reset`.
///
/// The states move to the device of the inputs. An update makes no host sync, so inputs are checked by shape and dtype
/// only, never by value. Metrics have value semantics: a copy has independent states. A metric is not thread-safe.
/// docs/metrics.md shows how to write one.
/// Source: https://lightning.ai/docs/torchmetrics/stable/pages/overview.html
class Metric : public LoggedMetric {
 public:
  Metric() = default;
  Metric(const Metric& other);
  Metric& operator=(const Metric& other);
  Metric(Metric&&) = default;
  Metric& operator=(Metric&&) = default;

  /// Counts one batch. Each metric documents the number, shapes and dtypes of its inputs: most take preds and target,
  /// some also weights, some a single tensor. Throws levin::UsageError if the inputs do not fit, if they are on
  /// different devices, and between sync and unsync.
  template <std::convertible_to<at::Tensor>... Inputs>
  void update(const Inputs&... inputs) {
    update_all({at::Tensor(inputs)...});
  }
  /// Counts one batch and returns the value of this batch alone, which `log` with on_step shows.
  template <std::convertible_to<at::Tensor>... Inputs>
  at::Tensor forward(const Inputs&... inputs) {
    return forward_all({at::Tensor(inputs)...});
  }
  template <std::convertible_to<at::Tensor>... Inputs>
  at::Tensor operator()(const Inputs&... inputs) {
    return forward_all({at::Tensor(inputs)...});
  }
  /// Does the same with a list of inputs.
  void update_all(at::TensorList inputs);
  at::Tensor forward_all(at::TensorList inputs);
  /// Returns the value of all batches since reset, on the states' device; a float64 scalar unless the metric documents
  /// otherwise.
  at::Tensor compute() const final;
  at::Tensor batch_value() const final { return batch_value_; }
  void reset() override;

  /// Appends the counts of `other`, a metric of the same class and options, to the counts of this metric. Throws
  /// levin::UsageError if their states do not match.
  void merge(const Metric& other);
  /// Replaces this rank's states by the combined states of all ranks, in rank order; `unsync` restores this rank's
  /// states. Collective: all ranks call it, with states on devices that `comm` supports (see `to`); ranks may have
  /// counted different numbers of rows, or none. Host sync if rows are gathered.
  void sync(Comm& comm) override;
  void unsync() override;
  bool is_synced() const { return synced_; }

  /// Returns copies of the states by name: a tensor, or for row states a list with the concatenated rows, empty if
  /// there are none.
  State state_dict() const override;
  /// Throws levin::Error for missing keys, levin::UsageError for states of another shape.
  void load_state_dict(const State& state) override;
  void prepend_state_dict(const State& earlier) override;

  void to(c10::Device device) override;
  c10::Device device() const { return device_; }
  /// Returns a copy with independent states.
  virtual std::shared_ptr<Metric> clone() const = 0;

 protected:
  /// Counts the inputs of one batch, detached; override it for a metric with inputs other than preds and target. The
  /// default calls update_states, and throws levin::UsageError unless there are two inputs.
  virtual void update_inputs(at::TensorList inputs);
  /// Counts preds and target; override this or update_inputs.
  virtual void update_states(const at::Tensor& preds, const at::Tensor& target);
  virtual at::Tensor compute_value() const = 0;

  /// Declares a summed state, initialized with zeros, and returns its index. Called by constructors only.
  size_t add_state(std::string name, at::IntArrayRef shape, at::ScalarType dtype);
  /// Declares a state of rows and returns its index. Called by constructors only.
  size_t add_list_state(std::string name);
  at::Tensor& sum(size_t index) { return states_[index].sum; }
  const at::Tensor& sum(size_t index) const { return states_[index].sum; }
  /// Appends `rows`, [rows, columns]; the metric keeps the tensor.
  void append(size_t index, const at::Tensor& rows) { states_[index].rows.push_back(rows); }
  /// Returns all rows [rows, columns]; undefined if there are none.
  at::Tensor rows(size_t index) const;

 private:
  at::Tensor forward_of_wrapper(at::TensorList inputs);

  std::vector<MetricState> states_ = {};  ///< none: the metric wraps others, which have them
  std::vector<MetricState> local_ = {};   ///< this rank's states, between sync and unsync
  at::Tensor batch_value_ = {};
  c10::Device device_ = c10::kCPU;
  bool synced_ = false;
};

/// Implements clone() for `Derived`.
template <class Derived, class Base = Metric>
class Cloneable : public Base {
 public:
  using Base::Base;
  std::shared_ptr<Metric> clone() const override {
    return std::shared_ptr<Metric>(new Derived(static_cast<const Derived&>(*this)));
  }
};

}  // namespace levin::metrics
