#pragma once
#include <levin/trainer/core/option_type.h>

#include <string>

namespace levin::cli {

/// A config file's JSON object, without "$schema". Throws UsageError for a file that cannot be read, for broken JSON
/// (with line and column), and for a key that stands twice in one object.
Json read_config_file(const std::string& path);

/// Writes `over` into `base`, object by object. An object that names another "class" replaces the one before, whose
/// options belong to another class.
void merge(Json& base, const Json& over);

}  // namespace levin::cli
