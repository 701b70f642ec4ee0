#include <levin/modules/optim/engine/group_options.h>
#include <levin/trainer/core/system/error.h>

#include <nlohmann/json.hpp>

namespace levin::optim {

Json AnyGroupOptions::values() const {
  Json values = schema().get(const_cast<AnyGroupOptions*>(this)->data());
  rename_to_python(values);
  return values;
}

void AnyGroupOptions::set_values(const Json& values) {
  Json ours = values, known = Json::object();
  rename_from_python(ours);
  for (const auto& [key, value] : ours.items())
    if (schema().find(key)) known[key] = value;
  schema().set(data(), "param_groups", known);
}

void AnyGroupOptions::expect_two(const std::vector<double>& values, const std::string& path) {
  if (values.size() != 2) throw UsageError(path, ": expected two numbers, got ", values.size());
}

}  // namespace levin::optim
