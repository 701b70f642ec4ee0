#pragma once
#include <ATen/core/Tensor.h>
#include <levin/modules/program/exported_program.h>

#include <map>
#include <string>
#include <vector>

namespace levin::program {

/// Checks the tensors that a program is given against those that it was exported for: dimensions, sizes, the ranges of
/// sizes that may change and that equal ones are equal, and the kind of dtype (a floating one may be another floating
/// one, as in 16-bit training).
class InputCheck {
 public:
  /// Of the program's inputs that are tensors of the user, in order; `names` names them for messages.
  InputCheck(const ExportedProgram& program, std::string file, std::vector<std::string> names);
  /// Throws levin::UsageError that names the input, and what the program expects.
  void operator()(const std::vector<at::Tensor>& tensors) const;

 private:
  struct Size {
    int64_t number = -1;          ///< fixed size
    int symbol = -1;              ///< index of the symbol, for a size that is one
    std::string expression = {};  ///< for a size that is computed from symbols
  };
  struct Wanted {
    at::ScalarType dtype = at::kFloat;
    std::vector<Size> sizes = {};
  };

  Size size_of(const program::Size& size);
  std::string expected(size_t input) const;

  std::string file_;
  std::vector<std::string> names_;
  std::vector<Wanted> inputs_ = {};
  std::vector<std::string> symbols_ = {};
  std::vector<Range> ranges_ = {};  ///< of each symbol
  bool has_expressions_ = false;
};

}  // namespace levin::program
