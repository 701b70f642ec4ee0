#pragma once
#include <levin/program/config/config.h>

#include <string>

namespace levin::cli {

/// Parses the JSON text of a config file `name`; every value's origin is "name:line". "$schema" at the top is dropped.
///
/// Throws UsageError, with the line, for broken JSON (comments, commas before a closing bracket, text that is not
/// UTF-8, numbers that do not fit), for a duplicate key in an object, for more than 64 levels, and for anything but an
/// object.
Config parse_config(const std::string& name, const std::string& text);

}  // namespace levin::cli
