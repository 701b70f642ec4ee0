#pragma once
#include <levin/core/options/option.h>
#include <levin/data/datasets/readers/chat_template.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace levin::data {

/// The names of the fields of a line. A sample is a chat if the line has the field of messages, else a prompt with its
/// completion if it has both fields, else a text.
struct TextFields {
  std::string text_field = LEVIN_OPTION(text_field, "text", "Field with the text of a line; empty: none");
  std::string prompt_field = LEVIN_OPTION(prompt_field, "prompt", "Field with a prompt; empty: none");
  std::string completion_field =
      LEVIN_OPTION(completion_field, "completion", "Field with what follows a prompt; empty: none");
  std::string messages_field =
      LEVIN_OPTION(messages_field, "messages", "Field with a chat, a list of messages; empty: none");
  std::string role_field = LEVIN_OPTION(role_field, "role", "Field of a message: system, user or assistant");
  std::string content_field = LEVIN_OPTION(content_field, "content", "Field of a message with its text");
};

struct PlainText {
  std::string text = {};
};
struct PromptAndCompletion {
  std::string prompt = {}, completion = {};
};
struct Chat {
  std::vector<ChatMessage> messages = {};
  size_t prompt_messages = 0;  ///< the first ones, of which no answer is learned
};
using TextSample = std::variant<PlainText, PromptAndCompletion, Chat>;

/// Reads a line of JSON. A prompt and its completion are two texts, or two lists of messages, which make one chat. The
/// roles human and gpt are user and assistant. Throws levin::UsageError that begins with `place` for a line that is no
/// JSON object, lacks the fields, or has other values in them.
TextSample read_text_sample(std::string_view line, const TextFields& fields, const std::string& place);

/// The names of the fields of a line with two completions.
struct PreferenceFields {
  std::string prompt_field = LEVIN_OPTION(prompt_field, "prompt", "Field with the prompt");
  std::string chosen_field = LEVIN_OPTION(chosen_field, "chosen", "Field with the better completion of the prompt");
  std::string rejected_field = LEVIN_OPTION(rejected_field, "rejected", "Field with the worse one");
  std::string role_field = LEVIN_OPTION(role_field, "role", "Field of a message: system, user or assistant");
  std::string content_field = LEVIN_OPTION(content_field, "content", "Field of a message with its text");
};

struct Preference {
  TextSample chosen = {}, rejected = {};
};

/// Reads a line with two completions of a prompt, all three texts or lists of messages. If the line has no list with
/// the prompt, both chats begin with it: the messages in which they agree, as DPOTrainer of TRL takes them. Throws
/// levin::UsageError that begins with `place` for another line, and for a chat whose completion has no answer.
Preference read_preference(std::string_view line, const PreferenceFields& fields, const std::string& place);

}  // namespace levin::data
