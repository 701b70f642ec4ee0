#pragma once
#include <ATen/core/Tensor.h>
#include <levin/trainer/core/state/state.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <string>
#include <vector>

namespace levin::optim {

struct EMAOptions {
  double decay = 0.999;      ///< how much of the average stays in an update, from 0 to 1
  bool use_buffers = false;  ///< average buffers of floating point as well; otherwise they are copied
};

/// An exponential moving average of a module's parameters, which often generalises better than their last values.
///
///     levin::optim::EMA ema(*this, {.decay = 0.999});
///     ...                                         // after each optimizer step, on_train_batch_end say:
///     ema.update();
///     {
///       const auto averaged = ema.apply();        // the module computes with the averages
///       validate();
///     }                                           // and with its own values again
///
/// The first update copies, later ones are `average = decay * average + (1 - decay) * value`, on the devices and in the
/// dtypes of the parameters, which the averages follow. Integer buffers are copied. The module's tensors are held, not
/// the module. Source: https://pytorch.org/docs/stable/optim.html#weight-averaging-swa-and-ema, with
/// `get_ema_multi_avg_fn(decay)`.
class EMA {
 public:
  /// Throws levin::UsageError for a decay outside [0, 1] and for a module without parameters.
  explicit EMA(const torch::nn::Module& module, EMAOptions options = {});

  void update();
  int64_t updates() const { return updates_; }
  /// The average of the parameter or buffer of this name ("net.0.weight"); throws levin::UsageError for another name.
  const at::Tensor& average(const std::string& name) const;

  /// Exchanges the module's values and the averages.
  void swap();
  /// Gives the averages to the module for good.
  void copy_to_module();

  /// Exchanges at once and again when it is destroyed.
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

  /// As Python's AveragedModel has it: `n_averaged`, and `module.` before each name.
  State state_dict() const;
  /// Throws levin::UsageError for a name that is missing and for a tensor of another shape; nothing is changed then.
  void load_state_dict(const State& state);

 private:
  struct Entry {
    std::vector<std::string> names;  ///< a tensor may be registered more than once
    at::Tensor value, average;
    bool averaged;
  };
  void follow_devices();

  EMAOptions options_;
  int64_t updates_ = 0;
  std::vector<Entry> entries_ = {};
};

}  // namespace levin::optim
