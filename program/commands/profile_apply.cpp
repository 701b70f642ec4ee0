#include <levin/program/commands/profile_apply.h>
#include <levin/core/state/atomic_file.h>
#include <levin/core/system/error.h>
#include <levin/data/remote/output_place.h>
#include <levin/program/config/config_file.h>
#include <levin/program/config/config_text.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

namespace levin::cli {
namespace fs = std::filesystem;
namespace {

/// A config file with its text before and its values after.
struct EditedFile {
  std::string before = {};
  Json values = {};
  bool is_changed = false;
};

/// Returns the values in a file's text. Throws UsageError if it has comments, which a new text would lack.
Json values_of(const std::string& file, const std::string& text) {
  const Json values = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (values.is_discarded())
    throw UsageError("--apply: ", file,
                     " has comments, which would be lost; remove them, or change the values by hand");
  return values;
}

/// Returns the spaces that the first indented line begins with; 2 for a file without one.
int indent_of(const std::string& text) {
  for (size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1)) {
    const size_t begin = text.find_first_not_of(' ', at + 1);
    if (begin != std::string::npos && begin > at + 1 && text[begin] != '\n') return static_cast<int>(begin - at - 1);
  }
  return 2;
}

/// Returns the place of `path` in a file's values, where a class that was named by a text alone becomes an object; null
/// if the file has no such list item, or a value where an object should be.
Json* place_of(Json& values, const std::string& path) {
  const std::vector<std::string> keys = keys_of(path);
  Json* place = &values;
  for (const std::string& key : keys) {
    if (key.starts_with("[")) {
      const size_t index = std::stoul(key.substr(1));
      if (!place->is_array() || index >= place->size()) return nullptr;
      place = &(*place)[index];
      continue;
    }
    if (place->is_string()) *place = Json{{"class", *place}};
    if (place->is_null()) *place = Json::object();
    if (!place->is_object()) return nullptr;
    place = &(*place)[key];
  }
  return place;
}

/// Returns the file that sets the value at `path`; the last one if none of `files` does, which overrides their bases
/// and the defaults; empty if a flag or the environment sets it.
std::string file_of(const std::string& path, const std::vector<std::string>& files, const Config& config) {
  const std::string origin = config.nearest_origin(path);
  if (origin.starts_with("--") || origin.starts_with("LEVIN__")) return "";
  for (const std::string& file : files)
    if (origin.starts_with(file + ":")) return file;
  return files.back();
}

void write(const std::string& file, const std::string& text) {
  const fs::path target = followed(file);
  const fs::perms permissions = fs::status(target).permissions();
  write_text_file_atomically(target, text);
  std::error_code ignored;
  fs::permissions(target, permissions, ignored);
}

}  // namespace

AppliedAdvice apply_advice(const std::vector<ProfileAdvice>& advice, const std::vector<std::string>& files,
                           const Config& config, const std::function<void()>& reads) {
  if (files.empty()) throw UsageError("--apply: there is no config file to write into; give one with --config");
  AppliedAdvice applied;
  std::map<std::string, EditedFile> edited;
  for (const std::string& file : files) {
    require_local("--apply", file);
    const std::string text = read_config_text(file);
    edited[file] = {.before = text, .values = values_of(file, text)};
  }
  for (const ProfileAdvice& one : advice) {
    if (one.changes.empty()) {
      applied.left.push_back(one.cause + ": no option does it");
      continue;
    }
    if (one.effect == ProfileEffect::Learning) {
      applied.left.push_back(one.change + ": it changes what is learnt, so that you decide");
      continue;
    }
    for (const ProfileChange& change : one.changes) {
      const std::string name = change.path + " " + change.before + " -> " + change.after;
      const std::string file = file_of(change.path, files, config);
      if (file.empty()) {
        applied.left.push_back(name + ": " + config.nearest_origin(change.path) + " sets it, not a file");
        continue;
      }
      EditedFile& target = edited[file];
      Json values = target.values;
      Json* const place = place_of(values, change.path);
      if (place == nullptr) {
        applied.left.push_back(name + ": " + file + " has no such place");
        continue;
      }
      *place = Json::parse(change.after);
      target.values = std::move(values);
      target.is_changed = true;
      applied.written.push_back(file + ": " + name);
    }
  }
  std::vector<std::string> written;
  const auto put_back = [&] {
    for (const std::string& file : written) write(file, edited[file].before);
  };
  try {
    for (auto& [file, one] : edited) {
      if (!one.is_changed) continue;
      const std::string text = one.values.dump(indent_of(one.before)) + "\n";
      parse_config(file, text);  // throws before anything is written
      written.push_back(file);
      write(file, text);
    }
    if (!written.empty()) reads();
  } catch (...) {
    put_back();
    throw;
  }
  return applied;
}

}  // namespace levin::cli
