#include <levin/data/learned_state.h>
#include <c10/util/Type.h>
#include <levin/core/options/registry.h>
#include <levin/core/state/json_state.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>

#include <typeinfo>
#include <utility>

namespace levin::data {
namespace {

std::string class_of(const DataModule& data_module) {
  return detail::unqualified(c10::demangle(typeid(data_module).name()));
}

/// Returns the names of the entries that differ; empty if none does.
std::string differences(const State& own, const State& saved) {
  if (!own.is_dict() || !saved.is_dict()) return json_of_state(own) == json_of_state(saved) ? "" : "all of it";
  std::string names;
  for (const auto& [key, value] : saved.to_dict()) {
    const State* const here = own.find(key);
    if (here == nullptr || json_of_state(*here) != json_of_state(value))
      names += (names.empty() ? "" : ", ") + levin::to_text(key);
  }
  return names;
}

}  // namespace

State learned_section(DataModule& data_module) {
  State learned = data_module.learned_state();
  if (learned.is_none()) return {};
  return State::dict({{"class", class_of(data_module)}, {"learned", std::move(learned)}});
}

void use_learned_section(DataModule& data_module, const State& section, const std::string& file) try {
  if (section.is_none()) return;
  const std::string trained = section.at("class").to_string(), own_class = class_of(data_module);
  if (trained != own_class) {
    console::warn(file + ": its model was trained on the data module " + trained +
                  ", and what that has learned of its "
                  "data is not used by " +
                  own_class);
    return;
  }
  const State& saved = section.at("learned");
  State own;
  try {
    own = data_module.learned_state();
  } catch (const UsageError&) {
    // The training data are not here, so that nothing says otherwise.
  }
  const std::string names = own.is_none() ? "" : differences(own, saved);
  if (!own.is_none() && names.empty()) return;
  if (!names.empty())
    console::warn("the training data of the config say otherwise than " + file + ", whose values are used: " + names);
  data_module.load_learned_state(saved);
} catch (const Error& error) {
  throw UsageError(file, ": what it says of the training data cannot be used: ", error.what());
}

}  // namespace levin::data
