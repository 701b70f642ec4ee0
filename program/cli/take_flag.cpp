#include <levin/program/cli/take_flag.h>
#include <levin/core/system/error.h>

#include <charconv>

namespace levin::cli {

std::optional<std::string> take_flag(std::vector<std::string>& arguments, const std::string& flag) {
  std::optional<std::string> value;
  for (size_t i = 0; i < arguments.size();) {
    const bool is_joined = arguments[i].starts_with(flag + "=");
    if (arguments[i] != flag && !is_joined) {
      ++i;
      continue;
    }
    if (!is_joined && (i + 1 == arguments.size() || arguments[i + 1].starts_with("--"))) {
      throw UsageError(flag, ": expected a value");
    }
    value = is_joined ? arguments[i].substr(flag.size() + 1) : arguments[i + 1];
    const auto at = arguments.begin() + static_cast<std::ptrdiff_t>(i);
    arguments.erase(at, at + (is_joined ? 1 : 2));
  }
  return value;
}

std::optional<int64_t> take_count(std::vector<std::string>& arguments, const std::string& flag, int64_t least) {
  const std::optional<std::string> text = take_flag(arguments, flag);
  if (!text) return {};
  int64_t count = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), count);
  if (error != std::errc() || end != text->data() + text->size() || count < least)
    throw UsageError(flag, ": expected a whole number of at least ", least, ", got ", *text);
  return count;
}

bool take_switch(std::vector<std::string>& arguments, const std::string& flag) {
  return std::erase(arguments, flag) > 0;
}

}  // namespace levin::cli
