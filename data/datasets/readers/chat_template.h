#pragma once
#include <levin/core/options/choice.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace levin {
namespace data {

/// The formats in which models read chats. Auto is that of the tokenizer.
enum class ChatTemplate : uint8_t {
  Auto,
  ChatML,   ///< Qwen 2 and 2.5, SmolLM2, and many others
  Qwen3,    ///< ChatML with the thoughts of the last answer in <think>
  Llama2,   ///< [INST], with the system message in <<SYS>>
  Llama3,   ///< Llama 3
  Llama31,  ///< Llama 3.1 and later: a system message with dates
  Mistral,  ///< [INST], as in Mistral 7B Instruct 0.2
  Gemma,    ///< Gemma 1 and 2, which know no system message
  Gemma3,   ///< the system message begins the first message of the user
  Phi3,
  Zephyr  ///< Zephyr, TinyLlama
};

}  // namespace data

template <>
inline constexpr auto kWords<data::ChatTemplate> =
    words_of<data::ChatTemplate>({{"auto", data::ChatTemplate::Auto},
                                  {"chatml", data::ChatTemplate::ChatML},
                                  {"qwen3", data::ChatTemplate::Qwen3},
                                  {"llama2", data::ChatTemplate::Llama2},
                                  {"llama3", data::ChatTemplate::Llama3},
                                  {"llama3.1", data::ChatTemplate::Llama31},
                                  {"mistral", data::ChatTemplate::Mistral},
                                  {"gemma", data::ChatTemplate::Gemma},
                                  {"gemma3", data::ChatTemplate::Gemma3},
                                  {"phi3", data::ChatTemplate::Phi3},
                                  {"zephyr", data::ChatTemplate::Zephyr}});

namespace data {

enum class ChatRole : uint8_t { System, User, Assistant };

struct ChatMessage {
  ChatRole role = ChatRole::User;
  std::string content = {};
};

struct ChatFormat {
  ChatTemplate name = ChatTemplate::ChatML;
  std::string bos_token = {}, eos_token = {};
  std::string system = {};  ///< the system message of chats that have none; empty: none
};

/// A chat as one text, which already has its special tokens.
struct RenderedChat {
  std::string text = {};
  /// Bytes [begin, end) of each turn of the assistant: what the model writes, with the token that ends the turn.
  std::vector<std::pair<size_t, size_t>> answers = {};
};

/// Writes a chat as the template of its model does (apply_chat_template of transformers, without a generation prompt).
/// Throws levin::UsageError that begins with `place` for roles in an order that the format does not have.
RenderedChat render_chat(const ChatFormat& format, std::vector<ChatMessage> messages, const std::string& place);

/// Returns the format that a tokenizer's template of Jinja has, by the marks that it writes, with the system message
/// that it adds to chats without one. Throws levin::UsageError that begins with `place` and lists the names for a
/// template of no known format, and for an empty one.
ChatFormat recognize_chat_template(const std::string& jinja, const std::string& place);

}  // namespace data
}  // namespace levin
