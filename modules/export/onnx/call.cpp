#include <levin/modules/export/onnx/call.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>
#include <levin/core/system/error.h>
#include <levin/modules/export/program_of_graph.h>

#include <utility>

namespace levin::onnx {
namespace {

using program::Argument, program::Name, program::NumberOrName;

std::optional<int64_t> fixed(const program::Size& size) {
  if (const auto* number = std::get_if<int64_t>(&size)) return *number;
  return std::nullopt;
}

/// What an operator takes for an argument that is left out.
Argument default_of(const c10::IValue& value) {
  if (value.isBool()) return value.toBool();
  if (value.isInt()) return value.toInt();
  if (value.isDouble()) return value.toDouble();
  if (value.isString()) return value.toStringRef();
  if (value.isIntList()) {
    std::vector<NumberOrName> list;
    for (const int64_t item : value.toIntVector()) list.emplace_back(item);
    return list;
  }
  return std::monostate();
}

}  // namespace

Names Builder::add_many(const std::string& op, const Names& inputs, size_t outputs, const Attributes& attributes) {
  Node node{op, inputs, {}, attributes};
  for (size_t i = 0; i < outputs; ++i) node.outputs.push_back("v" + std::to_string(next_++));
  model_.nodes.push_back(node);
  return node.outputs;
}

std::string Builder::constant(const at::Tensor& values) {
  const at::Tensor held = values.detach().cpu().contiguous();
  constexpr size_t kSmall = 256;
  std::string key;
  if (held.nbytes() <= kSmall) {
    key = c10::str(toString(held.scalar_type()), held.sizes(), ' ');
    if (held.numel() > 0) key.append(static_cast<const char*>(held.const_data_ptr()), held.nbytes());
    if (const auto known = constants_.find(key); known != constants_.end()) return known->second;
  }
  const std::string name = "c" + std::to_string(next_++);
  model_.initializers.emplace_back(name, held);
  if (!key.empty()) constants_[key] = name;
  return name;
}

std::string Builder::constant(const std::string& name, const at::Tensor& values) {
  const size_t taken = named_[name]++;
  const std::string unique = taken == 0 ? name : name + "_" + std::to_string(taken + 1);
  model_.initializers.emplace_back(unique, values.detach().cpu().contiguous());
  return unique;
}

std::string Builder::whole(int64_t value) { return constant(at::scalar_tensor(value, at::kLong)); }
std::string Builder::wholes(const std::vector<int64_t>& values) { return constant(at::tensor(values, at::kLong)); }
std::string Builder::number(double value, at::ScalarType dtype) { return constant(at::scalar_tensor(value, dtype)); }

Call::Call(const program::ExportedProgram& program, const program::Node& node, Values& values, Builder& builder)
    : program_(program), node_(node), values_(values), builder_(builder) {
  for (const program::Node::Input& input : node.inputs) arguments_[input.name] = input.value;
  for (const program::Node::Output& output : node.outputs) {
    if (const auto* one = std::get_if<std::optional<Name>>(&output)) {
      outputs_.push_back(*one ? (*one)->text : "");
    } else {
      for (const Name& name : std::get<std::vector<Name>>(output)) outputs_.push_back(name.text);
    }
  }
  constexpr std::string_view kAten = "torch.ops.aten.";
  if (!node.target.starts_with(kAten)) return;
  const std::string name = node.target.substr(kAten.size());
  const size_t dot = name.find('.');
  const std::string overload = name.substr(dot + 1);
  const auto found =
      c10::Dispatcher::singleton().findSchema({"aten::" + name.substr(0, dot), overload == "default" ? "" : overload});
  if (!found) return;
  for (const c10::Argument& declared : found->schema().arguments())
    if (declared.default_value()) arguments_.emplace(declared.name(), default_of(*declared.default_value()));
}

void Call::refuse(const std::string& why) const {
  throw UsageError("ONNX export: ", program::named_operator(node_), " (", node_.name, ") ", why);
}

const Argument& Call::argument(const std::string& name) const {
  const auto found = arguments_.find(name);
  if (found == arguments_.end()) refuse("has no argument " + name);
  return found->second;
}

bool Call::has(const std::string& name) const {
  const auto found = arguments_.find(name);
  return found != arguments_.end() && !std::holds_alternative<std::monostate>(found->second);
}

bool Call::is_tensor(const std::string& name) const {
  const auto* held = std::get_if<Name>(&argument(name));
  return held != nullptr && program_.tensors.contains(held->text);
}

int64_t Call::integer(const std::string& name) const {
  const Argument& held = argument(name);
  if (const auto* whole = std::get_if<int64_t>(&held)) return *whole;
  if (const auto* truth = std::get_if<bool>(&held)) return static_cast<int64_t>(*truth);
  refuse("takes as " + name + " a number that may change");
}

double Call::real(const std::string& name) const {
  if (const auto* number = std::get_if<double>(&argument(name))) return *number;
  return static_cast<double>(integer(name));
}

bool Call::flag(const std::string& name) const { return has(name) && integer(name) != 0; }

std::string Call::text(const std::string& name) const {
  const auto* held = std::get_if<std::string>(&argument(name));
  return held == nullptr ? "" : *held;
}

std::vector<int64_t> Call::integers(const std::string& name) const {
  if (!has(name)) return {};
  const auto* list = std::get_if<std::vector<NumberOrName>>(&argument(name));
  if (list == nullptr) return {integer(name)};
  std::vector<int64_t> numbers;
  for (const NumberOrName& item : *list) {
    const auto* whole = std::get_if<int64_t>(&item);
    if (whole == nullptr) refuse("takes as " + name + " numbers that may change");
    numbers.push_back(*whole);
  }
  return numbers;
}

std::vector<int64_t> Call::integers(const std::string& name, size_t count) const {
  std::vector<int64_t> numbers = integers(name);
  if (numbers.size() == 1) numbers.resize(count, numbers.front());
  return numbers;
}

int64_t Call::dim(const std::string& name, size_t dims) const {
  const int64_t given = integer(name);
  return given < 0 ? given + static_cast<int64_t>(dims) : given;
}

std::vector<int64_t> Call::dims(const std::string& name, size_t dims) const {
  std::vector<int64_t> numbers = integers(name);
  if (numbers.empty()) return range_of(0, static_cast<int64_t>(dims));
  for (int64_t& number : numbers)
    if (number < 0) number += static_cast<int64_t>(dims);
  return numbers;
}

std::string Call::value(const std::string& name) const {
  const auto* held = std::get_if<Name>(&argument(name));
  if (held == nullptr) refuse("takes a number as " + name + ", where a tensor was expected");
  return values_.names.at(held->text);
}

Names Call::values(const std::string& name) const {
  Names values;
  if (const auto* list = std::get_if<std::vector<Name>>(&argument(name)))
    for (const Name& item : *list) values.push_back(values_.names.at(item.text));
  return values;
}

at::ScalarType Call::optional_dtype(const std::string& name, size_t place) const {
  return meta_of(*std::get<std::vector<std::optional<Name>>>(argument(name)).at(place)).dtype;
}

std::string Call::optional_value(const std::string& name, size_t place) const {
  const auto& list = std::get<std::vector<std::optional<Name>>>(argument(name));
  return values_.names.at(list.at(place)->text);
}

const program::TensorMeta& Call::meta_of(const Name& name) const { return program_.tensors.at(name.text); }

const program::TensorMeta& Call::meta(const std::string& name) const {
  const auto* held = std::get_if<Name>(&argument(name));
  if (held == nullptr || !program_.tensors.contains(held->text)) refuse("takes no tensor as " + name);
  return meta_of(*held);
}

std::vector<program::TensorMeta> Call::metas(const std::string& name) const {
  std::vector<program::TensorMeta> metas;
  if (const auto* list = std::get_if<std::vector<Name>>(&argument(name)))
    for (const Name& item : *list) metas.push_back(meta_of(item));
  return metas;
}

int64_t Call::size(const std::string& name, int64_t dim) const {
  const auto number = fixed(meta(name).sizes.at(static_cast<size_t>(dim)));
  if (!number) refuse("needs the size of dimension " + std::to_string(dim) + " of " + name + ", which may change");
  return *number;
}

std::vector<at::Tensor> Call::tensors(const std::string& name) const {
  std::vector<at::Tensor> tensors;
  if (const auto* list = std::get_if<std::vector<Name>>(&argument(name)))
    for (const Name& item : *list) {
      const auto found = values_.tensors.find(item.text);
      if (found == values_.tensors.end()) return {};
      tensors.push_back(found->second);
    }
  return tensors;
}

at::Tensor Call::tensor(const std::string& name) const {
  const auto* held = std::get_if<Name>(&argument(name));
  const auto found = held == nullptr ? values_.tensors.end() : values_.tensors.find(held->text);
  return found == values_.tensors.end() ? at::Tensor() : found->second;
}

std::string Call::add_weight(const WholeWeight& weight) const {
  const at::Tensor zeros = at::zeros_like(weight.scales, weight.numbers.scalar_type());
  const std::string value =
      add("DequantizeLinear",
          {builder_.constant(weight.name, weight.numbers), builder_.constant(weight.scales), builder_.constant(zeros)},
          {{"axis", weight.axis}});
  values_.whole[value] = weight;
  return value;
}

std::string Call::transposed(const std::string& value, size_t dims) const {
  if (const auto found = values_.whole.find(value); found != values_.whole.end() && dims == 2) {
    const WholeWeight weight = found->second;
    return add_weight({weight.name + "_transposed", weight.numbers.t(), weight.scales, 1 - weight.axis});
  }
  std::vector<int64_t> order = range_of(0, static_cast<int64_t>(dims));
  std::swap(order[dims - 1], order[dims - 2]);
  return add("Transpose", {value}, {{"perm", std::move(order)}});
}

std::string Call::cast_value(const std::string& value, at::ScalarType from, at::ScalarType to) const {
  return from == to ? value : add("Cast", {value}, {{"to", onnx_dtype(to)}});
}

std::string Call::cast(const std::string& name, at::ScalarType dtype) const {
  if (is_tensor(name)) return cast_value(value(name), meta(name).dtype, dtype);
  if (std::holds_alternative<Name>(argument(name)))  // a size
    return cast_value(add("Squeeze", {value(name)}), at::kLong, dtype);
  return builder_.number(real(name), dtype);
}

std::string Call::size_value(const NumberOrName& size) const {
  if (const auto* name = std::get_if<Name>(&size)) return values_.names.at(name->text);
  return builder_.wholes({std::get<int64_t>(size)});
}

std::string Call::sizes(const std::string& name) const {
  const Argument& held = argument(name);
  if (const auto* one = std::get_if<Name>(&held)) return values_.names.at(one->text);
  if (const auto* whole = std::get_if<int64_t>(&held)) return builder_.wholes({*whole});
  const auto* list = std::get_if<std::vector<NumberOrName>>(&held);
  if (list == nullptr) refuse("takes no sizes as " + name);
  bool is_fixed = true;
  std::vector<int64_t> numbers;
  Names values;
  for (const NumberOrName& item : *list) {
    is_fixed = is_fixed && std::holds_alternative<int64_t>(item);
    if (is_fixed) numbers.push_back(std::get<int64_t>(item));
  }
  if (is_fixed) return builder_.wholes(numbers);
  for (const NumberOrName& item : *list) values.push_back(size_value(item));
  return add("Concat", values, {{"axis", int64_t{0}}});
}

const program::TensorMeta& Call::result(size_t output) const { return program_.tensors.at(outputs_.at(output)); }

void Call::give(const std::string& value, size_t output) const {
  if (!outputs_.at(output).empty()) values_.names[outputs_[output]] = value;
}

}  // namespace levin::onnx
