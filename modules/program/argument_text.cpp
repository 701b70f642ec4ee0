#include <levin/modules/program/argument_text.h>
#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <levin/modules/program/argument_json.h>
#include <levin/modules/program/schema_numbers.h>
#include <levin/modules/program/size_expression.h>

#include <cmath>
#include <utility>

namespace levin::program {
namespace {

using OrderedJson = nlohmann::ordered_json;

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};

/// JSON has no number for these.
OrderedJson write_real(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

OrderedJson write_device(const c10::Device& device) {
  return {{"type", c10::DeviceTypeName(device.type(), /*lower_case=*/true)},
          {"index", device.has_index() ? OrderedJson(device.index()) : OrderedJson()}};
}

OrderedJson optional_tensor(const std::optional<Name>& name) {
  if (!name) return {{"as_none", true}};
  return write_tensor_name(name->text);
}

OrderedJson enum_value(const EnumValue& value) {
  switch (value.of) {
    case EnumValue::Of::Dtype:
      return {{"as_scalar_type", number_of(static_cast<at::ScalarType>(value.value))}};
    case EnumValue::Of::Layout:
      return {{"as_layout", kStridedNumber}};
    case EnumValue::Of::MemoryFormat:
      break;
  }
  return {{"as_memory_format", number_of(static_cast<c10::MemoryFormat>(value.value))}};
}

/// Of a list that has a name, each number says its kind.
OrderedJson numbers(const std::vector<NumberOrName>& list) {
  bool is_symbolic = false, is_real = false, is_bool = false;
  for (const NumberOrName& item : list) {
    is_symbolic = is_symbolic || std::holds_alternative<Name>(item);
    is_real = is_real || std::holds_alternative<double>(item);
    is_bool = is_bool || std::holds_alternative<bool>(item);
  }
  OrderedJson items = OrderedJson::array();
  for (const NumberOrName& item : list) {
    const auto add = [&](const char* kind, OrderedJson value) {
      items.push_back(is_symbolic ? OrderedJson{{kind, std::move(value)}} : std::move(value));
    };
    std::visit(Overloaded{[&](int64_t value) { add("as_int", value); }, [&](bool value) { add("as_bool", value); },
                          [&](double value) { add("as_float", write_real(value)); },
                          [&](const Name& name) { add("as_name", name.text); }},
               item);
  }
  const char* const kind = is_real ? "float" : is_bool ? "bool" : "int";
  return {{std::string(is_symbolic ? "as_sym_" : "as_") + kind + "s", std::move(items)}};
}

}  // namespace

OrderedJson write_tensor_name(const std::string& name) { return {{"as_tensor", {{"name", name}}}}; }

OrderedJson write_size(const Size& size, const std::map<std::string, int64_t>& hints) {
  if (const auto* number = std::get_if<int64_t>(&size)) return {{"as_int", *number}};
  const auto& expression = std::get<std::string>(size);
  const std::optional<int64_t> hint = value_of(expression, hints);
  return {{"as_expr", {{"expr_str", expression}, {"hint", hint ? OrderedJson{{"as_int", *hint}} : OrderedJson()}}}};
}

OrderedJson write_tensor_meta(const TensorMeta& meta, const std::map<std::string, int64_t>& hints) {
  const auto list = [&](const std::vector<Size>& sizes) {
    OrderedJson items = OrderedJson::array();
    for (const Size& size : sizes) items.push_back(write_size(size, hints));
    return items;
  };
  return {{"dtype", number_of(meta.dtype)},
          {"sizes", list(meta.sizes)},
          {"requires_grad", meta.requires_grad},
          {"device", write_device(meta.device)},
          {"strides", list(meta.strides)},
          {"storage_offset", {{"as_int", meta.storage_offset}}},
          {"layout", kStridedNumber}};
}

OrderedJson write_argument(const ExportedProgram& program, const Argument& argument) {
  const auto tensors = [](const auto& names, const auto& write) {
    OrderedJson items = OrderedJson::array();
    for (const auto& name : names) items.push_back(write(name));
    return items;
  };
  return std::visit(
      Overloaded{[](std::monostate) -> OrderedJson { return {{"as_none", true}}; },
                 [&](const Name& name) -> OrderedJson {
                   if (program.tensors.contains(name.text)) return write_tensor_name(name.text);
                   return {{"as_sym_int", {{"as_name", name.text}}}};
                 },
                 [&](const std::vector<Name>& names) -> OrderedJson {
                   return {{"as_tensors",
                            tensors(names, [](const Name& name) -> OrderedJson { return {{"name", name.text}}; })}};
                 },
                 [&](const std::vector<std::optional<Name>>& names) -> OrderedJson {
                   return {{"as_optional_tensors", tensors(names, optional_tensor)}};
                 },
                 [](int64_t value) -> OrderedJson { return {{"as_int", value}}; },
                 [](double value) -> OrderedJson { return {{"as_float", write_real(value)}}; },
                 [](bool value) -> OrderedJson { return {{"as_bool", value}}; },
                 [](const std::string& text) -> OrderedJson { return {{"as_string", text}}; },
                 [](const std::vector<NumberOrName>& list) -> OrderedJson { return numbers(list); },
                 [](const EnumValue& value) -> OrderedJson { return enum_value(value); },
                 [](const c10::Device& value) -> OrderedJson { return {{"as_device", write_device(value)}}; }},
      argument);
}

OrderedJson write_output(const ExportedProgram& program, const Node::Output& output) {
  if (const auto* names = std::get_if<std::vector<Name>>(&output)) return write_argument(program, *names);
  const std::optional<Name>& name = std::get<std::optional<Name>>(output);
  return name ? write_argument(program, *name) : OrderedJson{{"as_none", true}};
}

}  // namespace levin::program
