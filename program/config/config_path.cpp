#include <levin/program/config/config_path.h>
#include <levin/core/system/error.h>

#include <charconv>

namespace levin::cli {

bool is_within(const std::string& path, const std::string& outer) {
  if (outer.empty() || path == outer) return true;
  return path.size() > outer.size() && path.compare(0, outer.size(), outer) == 0 &&
         (path[outer.size()] == '.' || path[outer.size()] == '[');
}

void erase_within(std::map<std::string, std::string>& texts, const std::string& outer) {
  std::erase_if(texts, [&](const auto& entry) { return is_within(entry.first, outer); });
}

std::optional<size_t> index_of(const std::string& key) {
  if (key.size() < 3 || key.front() != '[' || key.back() != ']') return {};
  size_t index = 0;
  const char* last = key.data() + key.size() - 1;
  const auto result = std::from_chars(key.data() + 1, last, index);
  if (result.ec != std::errc() || result.ptr != last) return {};
  return index;
}

void require_item(const std::string& path, size_t index, const Json& list) {
  if (index < list.size()) return;
  const std::string count = std::to_string(list.size()) + (list.size() == 1 ? " item" : " items");
  throw UsageError(path, ": no such item; the list ", list.empty() ? "is empty" : "has " + count + ", counted from 0");
}

}  // namespace levin::cli
