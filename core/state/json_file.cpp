#include <levin/core/state/json_file.h>
#include <levin/core/state/file_bytes.h>
#include <levin/core/state/json_depth.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

namespace levin {
namespace {

constexpr size_t kMostJsonBytes = size_t{64} << 20, kMostJsonLevels = 64;

}  // namespace

nlohmann::ordered_json read_json_file(const std::filesystem::path& path) {
  const FileBytes file = map_file_bytes(path);
  const std::string_view text = file.text();
  if (text.size() > kMostJsonBytes)
    throw UsageError(file.name, ": has ", text.size(), " bytes; a file of settings has at most ", kMostJsonBytes);
  if (is_nested_deeper(text, kMostJsonLevels))
    throw UsageError(file.name, ": expected at most ", kMostJsonLevels, " levels of lists and objects");
  try {
    return nlohmann::ordered_json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    const size_t end = std::min<size_t>(error.byte, text.size());
    throw UsageError(file.name, ": is no JSON text, line ", 1 + std::ranges::count(text.substr(0, end), '\n'));
  } catch (const nlohmann::json::exception&) {
    throw UsageError(file.name, ": holds a number that is too large");
  }
}

}  // namespace levin
