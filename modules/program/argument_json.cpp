#include <levin/modules/program/argument_json.h>
#include <c10/core/Layout.h>
#include <levin/core/system/error.h>
#include <levin/modules/program/schema_numbers.h>

#include <limits>

namespace levin::program {
namespace {

using Json = nlohmann::json;

double real(const Json& json) {
  if (json.is_number()) return json.get<double>();
  const auto text = json.get<std::string>();
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  refuse("'" + text + "' is no number");
}

int64_t layout_of(int64_t number) {
  if (number != kStridedNumber) refuse("a tensor is sparse or of another layout; levin trains with strided ones");
  return static_cast<int64_t>(c10::Layout::Strided);
}

c10::Device device_of(const Json& json) {
  std::string text = json.at("type").get<std::string>();
  if (json.contains("index") && !json["index"].is_null()) text += ":" + std::to_string(read_integer(json["index"]));
  try {
    return c10::Device(text);
  } catch (const c10::Error&) {
    refuse("there is no device '" + text + "'");
  }
}

std::vector<Name> names_of(const Json& list) {
  std::vector<Name> names;
  for (const Json& item : list) names.push_back(read_name(item));
  return names;
}

/// One of SymIntArgument, SymFloatArgument, SymBoolArgument.
NumberOrName number_or_name_of(const Json& json) {
  const auto [kind, value] = read_union(json);
  if (kind == "as_name") return Name{value->get<std::string>()};
  if (kind == "as_int") return read_integer(*value);
  if (kind == "as_float") return real(*value);
  if (kind == "as_bool") return value->get<bool>();
  refuse("'" + kind + "' is no number");
}

Argument argument_of_number(const NumberOrName& value) {
  return std::visit([](const auto& held) { return Argument(held); }, value);
}

std::optional<Name> optional_name_of(const Json& json) {
  const auto [kind, value] = read_union(json);
  if (kind == "as_none") return std::nullopt;
  if (kind == "as_tensor") return read_name(*value);
  refuse("'" + kind + "' where a tensor or none was expected");
}

}  // namespace

void refuse(const std::string& what) { throw UsageError(what); }

int64_t read_integer(const Json& json) {
  if (!json.is_number_integer()) refuse("a whole number was expected, this is " + std::string(json.type_name()));
  if (json.is_number_unsigned() && json.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
    refuse("a number is beyond 64 bits");
  return json.get<int64_t>();
}

std::pair<std::string, const Json*> read_union(const Json& json) {
  if (!json.is_object() || json.size() != 1) refuse("an object with one key was expected");
  return {json.begin().key(), &json.begin().value()};
}

Name read_name(const Json& json) { return {json.at("name").get<std::string>()}; }

Size read_size(const Json& json) {
  const auto [kind, value] = read_union(json);
  if (kind == "as_int") return read_integer(*value);
  return value->at("expr_str").get<std::string>();
}

TensorMeta read_tensor_meta(const Json& json) {
  TensorMeta meta;
  meta.dtype = dtype_of(read_integer(json.at("dtype")));
  for (const Json& size : json.at("sizes")) meta.sizes.push_back(read_size(size));
  for (const Json& stride : json.at("strides")) meta.strides.push_back(read_size(stride));
  const Size offset = read_size(json.at("storage_offset"));
  if (const auto* number = std::get_if<int64_t>(&offset)) meta.storage_offset = *number;
  meta.requires_grad = json.at("requires_grad").get<bool>();
  meta.device = device_of(json.at("device"));
  layout_of(read_integer(json.at("layout")));
  return meta;
}

Argument read_argument(const Json& json) {
  const auto [kind, value] = read_union(json);
  if (kind == "as_none") return std::monostate();
  if (kind == "as_tensor") return read_name(*value);
  if (kind == "as_tensors") return names_of(*value);
  if (kind == "as_int") return read_integer(*value);
  if (kind == "as_float") return real(*value);
  if (kind == "as_bool") return value->get<bool>();
  if (kind == "as_string") return value->get<std::string>();
  if (kind == "as_scalar_type")
    return EnumValue{static_cast<int64_t>(dtype_of(read_integer(*value))), EnumValue::Of::Dtype};
  if (kind == "as_memory_format")
    return EnumValue{static_cast<int64_t>(memory_format_of(read_integer(*value))), EnumValue::Of::MemoryFormat};
  if (kind == "as_layout") return EnumValue{layout_of(read_integer(*value)), EnumValue::Of::Layout};
  if (kind == "as_device") return device_of(*value);
  if (kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool")
    return argument_of_number(number_or_name_of(*value));
  if (kind == "as_optional_tensor") {
    const auto name = optional_name_of(*value);
    return name ? Argument(*name) : Argument();
  }
  if (kind == "as_optional_tensors") {
    std::vector<std::optional<Name>> names;
    for (const Json& item : *value) names.push_back(optional_name_of(item));
    return names;
  }
  std::vector<NumberOrName> numbers;
  if (kind == "as_ints") {
    for (const Json& item : *value) numbers.emplace_back(read_integer(item));
  } else if (kind == "as_floats") {
    for (const Json& item : *value) numbers.emplace_back(real(item));
  } else if (kind == "as_bools") {
    for (const Json& item : *value) numbers.emplace_back(item.get<bool>());
  } else if (kind == "as_sym_ints" || kind == "as_sym_floats" || kind == "as_sym_bools") {
    for (const Json& item : *value) numbers.push_back(number_or_name_of(item));
  } else if (kind == "as_graph" || kind == "as_operator") {
    refuse(
        "it takes a graph of its own (torch.cond, map, scan, while_loop); levin runs straight programs: compute both "
        "sides and choose by torch.where, or write the loop out");
  } else {
    refuse("an argument of the kind '" + kind + "' is not supported");
  }
  return numbers;
}

Node::Output read_output(const Json& json) {
  const auto [kind, value] = read_union(json);
  if (kind == "as_none") return std::optional<Name>();
  if (kind == "as_tensor") return std::optional<Name>(read_name(*value));
  if (kind == "as_tensors") return names_of(*value);
  if (kind == "as_optional_tensor") return optional_name_of(*value);
  if (kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool") {
    const NumberOrName number = number_or_name_of(*value);
    if (const auto* name = std::get_if<Name>(&number)) return std::optional<Name>(*name);
    return std::optional<Name>();  // a number that was known at export
  }
  refuse("an output of the kind '" + kind + "' is not supported");
}

}  // namespace levin::program
