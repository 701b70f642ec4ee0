#include <levin/modules/name_pattern.h>
#include <fnmatch.h>

namespace levin {

bool matches_name(const std::string& pattern, const std::string& name) {
  if (is_pattern(pattern)) return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  return name == pattern || (!pattern.empty() && name.ends_with("." + pattern));
}

bool names_parameter(const std::string& pattern, const std::string& name) {
  if (matches_name(pattern, name)) return true;
  for (size_t dot = name.rfind('.'); dot != std::string::npos && dot > 0; dot = name.rfind('.', dot - 1))
    if (matches_name(pattern, name.substr(0, dot))) return true;
  return false;
}

bool is_pattern(const std::string& text) { return text.find_first_of("*?[") != std::string::npos; }

}  // namespace levin
