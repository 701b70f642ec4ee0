#pragma once
#include <levin/core/options/option.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace levin::cli {

/// A config and the origin of each of its values.
///
/// Values have paths: "model.optimizer.lr", "trainer.callbacks[0].monitor".
struct Config {
  Json values = Json::object();
  /// By path: "configs/a.json:12", "LEVIN__TRAINER__MAX_EPOCHS", "--max-epochs". A value without an origin was not
  /// written.
  std::map<std::string, std::string> origins = {};
  /// By path: the original text of a value that was written with `${...}`.
  std::map<std::string, std::string> references = {};
  /// Paths of `references` whose value comes, directly or through another reference, from the environment and may be a
  /// secret.
  std::set<std::string> from_environment = {};

  /// Returns the origin of the value at `path` or of the nearest enclosing value that has one; empty without one.
  std::string nearest_origin(std::string path) const;
  /// Sets the origin of the value at `path` and of everything inside it.
  void set_origin(const std::string& path, const Json& value, const std::string& origin);
  /// Removes the value. For an item of a list, removes the whole list.
  void erase(const std::string& path);
};

/// Merges `over` into `base`, object by object; lists replace lists. An object that names another "class" replaces the
/// earlier one, whose options belong to another class. `schema` gives the default class if none is named.
///
/// A key "callbacks+=" appends its value, or each of its values, to the list "callbacks". An object with keys like
/// "[2]" changes these items of a list. Throws UsageError if there is no such item or no list.
void merge(const Schema& schema, Config& base, const Config& over);

/// Returns the class that a part of a config names, by its "class" or as a plain text; empty without one. `${env:NAME}`
/// is replaced if the environment has NAME.
std::string class_name_of(const Json& part);

/// Splits "a.b[2].c" into {"a", "b", "[2]", "c"}.
std::vector<std::string> keys_of(const std::string& path);
/// Joins keys into a path; the inverse of `keys_of`.
std::string path_of(const std::vector<std::string>& keys);
/// Returns "path[index]".
std::string item_path(const std::string& path, size_t index);
/// Returns the value at `keys`; nullptr if there is none.
const Json* find_value(const Json& root, const std::vector<std::string>& keys);

/// The option at a path of a config.
struct FoundOption {
  const OptionType* type = nullptr;  ///< of the item, if the path ends with an index
  Limits limits = {};
  Json by_default = nullptr;
  bool is_class = false;  ///< the path ends with the "class" of a part; `type` is the part's type
};

/// Finds an option by walking the schemas along `keys`, using the classes that `values` chooses or else the default
/// classes. Throws UsageError, for example "model.nett: no such option (did you mean net?)".
FoundOption find_option(const Schema& schema, const Json& values, const std::vector<std::string>& keys);

}  // namespace levin::cli
