#pragma once
#include <levin/core/options/option_type.h>
#include <levin/program/profile/profile_report.h>

#include <nlohmann/json.hpp>
#include <string>

namespace levin {

/// Returns the JSON pointer of "trainer.callbacks[0].monitor".
Json::json_pointer pointer_of(const std::string& path);
/// Returns the value at a path such as "trainer.num_threads"; null if there is none.
Json value_at(const Json& config, const std::string& path);
/// Returns whether there is a value, which may be null.
bool has(const Json& config, const std::string& path);
/// Returns the change of the value at `path` to `after`.
ProfileChange change_of(const Json& config, const std::string& path, const Json& after);
bool is_true(const Json& value);
bool is_unset_or_true(const Json& value);

}  // namespace levin
