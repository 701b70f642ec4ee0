#include <levin/data/datasets/readers/tokenizer_settings.h>
#include <levin/core/state/file_bytes.h>
#include <levin/core/state/json_depth.h>
#include <levin/core/system/error.h>
#include <levin/data/remote/local_path.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

namespace levin::data {
namespace {

using SettingsJson = nlohmann::json;

constexpr size_t kMostSettingsBytes = size_t{64} << 20;

std::optional<std::string> text_of_file(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {};
  const FileBytes file = map_file_bytes(path);
  if (file.size > kMostSettingsBytes)
    throw UsageError(file.name, ": has ", file.size, " bytes; a tokenizer's settings have at most ",
                     kMostSettingsBytes);
  return std::string(file.text());
}

/// Returns a token, which is a text, or an object with its text as "content"; empty if there is none.
std::string token_of(const SettingsJson& json, const char* name, const std::string& file) {
  const auto found = json.find(name);
  if (found == json.end() || found->is_null()) return {};
  const SettingsJson* value = &*found;
  if (value->is_object() && value->contains("content")) value = &value->at("content");
  if (!value->is_string()) throw UsageError(file, ": ", name, " is no text: ", found->dump().substr(0, 100));
  return value->get<std::string>();
}

/// Returns the chat template: a text, or that of the name "default" in a list.
std::string template_of(const SettingsJson& json, const std::string& file) {
  const auto found = json.find("chat_template");
  if (found == json.end() || found->is_null()) return {};
  if (found->is_string()) return found->get<std::string>();
  if (found->is_array())
    for (const SettingsJson& one : *found)
      if (one.is_object() && one.value("name", SettingsJson()) == "default" && one.contains("template") &&
          one.at("template").is_string())
        return one.at("template").get<std::string>();
  throw UsageError(file, ": chat_template is neither a text nor a list with one named default");
}

/// Returns model_max_length; transformers writes a very large number where there is no limit.
std::optional<int64_t> max_length_of(const SettingsJson& json) {
  constexpr double kNoLimit = 1e9;
  const auto found = json.find("model_max_length");
  if (found == json.end() || !found->is_number()) return {};
  const double most = found->get<double>();
  return most >= 1 && most < kNoLimit ? std::optional(static_cast<int64_t>(most)) : std::nullopt;
}

/// Returns the tokenizer itself, or its copy in the cache, with the files beside it.
std::filesystem::path local_tokenizer(const std::filesystem::path& tokenizer) {
  if (!is_on_server(tokenizer)) return local_path(tokenizer);
  if (tokenizer.extension() != ".json" && tokenizer.extension() != ".model") return local_folder(tokenizer);
  return local_folder(tokenizer.parent_path()) / tokenizer.filename();
}

}  // namespace

std::filesystem::path folder_of_tokenizer(const std::filesystem::path& given) {
  std::error_code ignored;
  const std::filesystem::path tokenizer = local_tokenizer(given);
  return std::filesystem::is_directory(tokenizer, ignored) ? tokenizer : tokenizer.parent_path();
}

Tokenizer open_tokenizer(const std::string& path) {
  if (path.empty())
    throw UsageError("tokenizer: not set; it names a folder with a tokenizer.json, such as that of the model");
  return Tokenizer::from_file(local_tokenizer(path));
}

TokenizerSettings read_tokenizer_settings(const std::filesystem::path& tokenizer) {
  const std::filesystem::path folder = folder_of_tokenizer(tokenizer);
  const std::string file = (folder / "tokenizer_config.json").string();
  TokenizerSettings settings{.file = file, .template_file = file};
  if (const auto text = text_of_file(settings.file)) {
    if (is_nested_deeper(*text)) throw UsageError(settings.file, ": its lists and objects are nested too deeply");
    const SettingsJson json = SettingsJson::parse(*text, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object()) throw UsageError(settings.file, ": is no JSON object");
    settings.bos_token = token_of(json, "bos_token", settings.file);
    settings.eos_token = token_of(json, "eos_token", settings.file);
    settings.pad_token = token_of(json, "pad_token", settings.file);
    settings.max_length = max_length_of(json);
    settings.chat_template = template_of(json, settings.file);
  }
  const std::filesystem::path jinja = folder / "chat_template.jinja";
  if (const auto text = text_of_file(jinja)) {
    settings.chat_template = *text;
    settings.template_file = jinja.string();
  }
  return settings;
}

}  // namespace levin::data
