#pragma once
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace levin::program {

/// A size of a tensor: a number, or an expression of symbols as sympy's srepr writes it.
using Size = std::variant<int64_t, std::string>;

/// What a program says of a tensor.
struct TensorMeta {
  at::ScalarType dtype = at::kFloat;
  std::vector<Size> sizes = {}, strides = {};
  int64_t storage_offset = 0;
  bool requires_grad = false;
  c10::Device device = c10::kCPU;
};

/// The name of a value that a node or an input makes.
struct Name {
  std::string text;
};

/// A number in a list, or the name of one.
using NumberOrName = std::variant<int64_t, double, bool, Name>;

/// A value of an enum of LibTorch, already in LibTorch's numbering.
struct EnumValue {
  enum class Of { Dtype, Layout, MemoryFormat };
  int64_t value;
  Of of;
};

/// An argument of a node; std::monostate is None.
using Argument = std::variant<std::monostate, Name, std::vector<Name>, std::vector<std::optional<Name>>, int64_t,
                              double, bool, std::string, std::vector<NumberOrName>, EnumValue, c10::Device>;

/// What torch.autocast was given in forward.
struct AutocastRegion {
  c10::DeviceType device = c10::DeviceType::CPU;
  std::optional<at::ScalarType> dtype = {};
  bool enabled = true;
};

/// The regions around a node, the outermost first. The nodes of one `with` share theirs.
using AutocastRegions = std::vector<std::shared_ptr<const AutocastRegion>>;

/// One call of an operator.
struct Node {
  struct Input {
    std::string name;
    Argument value;
    bool is_keyword = false;
  };
  /// What an output is: one value, or a list of tensors. A value without a name is not used.
  using Output = std::variant<std::optional<Name>, std::vector<Name>>;

  std::string name, target;
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  std::vector<std::pair<std::string, std::string>> modules;  ///< path and class, from the outermost to the innermost
  std::string source_line;                                   ///< of the Python code that made the node
  std::optional<bool> gradients = {};  ///< whether gradients are recorded; unset: as around the program
  AutocastRegions autocast = {};
};

enum class InputKind { UserTensor, UserConstant, Parameter, Buffer, Constant };

struct Input {
  InputKind kind = InputKind::UserTensor;
  std::string value;   ///< the name in the graph
  std::string target;  ///< the name of the parameter, buffer or constant
  bool persistent = true;
};

enum class OutputKind { User, BufferMutation, UserConstant };

struct Output {
  OutputKind kind = OutputKind::User;
  std::string value;   ///< the name in the graph
  std::string buffer;  ///< that gets the value
};

struct Range {
  std::optional<int64_t> least = {}, most = {};
};

/// What torch.export.save wrote, without the tensors. Source: torch/_export/serde/schema.py of PyTorch.
struct ExportedProgram {
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  std::vector<Node> nodes;
  std::map<std::string, TensorMeta> tensors;  ///< by value
  std::map<std::string, Size> numbers;        ///< whole numbers that nodes make, by value
  std::map<std::string, Range> ranges;        ///< by symbol
  std::map<std::string, int64_t> hints;       ///< by symbol: its value when levin recorded the program
  std::vector<std::string> modules;           ///< paths, in the order of named_modules()
  std::vector<std::string> argument_names;    ///< of forward; empty if unknown
  std::string in_spec, out_spec;              ///< the structures of inputs and outputs, as pytree's JSON
};

}  // namespace levin::program
