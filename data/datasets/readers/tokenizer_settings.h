#pragma once
#include <filesystem>
#include <string>

namespace levin::data {

/// What stands beside a tokenizer.json: the tokenizer_config.json and chat_template.jinja of the same folder. A text is
/// empty if no file says it.
struct TokenizerSettings {
  std::string file = {};  ///< tokenizer_config.json, for messages
  std::string bos_token = {}, eos_token = {}, pad_token = {};
  std::string chat_template = {};  ///< a text of Jinja
  std::string template_file = {};  ///< where it stands; tokenizer_config.json if there is none
};

/// Reads the settings beside a tokenizer, which is a folder or a tokenizer.json. Files that are not there say nothing.
/// Throws levin::UsageError that names the file and the field for broken ones.
TokenizerSettings read_tokenizer_settings(const std::filesystem::path& tokenizer);

}  // namespace levin::data
