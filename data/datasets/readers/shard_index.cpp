#include <levin/data/datasets/readers/shard_index.h>
#include <levin/core/state/json_depth.h>
#include <levin/core/system/error.h>
#include <levin/core/system/file_calls.h>
#include <levin/data/download/shown_url.h>
#include <levin/data/remote/remote_object.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>
#include <utility>

namespace levin::data {
namespace {

constexpr uintmax_t kMostIndexBytes = uintmax_t{64} << 20;

std::string shown_place(const std::string& place) { return is_remote(place) ? shown_url(place) : place; }

std::string without_query(const std::string& place) {
  return is_remote(place) ? place.substr(0, place.find('?')) : place;
}

[[noreturn]] void refuse_index(const std::string& index, const std::string& reason) {
  throw UsageError(shown_place(index), ": ", reason,
                   "; an index of shards is a text with one name in each line, a JSON list of names, or "
                   "{\"shardlist\": [{\"url\": ...}, ...]}");
}

void check_index_size(const std::string& index, uintmax_t bytes) {
  if (bytes > kMostIndexBytes) refuse_index(index, "has " + std::to_string(bytes) + " bytes, more than 64 MB");
}

std::string text_of_index(const std::string& index) {
  std::string text;
  if (is_remote(index)) {
    const RemoteObject object = find_remote_object(index);
    if (object.size < 0) refuse_index(index, "the server does not tell its size");
    check_index_size(index, static_cast<uintmax_t>(object.size));
    text.resize(static_cast<size_t>(object.size));
    read_remote_object(object, 0, object.size, text.data());
    return text;
  }
  std::error_code error;
  const uintmax_t bytes = std::filesystem::file_size(index, error);
  if (!error) check_index_size(index, bytes);
  if (const int code = read_file(index, text)) throw UsageError(index, ": cannot be read: ", std::strerror(code));
  return text;
}

std::vector<std::string> names_of_lines(const std::string& text) {
  std::vector<std::string> names;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t begin = line.find_first_not_of(" \t\r"), end = line.find_last_not_of(" \t\r");
    if (begin != line.npos && line[begin] != '#') names.push_back(line.substr(begin, end + 1 - begin));
  }
  return names;
}

std::vector<std::string> names_of_json(const std::string& index, const std::string& text) {
  const nlohmann::json json =
      is_nested_deeper(text) ? nlohmann::json() : nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const bool is_object = json.is_object() && json.contains("shardlist");
  const nlohmann::json& list = is_object ? json["shardlist"] : json;
  if (!list.is_array()) refuse_index(index, "has no list of shards");
  std::vector<std::string> names;
  for (const nlohmann::json& entry : list) {
    const auto url = entry.is_object() ? entry.find("url") : entry.end();
    const nlohmann::json& name = url != entry.end() ? *url : entry;
    if (!name.is_string()) refuse_index(index, "entry " + std::to_string(names.size()) + " is no name");
    names.push_back(name.get<std::string>());
  }
  return names;
}

}  // namespace

bool is_shard_index(const std::string& place) {
  const std::string path = without_query(place);
  return path.ends_with(".txt") || path.ends_with(".json");
}

std::vector<std::string> names_in_index(const std::string& index) {
  const std::string text = text_of_index(index), place = without_query(index);
  std::vector<std::string> names = place.ends_with(".json") ? names_of_json(index, text) : names_of_lines(text);
  if (names.empty()) refuse_index(index, "names no shard");
  const std::string folder = place.substr(0, place.rfind('/') + 1);
  for (std::string& name : names)
    if (!name.starts_with('/') && !is_remote(name)) name.insert(0, folder);
  return names;
}

}  // namespace levin::data
