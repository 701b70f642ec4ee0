#include <levin/modules/optim/engine/group_options.h>
#include <levin/core/system/error.h>

#include <nlohmann/json.hpp>

namespace levin::optim {

Json AnyGroupOptions::values() const {
  Json values = schema().get(const_cast<AnyGroupOptions*>(this)->data());
  rename_to_python(values);
  return values;
}

void AnyGroupOptions::set_values(const Json& values) {
  Json ours = values;
  rename_from_python(ours);
  // Bounds are for what users write: a schedule that ends at 0 may have gone a rounding error below it.
  for (const auto& [key, value] : ours.items())
    if (const Field* field = schema().find(key))
      field->type->set(field->in(data()), join_path("param_groups", key), value, {.choices = field->limits.choices});
}

void AnyGroupOptions::expect_two(const std::vector<double>& values, const std::string& path) {
  if (values.size() != 2) throw UsageError(path, ": expected two numbers, got ", values.size());
}

}  // namespace levin::optim
