#include <levin/data/tables/column_type.h>

#include <charconv>
#include <unordered_map>

namespace levin::data {
namespace {

constexpr int kMostNested = 16;

bool is_varying_list(std::string_view format) { return format == "+l" || format == "+L"; }

}  // namespace

bool is_text_format(std::string_view format) { return format == "u" || format == "U"; }

std::optional<int64_t> fixed_length(std::string_view format) {
  if (!format.starts_with("+w:")) return {};
  int64_t length = 0;
  const auto [stop, code] = std::from_chars(format.data() + 3, format.data() + format.size(), length);
  return code == std::errc() && stop == format.data() + format.size() && length >= 0 ? std::optional(length)
                                                                                     : std::nullopt;
}

std::optional<at::ScalarType> number_type(std::string_view format) {
  static const std::unordered_map<std::string_view, at::ScalarType> types = {
      {"c", at::kChar},   {"C", at::kByte},   {"s", at::kShort},  {"S", at::kUInt16}, {"i", at::kInt},
      {"I", at::kUInt32}, {"l", at::kLong},   {"L", at::kUInt64}, {"e", at::kHalf},   {"f", at::kFloat},
      {"g", at::kDouble}, {"tdD", at::kInt},  {"tdm", at::kLong}, {"tts", at::kInt},  {"ttm", at::kInt},
      {"ttu", at::kLong}, {"ttn", at::kLong}, {"tDs", at::kLong}, {"tDm", at::kLong}, {"tDu", at::kLong},
      {"tDn", at::kLong}};
  if (const auto found = types.find(format); found != types.end()) return found->second;
  if (format.size() >= 4 && format.starts_with("ts") && format[3] == ':') return at::kLong;
  return {};
}

std::optional<int> decimal_scale(std::string_view format) {
  if (!format.starts_with("d:")) return {};
  const size_t comma = format.find(',');
  if (comma == format.npos || format.find(',', comma + 1) != format.npos) return {};
  int scale = 0;
  const auto [stop, code] = std::from_chars(format.data() + comma + 1, format.data() + format.size(), scale);
  return code == std::errc() && stop == format.data() + format.size() ? std::optional(scale) : std::nullopt;
}

std::string unreadable_type(const ColumnSchema& schema) {
  const ColumnSchema* type = &schema;
  for (int depth = 0; depth < kMostNested; ++depth) {
    const std::string_view format = type->format ? type->format : "";
    if (type->dictionary)
      return is_text_format(type->dictionary->format) && number_type(format)
                 ? ""
                 : "a dictionary of other values than texts";
    const bool is_list = is_varying_list(format) || fixed_length(format).has_value();
    if (!is_list) {
      const bool is_known = format == "b" || is_text_format(format) || number_type(format) || decimal_scale(format);
      return is_known && type->child_count == 0 ? "" : "neither numbers, bools, texts nor lists of these";
    }
    if (type->child_count != 1) return "lists of no type";
    type = type->children[0];
  }
  return "lists that are nested too deeply";
}

}  // namespace levin::data
