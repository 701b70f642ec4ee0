#include <levin/core/state/json_state.h>
#include <levin/core/system/error.h>

#include <nlohmann/json.hpp>

namespace levin {
namespace {

using OrderedJson = nlohmann::ordered_json;

State to_state(const OrderedJson& json) {
  if (json.is_boolean()) return State(json.get<bool>());
  if (json.is_number_float()) return State(json.get<double>());
  if (json.is_number()) return State(json.get<int64_t>());
  if (json.is_string()) return State(json.get<std::string>());
  if (json.is_array()) {
    State list = State::list();
    for (const OrderedJson& item : json) list.push_back(to_state(item));
    return list;
  }
  if (!json.is_object()) return {};
  State dict = State::dict();
  for (const auto& [key, value] : json.items()) dict[key] = to_state(value);
  return dict;
}

OrderedJson to_json(const State& state, const std::string& place) {
  if (state.is_bool()) return state.to_bool();
  if (state.is_int()) return state.to_int();
  if (state.is_float()) return state.to_double();
  if (state.is_string()) return state.to_string();
  if (state.is_none()) return nullptr;
  if (state.is_tensor() && state.to_tensor().numel() == 1) {
    const at::Tensor& tensor = state.to_tensor();
    if (tensor.is_floating_point()) return tensor.item<double>();
    if (tensor.scalar_type() == at::kBool) return tensor.item<bool>();
    if (!tensor.is_complex()) return tensor.item<int64_t>();
  }
  if (state.is_list() || state.is_tuple()) {
    OrderedJson array = OrderedJson::array();
    for (const State& item : state.items()) array.push_back(to_json(item, place + "[]"));
    return array;
  }
  if (!state.is_dict()) throw Error(place.empty() ? "state" : place, ": a ", state.kind(), " has no place in JSON");
  OrderedJson object = OrderedJson::object();
  for (const auto& [key, value] : state.to_dict())
    object[to_text(key)] = to_json(value, place.empty() ? to_text(key) : place + "." + to_text(key));
  return object;
}

}  // namespace

State state_of_json(const std::string& json) try {
  return to_state(OrderedJson::parse(json));
} catch (const OrderedJson::exception& error) {
  throw Error("expected JSON: ", error.what());
}

std::string json_of_state(const State& state) { return to_json(state, "").dump(); }

}  // namespace levin
