#include <levin/program/config/config_file.h>
#include <levin/core/system/error.h>
#include <levin/data/download/shown_url.h>
#include <levin/data/remote/local_path.h>
#include <levin/data/remote/remote_object.h>
#include <levin/program/config/config_text.h>
#include <levin/program/config/problems.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace levin::cli {

std::string read_config_text(const std::string& given) {
  std::error_code ignored;
  const std::string path = local_path(given).string();
  if (std::filesystem::is_directory(path, ignored)) throw UsageError("--config: ", path, " is a folder, not a file");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw UsageError("--config: cannot read ", given, ": ", std::strerror(errno));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

namespace {

/// Returns the paths in the value of "base". Throws UsageError for another value.
std::vector<std::string> paths_of(const Json& base, const std::string& place) {
  const Json list = base.is_array() ? base : Json::array({base});
  std::vector<std::string> paths;
  for (const Json& path : list) {
    if (!path.is_string() || path.get<std::string>().empty())
      throw_unexpected(place + ": base", "the path of a config file, or a list of paths", base);
    paths.push_back(path.get<std::string>());
  }
  return paths;
}

/// Returns the path of a base, which is relative to the folder of the config that names it, or its URL.
std::string path_of_base(const std::string& config, const std::string& base) {
  namespace fs = std::filesystem;
  if (is_remote(base)) return base;
  // The folders of a URL begin after its server.
  const size_t rest = is_remote(config) ? config.find('/', config.find("://") + 3) : 0;
  if (rest == std::string::npos) throw UsageError(data::shown_url(config), ": this URL names no file");
  const std::string path = config.substr(rest);
  const fs::path folder = fs::path(rest > 0 ? path.substr(0, path.find('?')) : path).parent_path();
  return config.substr(0, rest) + (folder / base).lexically_normal().string();
}

/// `opened`: the files whose base this one is, the first one outermost.
Config read(const Schema& schema, const std::string& path, std::vector<std::string>& opened) {
  std::error_code ignored;
  const std::string canonical = std::filesystem::weakly_canonical(path, ignored).string();
  if (std::ranges::find(opened, canonical) != opened.end())
    throw UsageError(path, " is a base of itself, through ", opened.back());
  Config own = parse_config(data::shown_url(path), read_config_text(path));
  lift_seed_and_name(own);
  if (!own.values.contains("base")) return own;
  const std::string place = own.nearest_origin("base");
  const std::vector<std::string> bases = paths_of(own.values["base"], place);
  own.erase("base");
  opened.push_back(canonical);
  Config config;
  for (const std::string& base : bases) {
    const std::string file = path_of_base(path, base);
    if (!is_remote(file) && !std::filesystem::exists(file, ignored))
      throw UsageError(place, ": base: there is no file ", file);
    merge_file(schema, config, read(schema, file, opened));
  }
  opened.pop_back();
  merge_file(schema, config, own);
  return config;
}

}  // namespace

Config read_config_file(const Schema& schema, const std::string& path) {
  std::vector<std::string> opened;
  return read(schema, path, opened);
}

void merge_file(const Schema& schema, Config& config, const Config& file) {
  try {
    merge(schema, config, file);
  } catch (const UsageError& error) {
    throw UsageError(with_place(file, error.what()));
  }
}

void lift_seed_and_name(Config& config) {
  if (!config.values.contains("trainer") || !config.values["trainer"].is_object()) return;
  for (const std::string key : {"seed", "name"}) {
    const std::string path = "trainer." + key;
    const Json* inner = find_value(config.values, {"trainer", key});
    if (!inner) continue;
    const Json value = *inner;
    if (config.values.contains(key) && config.values[key] != value)
      throw UsageError(config.nearest_origin(path), ": ", key, " and ", path,
                       " contradict each other: ", config.values[key].dump(), " and ", value.dump());
    const std::string origin = config.nearest_origin(path);
    config.erase(path);
    config.values[key] = value;
    config.set_origin(key, value, origin);
  }
}

}  // namespace levin::cli
