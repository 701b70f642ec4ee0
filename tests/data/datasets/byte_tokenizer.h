#pragma once
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace levin::testing {

/// Ids of the special tokens of the byte tokenizer; below them, a byte is its own id.
inline constexpr int32_t kBeginOfText = 256, kEndOfText = 257, kTurnBegin = 258, kTurnEnd = 259, kPadding = 260;

/// Returns the character by which byte-level tokenizers write a byte.
inline std::string byte_level_character(int byte, int& others) {
  const bool plain = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
  const int code = plain ? byte : 256 + others++;
  if (code < 0x80) return std::string(1, static_cast<char>(code));
  return {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
}

/// Writes a folder with a tokenizer whose tokens are the bytes of a text, and special ones. It puts <s> before a text.
inline void write_byte_tokenizer(const std::filesystem::path& folder, const nlohmann::json& config) {
  nlohmann::json vocabulary;
  int others = 0;
  for (int byte = 0; byte < 256; ++byte) vocabulary[byte_level_character(byte, others)] = byte;
  nlohmann::json added = nlohmann::json::array();
  const std::vector<std::string> names = {"<s>", "</s>", "<|im_start|>", "<|im_end|>", "<pad>"};
  for (size_t i = 0; i < names.size(); ++i)
    added.push_back({{"id", 256 + i},
                     {"content", names[i]},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  const nlohmann::json byte_level = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}};
  nlohmann::json tokenizer = {{"version", "1.0"}, {"truncation", nullptr}, {"padding", nullptr}};
  tokenizer["added_tokens"] = added;
  tokenizer["normalizer"] = nullptr;
  tokenizer["pre_tokenizer"] = tokenizer["decoder"] = byte_level;
  tokenizer["post_processor"] = {
      {"type", "TemplateProcessing"},
      {"single", {{{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}}, {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}}},
      {"pair", {{{"Sequence", {{"id", "A"}, {"type_id", 0}}}}, {{"Sequence", {{"id", "B"}, {"type_id", 1}}}}}},
      {"special_tokens", {{"<s>", {{"id", "<s>"}, {"ids", {kBeginOfText}}, {"tokens", {"<s>"}}}}}}};
  tokenizer["model"] = {{"type", "BPE"},
                        {"dropout", nullptr},
                        {"unk_token", nullptr},
                        {"continuing_subword_prefix", nullptr},
                        {"end_of_word_suffix", nullptr},
                        {"fuse_unk", false},
                        {"byte_fallback", false},
                        {"ignore_merges", false},
                        {"vocab", vocabulary},
                        {"merges", nlohmann::json::array()}};
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "tokenizer.json") << tokenizer.dump();
  std::ofstream(folder / "tokenizer_config.json") << config.dump();
}

/// What stands beside that tokenizer.
inline nlohmann::json byte_tokenizer_config() {
  return {{"bos_token", "<s>"},
          {"eos_token", {{"content", "</s>"}, {"special", true}}},
          {"pad_token", "<pad>"},
          {"chat_template",
           "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + "
           "'<|im_end|>' + '\\n'}}{% endfor %}"}};
}

}  // namespace levin::testing
