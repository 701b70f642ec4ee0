#include <levin/program/config/explain.h>
#include <levin/core/options/option.h>
#include <levin/core/system/url_credentials.h>

#include <algorithm>

namespace levin::cli {
namespace {

struct Line {
  std::string path, value, origin;
};

void add_lines(std::vector<Line>& lines, const std::string& path, const Json& value,
               const std::function<std::string(const std::string& path)>& origin_of) {
  if (value.is_object() && !value.empty()) {
    for (const auto& item : value.items()) add_lines(lines, join_path(path, item.key()), item.value(), origin_of);
    return;
  }
  const bool has_objects = value.is_array() && !value.empty() && value[0].is_object();
  if (has_objects) {
    for (size_t i = 0; i < value.size(); ++i) add_lines(lines, item_path(path, i), value[i], origin_of);
    return;
  }
  lines.push_back({path, without_credentials(value.dump()), origin_of(path)});
}

}  // namespace

std::string explain(const Json& resolved, const std::function<std::string(const std::string& path)>& origin_of) {
  constexpr size_t kWidest = 40;  // so that one long value does not widen the column for all lines
  std::vector<Line> lines;
  add_lines(lines, "", resolved, origin_of);
  size_t path_width = 0, value_width = 0;
  for (const Line& line : lines) {
    path_width = std::max(path_width, line.path.size());
    value_width = std::max(value_width, std::min(line.value.size(), kWidest));
  }
  std::string text;
  for (const Line& line : lines) {
    text += line.path + std::string(path_width - line.path.size() + 2, ' ') + line.value;
    text += std::string(value_width - std::min(value_width, line.value.size()) + 2, ' ') + line.origin + "\n";
  }
  return text;
}

std::string written_origin(const Config& config, const std::string& path) {
  const auto origin = config.origins.find(path);
  if (origin == config.origins.end()) return "default";
  const auto reference = config.references.find(path);
  return reference == config.references.end() ? origin->second : origin->second + " " + reference->second;
}

}  // namespace levin::cli
