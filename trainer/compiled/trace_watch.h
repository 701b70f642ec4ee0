#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>

#include <vector>

namespace levin::compiled {

/// While it lives, it watches the operators that this thread calls under LibTorch's tracer, and adds what the tracer
/// leaves out: nodes that ran without gradients get the scope kWithoutGradients, and reads of numbers are seen.
class TraceWatch {
 public:
  /// `inputs` are the tensors behind the graph's inputs.
  explicit TraceWatch(const std::vector<at::Tensor>& inputs);
  ~TraceWatch();
  TraceWatch(const TraceWatch&) = delete;
  TraceWatch& operator=(const TraceWatch&) = delete;

  /// Returns whether a number was read (item(), a comparison in C++) from a tensor that depends on the inputs or on
  /// random numbers. The graph has such a number as a constant.
  bool has_read() const { return has_read_; }

 private:
  static TraceWatch*& current();
  void begin(const at::RecordFunction& function);
  void mark_nodes() const;
  bool depends(const at::Tensor& tensor) const;

  const std::vector<at::Tensor>& inputs_;
  bool has_read_ = false;
  TraceWatch* outer_;
  at::CallbackHandle handle_;
};

}  // namespace levin::compiled
