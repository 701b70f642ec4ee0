#include <levin/data/datasets/readers/text_tokens.h>
#include <levin/core/state/json_file.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/readers/label_table.h>
#include <levin/data/datasets/readers/tokenizer_settings.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace levin::data {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kUsualLength = 512, kMostLength = 1 << 24;

/// Returns a JSON file of a folder; null if there is none, or if it is no object.
nlohmann::ordered_json object_of_file(const fs::path& path) {
  if (!fs::is_regular_file(path)) return nullptr;
  nlohmann::ordered_json json = read_json_file(path);
  return json.is_object() ? json : nlohmann::ordered_json(nullptr);
}

std::optional<int64_t> whole_of(const nlohmann::ordered_json& json, const char* name) {
  if (!json.is_object()) return {};
  const auto found = json.find(name);
  if (found == json.end() || !found->is_number_integer()) return {};
  const double value = found->get<double>();
  return value >= 0 && value <= static_cast<double>(kMostLength) ? std::optional(found->get<int64_t>()) : std::nullopt;
}

/// Returns the positions that a model has for tokens. Those that are like RoBERTa count from the padding token on.
std::optional<int64_t> positions_of(const nlohmann::ordered_json& config) {
  const std::optional<int64_t> rows = whole_of(config, "max_position_embeddings");
  if (!rows || !config.contains("model_type") || !config["model_type"].is_string()) return rows;
  const auto type = config["model_type"].get<std::string>();
  if (type == "mpnet") return *rows - 2;
  if (type != "roberta" && type != "xlm-roberta" && type != "camembert") return rows;
  return *rows - whole_of(config, "pad_token_id").value_or(1) - 1;
}

int64_t length_of_folder(const fs::path& folder, const TokenizerSettings& settings,
                         const nlohmann::ordered_json& config) {
  std::vector<int64_t> limits;
  for (const std::optional<int64_t> limit :
       {settings.max_length, positions_of(config),
        whole_of(object_of_file(folder / "sentence_bert_config.json"), "max_seq_length")})
    if (limit && *limit > 0) limits.push_back(*limit);
  return limits.empty() ? kUsualLength : std::ranges::min(limits);
}

template <class Encode>
Encoding encoded_at(const std::string& place, const Encode& encode) {
  try {
    return encode();
  } catch (const UsageError& error) {
    throw UsageError(place, ": ", error.what());
  }
}

}  // namespace

TextTokens::TextTokens(const TextTokensOptions& options)
    : tokenizer_(open_tokenizer(options.tokenizer)), added_(added_to_texts(tokenizer_)) {
  const fs::path folder = folder_of_tokenizer(options.tokenizer);
  const TokenizerSettings settings = read_tokenizer_settings(options.tokenizer);
  const nlohmann::ordered_json config = object_of_file(folder / "config.json");
  std::optional<int32_t> pad;
  if (!settings.pad_token.empty()) pad = tokenizer_.token_to_id(settings.pad_token);
  if (!pad) pad = static_cast<int32_t>(whole_of(config, "pad_token_id").value_or(0));
  pad_id_ = *pad;
  max_length_ = options.max_length ? *options.max_length : length_of_folder(folder, settings, config);
  const auto added = static_cast<int64_t>(tokenizer_.encode_pair("a", "a", {.truncate = false}).ids.size()) -
                     2 * static_cast<int64_t>(tokenizer_.encode("a", {.add_special_tokens = false}).ids.size());
  if (max_length_ <= added)
    throw UsageError("data.max_length: is ", max_length_, ", and the tokenizer adds ", added,
                     " tokens to two texts; set a larger one");
}

std::vector<TextTokens::Token> TextTokens::marked(Encoding encoding, const std::string& place) const {
  if (encoding.ids.empty()) throw UsageError(place, ": has no tokens; leave it out");
  for (size_t i = 0; i < encoding.ids.size(); ++i) {
    if (encoding.type_ids[i] < 0 || encoding.type_ids[i] > 1)
      throw UsageError(place, ": the tokenizer gives a token the type ", encoding.type_ids[i],
                       "; models of pairs have 0 and 1");
    if (encoding.type_ids[i] == 1) encoding.ids[i] = ~encoding.ids[i];
  }
  return std::move(encoding.ids);
}

std::vector<TextTokens::Token> TextTokens::encode(std::string_view text, const std::string& place) const {
  return marked(
      encoded_at(place, [&] { return tokenizer_.encode(text, {.with_offsets = false, .max_length = max_length_}); }),
      place);
}

std::vector<TextTokens::Token> TextTokens::encode_pair(std::string_view first, std::string_view second,
                                                       const std::string& place) const {
  return marked(
      encoded_at(
          place,
          [&] { return tokenizer_.encode_pair(first, second, {.with_offsets = false, .max_length = max_length_}); }),
      place);
}

std::pair<std::vector<TextTokens::Token>, std::vector<int64_t>> TextTokens::encode_words(
    const std::vector<std::string>& words, const std::string& place) const {
  std::vector<Token> tokens = added_.before;
  std::vector<int64_t> first_of(tokens.size(), -1);
  const auto most = static_cast<size_t>(max_length_) - added_.behind.size();
  for (size_t i = 0; i < words.size() && tokens.size() < most; ++i) {
    const Encoding pieces = encoded_at(place, [&] {
      return tokenizer_.encode(words[i], {.add_special_tokens = false, .with_offsets = false, .truncate = false});
    });
    for (size_t piece = 0; piece < pieces.ids.size() && tokens.size() < most; ++piece) {
      tokens.push_back(pieces.ids[piece]);
      first_of.push_back(piece == 0 ? static_cast<int64_t>(i) : -1);
    }
  }
  tokens.insert(tokens.end(), added_.behind.begin(), added_.behind.end());
  first_of.resize(tokens.size(), -1);
  if (tokens.empty()) throw UsageError(place, ": has no tokens; leave it out");
  return {std::move(tokens), std::move(first_of)};
}

std::vector<std::string> class_names_of_folder(const fs::path& folder) {
  const nlohmann::ordered_json config = object_of_file(folder / "config.json");
  if (!config.is_object() || !config.contains("id2label") || !config["id2label"].is_object()) return {};
  std::vector<std::string> names = names_of_label_table(config["id2label"]).value_or(std::vector<std::string>());
  const auto is_made_up = [&, i = 0](const std::string& name) mutable {
    return name == "LABEL_" + std::to_string(i++);
  };
  return std::ranges::all_of(names, is_made_up) ? std::vector<std::string>() : names;
}

}  // namespace levin::data
