#include <levin/modules/program/size_expression.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <vector>

namespace levin::program {
namespace {

constexpr int kMostCalls = 64;

/// Reads "Name(argument, ..., keyword=ignored)", numbers and quoted names.
class Expression {
 public:
  Expression(std::string_view text, const std::map<std::string, int64_t>& symbols) : text_(text), symbols_(symbols) {}

  std::optional<int64_t> whole() {
    const std::optional<int64_t> value = read(0);
    return at_ == text_.size() ? value : std::nullopt;
  }

 private:
  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool takes(char c) {
    skip_spaces();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::string_view word() {
    skip_spaces();
    const size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_' ||
                                  text_[at_] == '.' || text_[at_] == '-'))
      ++at_;
    return text_.substr(begin, at_ - begin);
  }
  std::optional<std::string> quoted() {
    if (!takes('\'')) return std::nullopt;
    const size_t end = text_.find('\'', at_);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string name(text_.substr(at_, end - at_));
    at_ = end + 1;
    return name;
  }

  std::optional<int64_t> read(int depth) {
    if (depth > kMostCalls) return std::nullopt;
    const std::string_view name = word();
    if (name.empty()) return std::nullopt;
    int64_t number = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), number);
    if (parsed.ec == std::errc() && parsed.ptr == name.data() + name.size()) return number;
    if (!takes('(')) return std::nullopt;
    if (name == "Symbol") return read_symbol();
    std::vector<int64_t> arguments;
    while (!takes(')')) {
      const std::optional<int64_t> argument = read(depth + 1);
      if (!argument) return std::nullopt;
      arguments.push_back(*argument);
      if (!takes(',') && (at_ >= text_.size() || text_[at_] != ')')) return std::nullopt;
    }
    return apply(name, arguments);
  }

  /// Reads "'s0', positive=True, integer=True)".
  std::optional<int64_t> read_symbol() {
    const std::optional<std::string> symbol = quoted();
    const size_t end = text_.find(')', at_);
    if (!symbol || end == std::string_view::npos) return std::nullopt;
    at_ = end + 1;
    const auto found = symbols_.find(*symbol);
    return found == symbols_.end() ? std::nullopt : std::optional(found->second);
  }

  static std::optional<int64_t> power(int64_t base, int64_t exponent) {
    if (exponent < 0 || exponent > 64) return std::nullopt;
    int64_t value = 1;
    for (int64_t i = 0; i < exponent; ++i)
      if (__builtin_mul_overflow(value, base, &value)) return std::nullopt;
    return value;
  }

  static std::optional<int64_t> apply(std::string_view name, const std::vector<int64_t>& values) {
    if (values.empty()) return std::nullopt;
    if (name == "Integer" && values.size() == 1) return values[0];
    if (name == "Max") return *std::ranges::max_element(values);
    if (name == "Min") return *std::ranges::min_element(values);
    if (name == "Add" || name == "Mul") {
      int64_t result = name == "Add" ? 0 : 1;
      for (const int64_t value : values) {
        const bool overflows = name == "Add" ? __builtin_add_overflow(result, value, &result)
                                             : __builtin_mul_overflow(result, value, &result);
        if (overflows) return std::nullopt;
      }
      return result;
    }
    if (values.size() != 2) return std::nullopt;
    if (name == "Pow") return power(values[0], values[1]);
    // Only for positive numbers, as sizes are: Python and C++ round others differently.
    if (values[0] < 0 || values[1] <= 0) return std::nullopt;
    if (name == "FloorDiv" || name == "CleanDiv") return values[0] / values[1];
    if (name == "Mod" || name == "PythonMod") return values[0] % values[1];
    return std::nullopt;
  }

  std::string_view text_;
  const std::map<std::string, int64_t>& symbols_;
  size_t at_ = 0;
};

}  // namespace

std::optional<std::string> symbol_of(std::string_view expression) {
  constexpr std::string_view kBegin = "Symbol('";
  if (!expression.starts_with(kBegin)) return std::nullopt;
  const size_t end = expression.find('\'', kBegin.size());
  if (end == std::string_view::npos || expression.find(')') != expression.size() - 1) return std::nullopt;
  return std::string(expression.substr(kBegin.size(), end - kBegin.size()));
}

std::optional<int64_t> value_of(std::string_view expression, const std::map<std::string, int64_t>& symbols) {
  return Expression(expression, symbols).whole();
}

}  // namespace levin::program
