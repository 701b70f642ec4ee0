#include <levin/modules/name_pattern.h>
#include <fnmatch.h>

namespace levin {

bool matches_name(const std::string& pattern, const std::string& name) {
  if (is_pattern(pattern)) return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  return name == pattern || (!pattern.empty() && name.ends_with("." + pattern));
}

bool is_pattern(const std::string& text) { return text.find_first_of("*?[") != std::string::npos; }

}  // namespace levin
