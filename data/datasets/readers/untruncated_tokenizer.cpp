#include <levin/data/datasets/readers/untruncated_tokenizer.h>
#include <levin/core/state/file_bytes.h>
#include <levin/core/state/json_depth.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

namespace levin::data {
namespace {

/// Returns whether the first "truncation" of a tokenizer.json, which stands at its beginning, is null or missing. That
/// is so nearly always, and saves a reading of the whole text.
bool clearly_has_no_truncation(std::string_view text) {
  constexpr std::string_view kName = "\"truncation\"";
  const size_t name = text.find(kName);
  if (name == text.npos) return true;
  const size_t value = text.find_first_not_of(" \t\r\n:", name + kName.size());
  return value != text.npos && text.substr(value).starts_with("null");
}

}  // namespace

Tokenizer untruncated_tokenizer(const std::filesystem::path& path) {
  std::error_code ignored;
  const std::filesystem::path file = std::filesystem::is_directory(path, ignored) ? path / "tokenizer.json" : path;
  if (!std::filesystem::exists(file, ignored)) return Tokenizer::from_file(path);  // which says what is missing
  const FileBytes bytes = map_file_bytes(file);
  if (!clearly_has_no_truncation(bytes.text()) && !is_nested_deeper(bytes.text())) {
    nlohmann::json json = nlohmann::json::parse(bytes.text(), nullptr, /*allow_exceptions=*/false);
    if (json.is_object() && json.contains("truncation")) {
      json["truncation"] = nullptr;
      return Tokenizer::from_json(json.dump(), bytes.name);
    }
  }
  return Tokenizer::from_json(bytes.text(), bytes.name);
}

}  // namespace levin::data
