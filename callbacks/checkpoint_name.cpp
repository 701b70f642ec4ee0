#include <levin/callbacks/checkpoint_name.h>
#include <spdlog/fmt/fmt.h>

#include <cmath>
#include <stdexcept>

namespace levin {
namespace {

std::string formatted(const std::string& name, const std::string& format, const CheckpointNameValues& values) {
  const std::string field = "{:" + format + "}";
  if (name == "epoch" || name == "step")
    return fmt::format(fmt::runtime(field), name == "epoch" ? values.epoch : values.step);
  const auto found = values.metrics.find(name);
  const double value = found == values.metrics.end() ? 0 : found->second;
  if (!format.empty() && format.back() == 'd') return fmt::format(fmt::runtime(field), std::llround(value));
  return fmt::format(fmt::runtime(field), value);
}

}  // namespace

std::string checkpoint_name(const std::string& name_template, const CheckpointNameValues& values, bool insert_names) {
  std::string filled;
  for (size_t at = 0; at < name_template.size();) {
    const size_t open = name_template.find('{', at);
    filled += name_template.substr(at, open - at);
    if (open == std::string::npos) break;
    const size_t close = name_template.find('}', open);
    if (close == std::string::npos) throw std::invalid_argument("'" + name_template + "' has a { without its }");
    const std::string field = name_template.substr(open + 1, close - open - 1);
    const size_t colon = field.find(':');
    const std::string name = field.substr(0, colon);
    const std::string format = colon == std::string::npos ? "" : field.substr(colon + 1);
    if (insert_names) filled += name + "=";
    try {
      filled += formatted(name, format, values);
    } catch (const fmt::format_error& error) {
      throw std::invalid_argument("{" + field + "} cannot be filled: " + error.what() +
                                  "; formats are Python's, such as {val_loss:.2f} or {epoch:02d}");
    }
    at = close + 1;
  }
  return filled;
}

}  // namespace levin
