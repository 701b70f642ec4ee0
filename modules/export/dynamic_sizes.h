#pragma once
#include <ATen/core/Tensor.h>
#include <levin/modules/export/export_program.h>
#include <levin/modules/export/symbolic_sizes.h>

#include <cstdint>
#include <string>
#include <vector>

namespace levin::program {

/// The inputs of a function whose sizes may change.
class DynamicInputs {
 public:
  /// Throws levin::UsageError for inputs, dimensions and ranges that there are not.
  DynamicInputs(const std::vector<DynamicSize>& dynamic, const std::vector<std::string>& names,
                const std::vector<at::Tensor>& example);

  /// Takes the symbols' sizes from inputs that the function reads: `read` says of each input whether it does. Throws
  /// levin::UsageError if it reads none of a size.
  void choose_places(const std::vector<bool>& read);
  const std::vector<Symbol>& symbols() const { return symbols_; }
  /// Returns the symbols' values in the smallest recording: those of the example, of a batch as few samples as may be,
  /// and no size of 1, which operators would broadcast.
  const std::vector<int64_t>& base() const { return base_; }
  /// Returns inputs in which the symbols have these values: samples of the example, repeated or left out.
  std::vector<at::Tensor> resized(const std::vector<at::Tensor>& example, const std::vector<int64_t>& point) const;

 private:
  struct Dimension {
    size_t input;
    int64_t dim;
    size_t symbol;
  };
  size_t symbol_of(const DynamicSize& size, int64_t example_size);

  std::vector<std::string> names_;
  std::vector<Symbol> symbols_ = {};
  std::vector<int64_t> base_ = {}, of_example_ = {};
  std::vector<Dimension> dimensions_ = {};
};

}  // namespace levin::program
