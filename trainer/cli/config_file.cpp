#include <levin/trainer/cli/config_file.h>
#include <levin/trainer/core/error.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <vector>

namespace levin::cli {
namespace {

std::string read_text(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) throw UsageError("--config: ", path, " is a folder, not a file");
  std::ifstream file(path, std::ios::binary);
  if (!file) throw UsageError("--config: cannot read ", path, ": ", std::strerror(errno));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// "file:3:12" for the byte that stands at `byte`, counted from 1.
std::string place(const std::string& path, const std::string& text, size_t byte) {
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(text.size(), byte == 0 ? 0 : byte - 1));
  const auto line = 1 + std::count(text.begin(), end, '\n');
  const auto line_begin = std::find(std::make_reverse_iterator(end), text.rend(), '\n').base();
  return c10::str(path, ":", line, ":", end - line_begin + 1);
}

/// What the JSON library says, without its own code and place.
std::string reason(const std::string& what) {
  const size_t place_begin = what.find("column ");
  const size_t text_begin = what.find(": ", place_begin == std::string::npos ? 0 : place_begin);
  return text_begin == std::string::npos ? what : what.substr(text_begin + 2);
}

/// Refuses a key that stands twice in one object: the parser would take one of them without a word.
class UniqueKeys {
 public:
  explicit UniqueKeys(const std::string& path) : path_(path) {}

  bool operator()(int /*depth*/, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) keys_.emplace_back();
    if (event == Json::parse_event_t::object_end) keys_.pop_back();
    if (event == Json::parse_event_t::key && !keys_.back().insert(value.get<std::string>()).second)
      throw UsageError(path_, ": the key \"", value.get<std::string>(), "\" stands twice in one object");
    return true;
  }

 private:
  std::string path_;
  std::vector<std::set<std::string>> keys_ = {};
};

}  // namespace

Json read_config_file(const std::string& path) {
  const std::string text = read_text(path);
  Json config;
  try {
    config = Json::parse(text, UniqueKeys(path));
  } catch (const Json::parse_error& error) {
    throw UsageError(place(path, text, error.byte), ": broken JSON: ", reason(error.what()));
  }
  if (!config.is_object()) throw_unexpected(path, "an object with trainer, model and data", config);
  config.erase("$schema");
  return config;
}

void merge(Json& base, const Json& over) {
  if (!over.is_object()) {
    base = over;
    return;
  }
  // "AdamW" is brief for {"class": "AdamW"}.
  if (base.is_string()) base = {{"class", base}};
  if (!base.is_object()) base = Json::object();
  if (over.contains("class") && base.contains("class") && over["class"] != base["class"]) {
    base = over;
    return;
  }
  for (const auto& item : over.items()) {
    Json& value = base[item.key()];
    if (item.value().is_object())
      merge(value, item.value());
    else
      value = item.value();
  }
}

}  // namespace levin::cli
