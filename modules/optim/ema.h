#pragma once
#include <ATen/core/Tensor.h>
#include <levin/core/state/state.h>
#include <levin/modules/optim/engine/row_change.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace levin::optim {

struct EMAOptions {
  double decay = 0.999;      ///< weight of the old average in an update, from 0 to 1
  bool use_buffers = false;  ///< average floating-point buffers as well; otherwise copy them
  /// Of a parameter that is divided among ranks (fsdp), average this rank's elements alone: a rank keeps no whole
  /// averages and sends nothing. All ranks call `swap` and `copy_to_module` at the same place; the averages cannot be
  /// used after the parameters have become whole again, when the run ends.
  bool own_parts = false;
};

/// An exponential moving average of a module's parameters, which often generalises better than their last values.
///
///     levin::optim::EMA ema(*this, {.decay = 0.999});
///     ...                                         // after each optimizer step, as in on_train_batch_end:
///     ema.update();
///     {
///       const auto averaged = ema.apply();        // the module computes with the averages
///       validate();
///     }                                           // and with its own values again
///
/// The first update copies the values; later updates compute `average = decay * average + (1 - decay) * value`, on the
/// devices and in the dtypes of the parameters. If a parameter moves, or its rows change (parameter_rows.h), its
/// average follows. Integers and booleans are copied. EMA holds the module's tensors, not the module. Source:
/// https://pytorch.org/docs/stable/optim.html#weight-averaging-swa-and-ema, with `get_ema_multi_avg_fn(decay)`.
class EMA {
 public:
  /// Throws levin::UsageError for a decay outside [0, 1] and for a module without parameters.
  explicit EMA(const torch::nn::Module& module, EMAOptions options = {});
  EMA(EMA&& other) : EMA(std::move(other), detail::RowLock()) {}
  EMA& operator=(EMA&& other) noexcept;

  void update();
  int64_t updates() const { return updates_; }
  /// Returns the average of the named parameter or buffer ("net.0.weight"), or this rank's part of it, 1-dimensional;
  /// throws levin::UsageError for an unknown name.
  const at::Tensor& average(const std::string& name) const;

  /// Swaps the module's values and the averages.
  void swap();
  /// Copies the averages to the module.
  void copy_to_module();

  /// Swaps values and averages on construction and again on destruction.
  class [[nodiscard]] Applied {
   public:
    explicit Applied(EMA& ema) : ema_(ema) { ema_.swap(); }
    ~Applied() { ema_.swap(); }
    Applied(const Applied&) = delete;
    Applied& operator=(const Applied&) = delete;

   private:
    EMA& ema_;
  };
  Applied apply() { return Applied(*this); }

  /// Returns whether it averages this rank's part of some parameter.
  bool is_divided() const;
  /// Returns the state in the layout of Python's AveragedModel: `n_averaged`, and each name prefixed with `module.`.
  /// Throws levin::UsageError if it is divided: swap, and take the module's weights from the strategy.
  State state_dict() const;
  /// Throws levin::UsageError for a missing name or a tensor of another shape; the averages are then unchanged.
  void load_state_dict(const State& state);

 private:
  struct Entry {
    std::vector<std::string> names;  ///< more than one if the tensor is registered several times
    at::Tensor value, average;
    bool averaged;
  };
  friend class detail::RowSubscription;
  EMA(EMA&& other, const detail::RowLock& lock);
  /// Returns the values that are averaged: the tensor, or this rank's part of it.
  at::Tensor present(const Entry& entry) const;
  void write(const Entry& entry, const at::Tensor& values);
  void follow_devices();
  bool has_rows_of(const at::Tensor& parameter) const;
  void prepare(const at::Tensor& parameter, const detail::RowChange& change, detail::RowCommit& commit);

  EMAOptions options_;
  int64_t updates_ = 0;
  std::vector<Entry> entries_ = {};
  detail::RowSubscription rows_{*this};
};

}  // namespace levin::optim
