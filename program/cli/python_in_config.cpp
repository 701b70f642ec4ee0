#include <levin/program/cli/python_in_config.h>

#include <cstdlib>
#include <string_view>

namespace levin::cli {
namespace {

constexpr const char* kVariable = "LEVIN_ALLOW_PYTHON";

bool is_written_in_file(const std::string& origin) {
  return !origin.empty() && !origin.starts_with("--") && !origin.starts_with("LEVIN__");
}

void find_python(const Config& config, const std::string& path, const Json& value, std::vector<std::string>& problems) {
  if (value.is_array()) {
    for (size_t i = 0; i < value.size(); ++i) find_python(config, item_path(path, i), value[i], problems);
    return;
  }
  if (class_name_of(value) != "PythonDataset") {
    if (value.is_object())
      for (const auto& item : value.items()) find_python(config, join_path(path, item.key()), item.value(), problems);
    return;
  }
  const std::string place = value.is_object() ? join_path(path, "class") : path;
  const std::string origin = config.nearest_origin(place);
  if (!is_written_in_file(origin)) return;
  const std::string file = value.is_object() && value.contains("file") ? " " + value["file"].dump() : "";
  problems.push_back(place + " (" + origin + "): PythonDataset runs the Python file" + file +
                     " with your rights; if you trust this config, add --allow-python, or set " + kVariable + "=1");
}

}  // namespace

bool python_is_allowed() {
  const char* const value = std::getenv(kVariable);
  return value != nullptr && std::string_view(value) == "1";
}

void allow_python() { ::setenv(kVariable, "1", /*overwrite=*/1); }

std::vector<std::string> python_in_files(const Config& config) {
  std::vector<std::string> problems;
  if (const auto data = config.values.find("data"); data != config.values.end())
    find_python(config, "data", *data, problems);
  return problems;
}

}  // namespace levin::cli
