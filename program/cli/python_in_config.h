#pragma once
#include <levin/program/config/config.h>

#include <string>
#include <vector>

namespace levin::cli {

/// Returns whether configs may run Python files: LEVIN_ALLOW_PYTHON is 1.
bool python_is_allowed();
/// Sets LEVIN_ALLOW_PYTHON for this process and those that it starts.
void allow_python();

/// Returns a problem for each PythonDataset that a file names, with its place. Such a config is a program. What flags
/// and variables of the environment name is the user's own word.
std::vector<std::string> python_in_files(const Config& config);

}  // namespace levin::cli
