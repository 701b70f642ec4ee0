#pragma once
#include <string_view>
#include <vector>

namespace levin::cli {

/// A file of the projects that `levin new` writes.
struct ProjectFile {
  std::string_view part;  ///< the template; empty: all have it
  std::string_view path;  ///< in the project
  std::string_view text;  ///< with `@project@` and the like to fill in
};

/// Returns the files of all templates, which the build took from templates/.
const std::vector<ProjectFile>& project_files();

}  // namespace levin::cli
