#pragma once
#include <levin/program/config/config.h>

#include <functional>
#include <string>
#include <vector>

namespace levin::cli {

/// Gives the value of an option beside another one, or its default.
using Beside = std::function<Json(const std::string&)>;

/// Options of some classes that others of the same part leave without effect.
struct IdleOptions {
  std::vector<std::string> classes;
  std::vector<std::string> options;
  std::function<bool(const Beside&)> is_idle;
  std::string why;
};

/// Returns the options that others of the same part leave without effect, of all classes that have some.
const std::vector<IdleOptions>& idle_options();

}  // namespace levin::cli
