#pragma once
#include <c10/core/ScalarType.h>
#include <levin/trainer/precision/convert_floats.h>
#include <levin/trainer/precision/precision_plugin.h>

namespace levin {

/// 64-true, 16-true and bf16-true: weights, buffers and batches of one dtype, which is also LibTorch's default dtype
/// during steps, as in PyTorch Lightning.
///
/// The default dtype is process-wide: a dataset that makes tensors in worker threads must name their dtype. Several
/// threads may be in steps of one precision; a warning names those of different ones.
class TruePrecision final : public PrecisionPlugin {
 public:
  /// `name` must outlive the plugin. `sets_default_dtype`: false leaves LibTorch's default dtype alone.
  TruePrecision(const char* name, at::ScalarType dtype, bool sets_default_dtype = true)
      : name_(name), dtype_(dtype), sets_default_dtype_(sets_default_dtype) {}

  const char* name() const override { return name_; }
  void convert_module(torch::nn::Module& module) const override { convert_floats(module, dtype_); }
  Batch convert_batch(Batch batch) const override { return batch.to(dtype_); }
  void forward_context(c10::function_ref<void()> step) const override;

 private:
  const char* name_;
  at::ScalarType dtype_;
  bool sets_default_dtype_;
};

}  // namespace levin
