#include <levin/core/system/error.h>
#include <levin/trainer/launch/environment.h>

#include <cctype>
#include <string_view>

namespace levin {
namespace {

constexpr int64_t kMostHosts = 100000;

[[noreturn]] void refuse_list(const std::string& list) {
  throw UsageError("\"", list, "\" is no list of hosts, as node[01-03,7],gpu5");
}

/// Removes the digits at the front of `text` and returns them; empty if there are none or too many.
std::string take_digits(std::string_view& text) {
  size_t count = 0;
  while (count < text.size() && std::isdigit(static_cast<unsigned char>(text[count]))) ++count;
  const std::string digits(text.substr(0, count));
  text.remove_prefix(count);
  return count <= 9 ? digits : "";
}

std::string padded(int64_t number, size_t width) {
  const std::string digits = std::to_string(number);
  return digits.size() >= width ? digits : std::string(width - digits.size(), '0') + digits;
}

/// Expands "01-03,7" to 01, 02, 03, 7.
std::vector<std::string> expand_ranges(std::string_view ranges, const std::string& list) {
  std::vector<std::string> numbers;
  while (true) {
    const std::string first = take_digits(ranges);
    if (first.empty()) refuse_list(list);
    std::string last = first;
    if (!ranges.empty() && ranges.front() == '-') {
      ranges.remove_prefix(1);
      last = take_digits(ranges);
    }
    if (last.empty() || std::stoll(last) < std::stoll(first) || std::stoll(last) - std::stoll(first) > kMostHosts)
      refuse_list(list);
    for (int64_t number = std::stoll(first); number <= std::stoll(last); ++number)
      numbers.push_back(padded(number, first.size()));
    if (ranges.empty()) return numbers;
    if (ranges.front() != ',') refuse_list(list);
    ranges.remove_prefix(1);
  }
}

/// Expands one host or one range: each name in `done` is combined with each number in brackets.
std::vector<std::string> expand_one(std::string_view rest, const std::string& list) {
  std::vector<std::string> done{""};
  while (!rest.empty()) {
    const size_t open = rest.find('[');
    for (std::string& one : done) one += rest.substr(0, open);
    if (open == std::string_view::npos) break;
    const size_t close = rest.find(']', open);
    if (close == std::string_view::npos) refuse_list(list);
    std::vector<std::string> longer;
    for (const std::string& number : expand_ranges(rest.substr(open + 1, close - open - 1), list))
      for (const std::string& one : done) longer.push_back(one + number);
    done = std::move(longer);
    rest.remove_prefix(close + 1);
  }
  return done;
}

}  // namespace

std::vector<std::string> expand_host_list(const std::string& list) {
  std::vector<std::string> hosts;
  size_t begin = 0;
  bool inside = false;
  for (size_t i = 0; i <= list.size(); ++i) {
    if (i < list.size() && list[i] == '[') inside = true;
    if (i < list.size() && list[i] == ']') inside = false;
    if (i < list.size() && (list[i] != ',' || inside)) continue;
    if (i == begin || inside) refuse_list(list);
    for (std::string& host : expand_one(std::string_view(list).substr(begin, i - begin), list))
      hosts.push_back(std::move(host));
    begin = i + 1;
  }
  return hosts;
}

}  // namespace levin
