#pragma once
#include <levin/core/options/option.h>
#include <levin/data/datasets/readers/chat_template.h>

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
};
using TextSample = std::variant<PlainText, PromptAndCompletion, Chat>;

/// Reads a line of JSON. The roles human and gpt are user and assistant. Throws levin::UsageError that begins with
/// `place` for a line that is no JSON object, lacks the fields, or has other values than texts in them.
TextSample read_text_sample(std::string_view line, const TextFields& fields, const std::string& place);

}  // namespace levin::data
