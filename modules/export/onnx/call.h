#pragma once
#include <ATen/core/Tensor.h>
#include <levin/modules/export/onnx/model.h>
#include <levin/modules/program/exported_program.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace levin::onnx {

using Names = std::vector<std::string>;
using Attributes = std::map<std::string, Attribute>;

/// Adds nodes and constants to a model.
class Builder {
 public:
  explicit Builder(Model& model) : model_(model) {}

  /// Adds a node; returns its output.
  std::string add(const std::string& op, const Names& inputs, const Attributes& attributes = {}) {
    return add_many(op, inputs, 1, attributes).front();
  }
  Names add_many(const std::string& op, const Names& inputs, size_t outputs, const Attributes& attributes = {});
  /// Returns an initializer with these values.
  std::string constant(const at::Tensor& values);
  /// Adds one for `name`, with a number behind it if the name is taken.
  std::string constant(const std::string& name, const at::Tensor& values);
  /// A whole number, or several in one dimension, of int64.
  std::string whole(int64_t value);
  std::string wholes(const std::vector<int64_t>& values);
  /// A number of no dimension.
  std::string number(double value, at::ScalarType dtype);

 private:
  Model& model_;
  size_t next_ = 0;
  std::map<std::string, std::string> constants_ = {};  ///< by contents
  std::map<std::string, size_t> named_ = {};           ///< how often a name was asked for
};

/// A weight as whole numbers, with a scale for each place along a dimension.
struct WholeWeight {
  std::string name = {};
  at::Tensor numbers = {}, scales = {};
  int64_t axis = 0;
};

/// The values of a program that have one in the model.
struct Values {
  std::map<std::string, std::string> names = {};   ///< by the program's name
  std::map<std::string, at::Tensor> tensors = {};  ///< parameters, buffers and constants, by the program's name
  std::map<std::string, WholeWeight> whole = {};   ///< by the model's name
};

/// A node of a program that becomes nodes of a model.
class Call {
 public:
  Call(const program::ExportedProgram& program, const program::Node& node, Values& values, Builder& builder);

  Builder& build() const { return builder_; }
  std::string add(const std::string& op, const Names& inputs, const Attributes& attributes = {}) const {
    return builder_.add(op, inputs, attributes);
  }
  /// Throws levin::UsageError: the node does what ONNX lacks, or levin does not write.
  [[noreturn]] void refuse(const std::string& why) const;

  // Arguments, by the operator's names; those that are left out have their defaults.
  const program::Argument& argument(const std::string& name) const;
  bool has(const std::string& name) const;
  bool is_tensor(const std::string& name) const;
  int64_t integer(const std::string& name) const;
  double real(const std::string& name) const;
  bool flag(const std::string& name) const;
  std::string text(const std::string& name) const;
  std::vector<int64_t> integers(const std::string& name) const;
  /// Returns the numbers of a list for each of `count` dimensions, of which one may stand for all.
  std::vector<int64_t> integers(const std::string& name, size_t count) const;
  /// Returns the dimension that the argument names, counted from the first one, of a tensor that has `dims` dimensions.
  int64_t dim(const std::string& name, size_t dims) const;
  std::vector<int64_t> dims(const std::string& name, size_t dims) const;

  // Tensors.
  std::string value(const std::string& name) const;
  Names values(const std::string& name) const;
  /// The tensor at a place of a list some of which may be none.
  std::string optional_value(const std::string& name, size_t place) const;
  at::ScalarType optional_dtype(const std::string& name, size_t place) const;
  /// Whether the operator, in this overload, has an argument of this name.
  bool has_argument(const std::string& name) const { return arguments_.contains(name); }
  const program::TensorMeta& meta(const std::string& name) const;
  size_t rank(const std::string& name) const { return meta(name).sizes.size(); }
  /// The size of a dimension. Throws levin::UsageError if it may change.
  int64_t size(const std::string& name, int64_t dim) const;
  std::vector<program::TensorMeta> metas(const std::string& name) const;
  /// The values of a list of parameters, buffers or constants; empty if nodes compute one of them.
  std::vector<at::Tensor> tensors(const std::string& name) const;

  /// The value of a parameter, buffer or constant; undefined if nodes compute it.
  at::Tensor tensor(const std::string& name) const;
  /// Makes a weight of whole numbers a value of the model.
  std::string add_weight(const WholeWeight& weight) const;
  /// Returns a matrix of the model with its last two dimensions in the other order.
  std::string transposed(const std::string& value, size_t dims) const;

  /// A tensor as it is, or a number, of this dtype.
  std::string cast(const std::string& name, at::ScalarType dtype) const;
  /// A list of sizes, or one size, as a tensor of int64 of one dimension.
  std::string sizes(const std::string& name) const;
  std::string cast_value(const std::string& value, at::ScalarType from, at::ScalarType to) const;
  std::string scalar(double value) const { return builder_.number(value, result().dtype); }

  const program::TensorMeta& result(size_t output = 0) const;
  size_t results() const { return outputs_.size(); }
  void give(const std::string& value, size_t output = 0) const;

 private:
  const program::TensorMeta& meta_of(const program::Name& name) const;
  std::string size_value(const program::NumberOrName& size) const;

  const program::ExportedProgram& program_;
  const program::Node& node_;
  Values& values_;
  Builder& builder_;
  std::map<std::string, program::Argument> arguments_ = {};
  std::vector<std::string> outputs_ = {};
};

/// How an operator of ATen becomes nodes, by its name without overload.
using Converters = std::map<std::string, std::function<void(const Call& call)>>;
void add_elementwise(Converters& converters);
void add_shapes(Converters& converters);
void add_reductions(Converters& converters);
void add_layers(Converters& converters);
void add_antialiased_resize(Converters& converters);
void add_quantization(Converters& converters);
void add_recurrent(Converters& converters);

/// Returns {begin, begin + 1, ..., end - 1}.
inline std::vector<int64_t> range_of(int64_t begin, int64_t end) {
  std::vector<int64_t> numbers;
  for (int64_t i = begin; i < end; ++i) numbers.push_back(i);
  return numbers;
}

}  // namespace levin::onnx
