#pragma once
#include <levin/data/tokenizer.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace levin::data {

/// What stands beside a tokenizer.json: the tokenizer_config.json and chat_template.jinja of the same folder. A text is
/// empty if no file says it.
struct TokenizerSettings {
  std::string file = {};  ///< tokenizer_config.json, for messages
  std::string bos_token = {}, eos_token = {}, pad_token = {};
  std::optional<int64_t> max_length = {};  ///< most tokens of a text; unset: the file does not say
  std::string chat_template = {};          ///< a text of Jinja
  std::string template_file = {};          ///< where it stands; tokenizer_config.json if there is none
};

/// Reads the settings beside a tokenizer, which is a folder or a tokenizer.json. Files that are not there say nothing.
/// Throws levin::UsageError that names the file and the field for broken ones.
TokenizerSettings read_tokenizer_settings(const std::filesystem::path& tokenizer);

/// Returns the folder of a tokenizer, which is that folder or a tokenizer.json in it.
std::filesystem::path folder_of_tokenizer(const std::filesystem::path& tokenizer);

/// Opens the tokenizer that an option names. Throws levin::UsageError if it names none, or as Tokenizer::from_file.
Tokenizer open_tokenizer(const std::string& path);

}  // namespace levin::data
