#include <levin/data/remote/aws_settings.h>
#include <levin/core/system/error.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string_view>

namespace levin::data {
namespace {

namespace fs = std::filesystem;

using Profile = std::map<std::string, std::string>;

constexpr uintmax_t kMostSettingsBytes = uintmax_t{1} << 20;

std::string from_environment(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// Returns the first variable that is set, or `otherwise`.
std::string first_set(std::initializer_list<const char*> names, std::string otherwise = {}) {
  for (const char* const name : names)
    if (std::string value = from_environment(name); !value.empty()) return value;
  return otherwise;
}

std::string stripped(std::string_view text) {
  constexpr const char* kBlanks = " \t\r";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1));
}

/// Returns the path in the variable, with its `~`, or else the usual one.
fs::path settings_file(const char* variable, const char* usual) {
  const std::string given = from_environment(variable), home = from_environment("HOME");
  if (given.empty()) return fs::path(home) / ".aws" / usual;
  return given.starts_with("~/") ? fs::path(home) / given.substr(2) : fs::path(given);
}

/// Returns the values of a section, or nothing if the file has no such section. Indented lines are values of a value.
std::optional<Profile> read_profile(const fs::path& path, const std::string& section) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return {};
  if (fs::file_size(path, ignored) > kMostSettingsBytes)
    throw UsageError(path.string(), ": too long for a file of profiles, which has at most 1 MB");
  std::ifstream file(path);
  if (!file) throw UsageError(path.string(), ": cannot be read: ", std::strerror(errno));
  std::optional<Profile> found;
  bool is_inside = false;
  for (std::string line; std::getline(file, line);) {
    const std::string text = stripped(line);
    if (text.empty() || text.front() == '#' || text.front() == ';') continue;
    if (text.front() == '[') {
      is_inside = stripped(std::string_view(text).substr(1, text.find(']') - 1)) == section;
      if (is_inside && !found) found.emplace();
      continue;
    }
    const size_t equals = text.find('=');
    if (!is_inside || equals == std::string::npos || line.front() == ' ' || line.front() == '\t') continue;
    found->insert_or_assign(stripped(std::string_view(text).substr(0, equals)),
                            stripped(std::string_view(text).substr(equals + 1)));
  }
  return found;
}

std::string value_of(const std::optional<Profile>& profile, const std::string& key) {
  if (!profile) return {};
  const auto found = profile->find(key);
  return found != profile->end() ? found->second : "";
}

/// Returns the keys of two values, nothing if both are empty.
std::optional<AwsKeys> keys_of(AwsKeys keys, const std::string& place, const char* id, const char* secret) {
  if (keys.id.empty() && keys.secret.empty()) return {};
  if (keys.id.empty() || keys.secret.empty())
    throw UsageError(place, ": ", keys.id.empty() ? secret : id, " is set and ", keys.id.empty() ? id : secret,
                     " is not; set both");
  return keys;
}

std::optional<AwsKeys> keys_of_environment(const char* id, const char* secret, const char* token) {
  return keys_of({.id = from_environment(id),
                  .secret = from_environment(secret),
                  .token = token != nullptr ? from_environment(token) : ""},
                 "the environment", id, secret);
}

std::optional<AwsKeys> keys_of_profile(const std::optional<Profile>& profile, const std::string& place) {
  return keys_of({.id = value_of(profile, "aws_access_key_id"),
                  .secret = value_of(profile, "aws_secret_access_key"),
                  .token = value_of(profile, "aws_session_token")},
                 place, "aws_access_key_id", "aws_secret_access_key");
}

/// A profile without keys may say how another program gets some.
void refuse_made_keys(const std::optional<Profile>& profile, const std::string& place) {
  for (const char* const way :
       {"sso_session", "sso_start_url", "role_arn", "credential_process", "web_identity_token_file"})
    if (!value_of(profile, way).empty())
      throw UsageError(
          place, ": its keys come by ", way,
          ", which levin does not do; set them by: eval \"$(aws configure export-credentials --format env)\"");
}

AwsSettings settings_of_s3() {
  const std::string name = first_set({"AWS_PROFILE", "AWS_DEFAULT_PROFILE"}, "default");
  const fs::path credentials_file = settings_file("AWS_SHARED_CREDENTIALS_FILE", "credentials");
  const fs::path config_file = settings_file("AWS_CONFIG_FILE", "config");
  const std::optional<Profile> credentials = read_profile(credentials_file, name);
  const std::optional<Profile> config = read_profile(config_file, name == "default" ? name : "profile " + name);
  AwsSettings settings{
      .region = first_set({"AWS_REGION", "AWS_DEFAULT_REGION"}, value_of(config, "region")),
      .endpoint = first_set({"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"}, value_of(config, "endpoint_url"))};
  if (settings.region.empty()) settings.region = "us-east-1";
  settings.keys = keys_of_environment("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN");
  settings.keys_from = "the keys of AWS_ACCESS_KEY_ID";
  if (settings.keys) return settings;
  if (!credentials && !config && name != "default")
    throw UsageError("AWS_PROFILE: there is no profile ", name, " in ", credentials_file.string(), " or ",
                     config_file.string());
  for (const auto& [profile, file] : {std::pair(&credentials, &credentials_file), std::pair(&config, &config_file)}) {
    const std::string place = "the profile " + name + " of " + file->string();
    settings.keys = keys_of_profile(*profile, place);
    settings.keys_from = place;
    if (settings.keys) return settings;
  }
  refuse_made_keys(config, settings.keys_from);
  settings.keys_from =
      "no keys (none are in AWS_ACCESS_KEY_ID, " + credentials_file.string() + " and " + config_file.string() + ")";
  return settings;
}

AwsSettings settings_of_gs() {
  AwsSettings settings{.keys = keys_of_environment("GCS_KEY", "GCS_SECRET", nullptr),
                       .keys_from = "the HMAC keys of GCS_KEY",
                       .region = "auto",
                       .endpoint = first_set({"STORAGE_EMULATOR_HOST"}, "https://storage.googleapis.com")};
  if (!settings.keys) settings.keys_from = "no keys (GCS_KEY and GCS_SECRET, a pair of HMAC keys, are not set)";
  return settings;
}

}  // namespace

AwsSettings aws_settings(RemoteScheme scheme) {
  AwsSettings settings = scheme == RemoteScheme::Gs ? settings_of_gs() : settings_of_s3();
  if (!settings.endpoint.empty() && settings.endpoint.find("://") == std::string::npos)
    settings.endpoint = "http://" + settings.endpoint;
  while (settings.endpoint.ends_with('/')) settings.endpoint.pop_back();
  return settings;
}

}  // namespace levin::data
