#pragma once
#include <levin/trainer/core/option.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace levin::cli {

/// A config, and where each of its values was written.
///
/// Values are found by their path: "model.optimizer.lr", "trainer.callbacks[0].monitor".
struct Config {
  Json values = Json::object();
  /// By path: "configs/a.json:12", "LEVIN__TRAINER__MAX_EPOCHS", "--max-epochs". What has none was not written.
  std::map<std::string, std::string> origins = {};
  /// By path: the text of a value that was written with `${...}` in it.
  std::map<std::string, std::string> references = {};
  /// Paths of `references` whose value comes from the environment, also by way of another value: perhaps a secret.
  std::set<std::string> from_environment = {};

  /// The origin of that value or of what it stands in; empty where nothing of it was written.
  std::string nearest_origin(std::string path) const;
  /// Says that the value at `path`, with all that stands in it, came from `origin`.
  void set_origin(const std::string& path, const Json& value, const std::string& origin);
  /// Takes the value away.
  void erase(const std::string& path);
};

/// Writes `over` into `base`, object by object; lists replace lists. An object that names another "class" replaces the
/// one before, whose options belong to another class; `schema` tells which class is meant where none is named.
///
/// A key "callbacks+=" adds its value, or each of its values, to the list "callbacks"; an object of keys "[2]" changes
/// these items of a list. Throws UsageError where there is no such item, or no list.
void merge(const Schema& schema, Config& base, const Config& over);

/// The class that a part of a config names, by its "class" or as mere text; empty without one. `${env:NAME}` is
/// replaced where the environment has NAME.
std::string class_name_of(const Json& part);

/// "a.b[2].c" as {"a", "b", "[2]", "c"}
std::vector<std::string> keys_of(const std::string& path);
/// The reverse.
std::string path_of(const std::vector<std::string>& keys);
/// `path[index]`
std::string item_path(const std::string& path, size_t index);
/// The value that `keys` lead to; nullptr where there is none.
const Json* find_value(const Json& root, const std::vector<std::string>& keys);

/// An option that a path of a config leads to.
struct FoundOption {
  const OptionType* type = nullptr;  ///< of an item, where the path ends with an index
  Limits limits = {};
  Json by_default = nullptr;
  bool is_class = false;  ///< the path ends with the "class" of a part, whose type this is
};

/// Walks the schemas along `keys`, by the classes that `values` chooses and else by the default ones.
/// Throws UsageError "model.nett: no such option (did you mean net?)".
FoundOption find_option(const Schema& schema, const Json& values, const std::vector<std::string>& keys);

}  // namespace levin::cli
