#include <levin/data/datasets/readers/sample_encoder.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/readers/added_to_texts.h>
#include <levin/data/datasets/readers/tokenizer_settings.h>

#include <algorithm>
#include <utility>

namespace levin::data {
namespace {

/// Returns the number of characters before the bytes `begin` and `end`, as the offsets of tokens count them.
std::pair<int64_t, int64_t> in_characters(std::string_view text, std::pair<size_t, size_t> bytes) {
  const auto count = [&](size_t begin, size_t end) {
    return std::ranges::count_if(text.substr(begin, end - begin), [](char c) { return (c & 0xc0) != 0x80; });
  };
  const int64_t begin = count(0, bytes.first);
  return {begin, begin + count(bytes.first, bytes.second)};
}

std::vector<MarkedToken> not_empty(std::vector<MarkedToken> tokens, const std::string& place) {
  if (tokens.empty()) throw UsageError(place, ": has no tokens; leave it out");
  return tokens;
}

}  // namespace

SampleEncoder::SampleEncoder(const SampleEncoderOptions& options)
    : options_(options), tokenizer_(open_tokenizer(options.tokenizer)) {
  const TokenizerSettings settings = read_tokenizer_settings(options.tokenizer);
  const std::string eos = options.eos_token.empty() ? settings.eos_token : options.eos_token;
  if (!eos.empty()) eos_id_ = tokenizer_.token_to_id(eos);
  if (options.append_eos && eos.empty())
    throw UsageError("eos_token: not set, and ", settings.file, " names no eos_token; set it, or append_eos to false");
  if ((options.append_eos || !options.eos_token.empty()) && !eos_id_)
    throw UsageError("eos_token: the tokenizer ", options.tokenizer, " has no token '", eos, "'");
  const std::optional<int32_t> pad =
      settings.pad_token.empty() ? std::nullopt : tokenizer_.token_to_id(settings.pad_token);
  pad_id_ = pad.value_or(eos_id_.value_or(0));
  try {
    chat_format_ = chat_format(settings);
  } catch (const UsageError& error) {
    chat_problem_ = error.what();
  }
}

ChatFormat SampleEncoder::chat_format(const TokenizerSettings& settings) const {
  ChatFormat format{.name = options_.chat_template};
  if (format.name == ChatTemplate::Auto)
    format = recognize_chat_template(settings.chat_template, settings.template_file);
  format.bos_token = settings.bos_token;
  format.eos_token = options_.eos_token.empty() ? settings.eos_token : options_.eos_token;
  if (!options_.system_message.empty()) format.system = options_.system_message;
  using enum ChatTemplate;
  const auto needs = [&](std::initializer_list<ChatTemplate> names) {
    return std::ranges::find(names, format.name) != names.end();
  };
  if (format.bos_token.empty() && needs({Llama2, Llama3, Llama31, Mistral, Gemma, Gemma3}))
    throw UsageError(settings.file, ": names no bos_token, which the chat template ",
                     Choice<ChatTemplate>(format.name).word(), " writes");
  if (format.eos_token.empty() && needs({Llama2, Mistral, Phi3, Zephyr}))
    throw UsageError(settings.file, ": names no eos_token, which the chat template ",
                     Choice<ChatTemplate>(format.name).word(), " writes; set eos_token");
  return format;
}

std::vector<MarkedToken> SampleEncoder::ended(std::vector<MarkedToken> tokens) const {
  if (!options_.append_eos) return tokens;
  // Some tokenizers add it themselves.
  if (!tokens.empty() && id_of(tokens.back()) == *eos_id_) tokens.pop_back();
  tokens.push_back(*eos_id_);
  return tokens;
}

std::vector<MarkedToken> SampleEncoder::encode_all(std::string_view text, bool add_special_tokens,
                                                   const std::string& place) const {
  try {
    return tokenizer_.encode(text, {.add_special_tokens = add_special_tokens, .with_offsets = false, .truncate = false})
        .ids;
  } catch (const UsageError& error) {
    throw UsageError(place, ": ", error.what());
  }
}

std::vector<MarkedToken> SampleEncoder::encode_marked(const Marked& marked, bool add_special_tokens,
                                                      const std::string& place) const {
  if (options_.loss_on == LossOn::All) return encode_all(marked.text, add_special_tokens, place);
  Encoding encoding;
  try {
    encoding = tokenizer_.encode(marked.text,
                                 {.add_special_tokens = add_special_tokens, .with_offsets = true, .truncate = false});
  } catch (const UsageError& error) {
    throw UsageError(place, ": ", error.what());
  }
  std::vector<std::pair<int64_t, int64_t>> learned;
  size_t counted_bytes = 0;
  int64_t counted_characters = 0;
  for (const auto& [begin, end] : marked.learned) {
    const std::string_view rest = std::string_view(marked.text).substr(counted_bytes);
    const auto [first, last] = in_characters(rest, {begin - counted_bytes, end - counted_bytes});
    learned.emplace_back(counted_characters + first, counted_characters + last);
    counted_bytes = end;
    counted_characters += last;
  }
  size_t part = 0;
  for (size_t i = 0; i < encoding.ids.size(); ++i) {
    const auto [begin, end] = encoding.offsets[i];
    while (part < learned.size() && begin >= learned[part].second) ++part;
    // A token that begins before the part and reaches into it is learned, unless it is one that means a border.
    const bool reaches = part < learned.size() && end > learned[part].first &&
                         (begin >= learned[part].first || !tokenizer_.is_special(encoding.ids[i]));
    if (!reaches) encoding.ids[i] = ~encoding.ids[i];
  }
  return std::move(encoding.ids);
}

std::vector<MarkedToken> SampleEncoder::encode_chat(Chat chat, const std::string& place) const {
  if (!chat_problem_.empty()) throw UsageError(place, ": is a chat, but ", chat_problem_);
  const auto of_prompt =
      std::count_if(chat.messages.begin(), chat.messages.begin() + static_cast<std::ptrdiff_t>(chat.prompt_messages),
                    [](const ChatMessage& one) { return one.role == ChatRole::Assistant; });
  RenderedChat rendered = render_chat(chat_format_, std::move(chat.messages), place);
  rendered.answers.erase(rendered.answers.begin(), rendered.answers.begin() + of_prompt);
  return encode_marked({std::move(rendered.text), std::move(rendered.answers)}, /*add_special_tokens=*/false, place);
}

std::vector<MarkedToken> SampleEncoder::encode_text(std::string_view text, const std::string& place) const {
  return not_empty(ended(encode_all(text, /*add_special_tokens=*/true, place)), place);
}

std::vector<MarkedToken> SampleEncoder::encode_piece(std::string_view piece, bool is_first, bool is_last,
                                                     const std::string& place) const {
  if (is_first && is_last) return encode_text(piece, place);
  const AddedToTexts added = added_to_texts(tokenizer_);
  std::vector<MarkedToken> tokens = encode_all(piece, /*add_special_tokens=*/false, place);
  if (is_first) tokens.insert(tokens.begin(), added.before.begin(), added.before.end());
  if (is_last) tokens.insert(tokens.end(), added.behind.begin(), added.behind.end());
  return is_last ? ended(std::move(tokens)) : tokens;
}

std::vector<MarkedToken> SampleEncoder::encode_line(std::string_view line, const std::string& place) const {
  return encode_sample(read_text_sample(line, options_.fields, place), place);
}

std::vector<MarkedToken> SampleEncoder::encode_sample(TextSample sample, const std::string& place) const {
  if (auto* const chat = std::get_if<Chat>(&sample)) return not_empty(encode_chat(std::move(*chat), place), place);
  if (const auto* const text = std::get_if<PlainText>(&sample)) return encode_text(text->text, place);
  const auto& [prompt, completion] = std::get<PromptAndCompletion>(sample);
  const std::string both = prompt + completion;
  return not_empty(ended(encode_marked({both, {{prompt.size(), both.size()}}}, /*add_special_tokens=*/true, place)),
                   place);
}

}  // namespace levin::data
