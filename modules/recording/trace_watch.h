#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>

#include <optional>
#include <string>
#include <vector>

namespace levin::recording {

/// The scope of the nodes of a graph that ran without gradients.
inline constexpr const char* kWithoutGradients = "without_gradients";

/// Returns whether both are the same view of the same memory.
bool views_the_same(const at::Tensor& a, const at::Tensor& b);

/// While it lives, it watches the operators that this thread calls under LibTorch's tracer, and adds what the tracer
/// leaves out: nodes that ran without gradients get the scope kWithoutGradients, and reads of numbers are seen.
class TraceWatch {
 public:
  /// `inputs` are the tensors behind the graph's inputs.
  explicit TraceWatch(const std::vector<at::Tensor>& inputs);
  ~TraceWatch();
  TraceWatch(const TraceWatch&) = delete;
  TraceWatch& operator=(const TraceWatch&) = delete;

  /// Returns what was read first, if a number was read (item(), a comparison in C++) from a tensor that depends on the
  /// inputs or on random numbers: "a number of the result of aten::sum". The graph has such a number as a constant.
  const std::optional<std::string>& read() const { return read_; }

 private:
  static TraceWatch*& current();
  void begin(const at::RecordFunction& function);
  void mark_nodes() const;
  bool depends(const at::Tensor& tensor) const;

  const std::vector<at::Tensor>& inputs_;
  std::optional<std::string> read_ = {};
  TraceWatch* outer_;
  at::CallbackHandle handle_;
};

}  // namespace levin::recording
