#include <levin/core/state/deep_copy.h>

namespace levin {

State deep_copy(const State& state) {
  if (state.is_tensor()) return state.to_tensor().defined() ? State(state.to_tensor().detach().clone()) : state;
  State copy = state;
  if (copy.is_list())
    for (State& item : copy.items()) item = deep_copy(item);
  if (copy.is_tuple()) {
    State::Tuple items;
    for (const State& item : state.items()) items.items.push_back(deep_copy(item));
    return items;
  }
  if (copy.is_dict())
    for (auto& [key, item] : copy.to_dict()) item = deep_copy(item);
  return copy;
}

}  // namespace levin
