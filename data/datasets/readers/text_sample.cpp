#include <levin/data/datasets/readers/text_sample.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/readers/json_line.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

namespace levin::data {
namespace {

ChatRole role_of(const std::string& word, const std::string& place) {
  constexpr std::array<std::pair<std::string_view, ChatRole>, 5> kRoles = {{{"system", ChatRole::System},
                                                                            {"user", ChatRole::User},
                                                                            {"assistant", ChatRole::Assistant},
                                                                            {"human", ChatRole::User},
                                                                            {"gpt", ChatRole::Assistant}}};
  for (const auto& [name, role] : kRoles)
    if (name == word) return role;
  throw UsageError(place, ": the role '", word.substr(0, 100), "' is none of system, user and assistant");
}

/// Reads the messages of a field, by the names of TextFields or PreferenceFields.
template <class Fields>
std::vector<ChatMessage> messages_of(const nlohmann::json& json, const std::string& field, const Fields& fields,
                                     const std::string& place) {
  const nlohmann::json& messages = field_of(json, field, place);
  if (!messages.is_array() || messages.empty())
    throw UsageError(place, ": ", field, " is ", messages.is_array() ? "empty" : messages.type_name(),
                     "; expected a list of messages");
  std::vector<ChatMessage> read;
  for (size_t i = 0; i < messages.size(); ++i) {
    const std::string at = place + ": " + field + "[" + std::to_string(i) + "]";
    if (!messages[i].is_object()) throw UsageError(at, ": is ", messages[i].type_name(), ", not an object");
    const ChatRole role = role_of(text_of_field(messages[i], fields.role_field, at), at);
    read.push_back({role, text_of_field(messages[i], fields.content_field, at)});
  }
  return read;
}

Chat chat_of(std::vector<ChatMessage> prompt, std::vector<ChatMessage> completion) {
  const size_t size = prompt.size();
  std::ranges::move(completion, std::back_inserter(prompt));
  return {std::move(prompt), size};
}

bool is_message_list(const nlohmann::json& json, const std::string& field) {
  return json.contains(field) && json[field].is_array();
}

/// Takes the messages in which two chats agree for the prompt of both.
void find_prompt(Chat& one, Chat& other) {
  const auto [first, second] = std::ranges::mismatch(one.messages, other.messages, [](const auto& a, const auto& b) {
    return a.role == b.role && a.content == b.content;
  });
  one.prompt_messages = other.prompt_messages = static_cast<size_t>(first - one.messages.begin());
}

void check_answered(const Chat& chat, const std::string& field, const std::string& place) {
  const auto completion = chat.messages.begin() + static_cast<std::ptrdiff_t>(chat.prompt_messages);
  if (std::none_of(completion, chat.messages.end(), [](const auto& one) { return one.role == ChatRole::Assistant; }))
    throw UsageError(place, ": ", field, " has no answer of the assistant that differs from the other's");
}

[[noreturn]] void throw_without_fields(const nlohmann::json& json, const TextFields& fields, const std::string& place) {
  std::string expected;
  const auto expect = [&](const std::string& names) { expected += (expected.empty() ? "" : " or ") + names; };
  if (!fields.messages_field.empty()) expect(fields.messages_field);
  if (!fields.prompt_field.empty() && !fields.completion_field.empty())
    expect(fields.prompt_field + " with " + fields.completion_field);
  if (!fields.text_field.empty()) expect(fields.text_field);
  throw UsageError(place, ": expected the field ", expected.empty() ? "that an option names" : expected, "; ",
                   fields_there(json), "; the option text_field and its like name others");
}

}  // namespace

TextSample read_text_sample(std::string_view line, const TextFields& fields, const std::string& place) {
  const nlohmann::json json = parse_json_line(line, place);
  const auto has_field = [&](const std::string& field) { return !field.empty() && json.contains(field); };
  if (has_field(fields.messages_field)) return Chat{messages_of(json, fields.messages_field, fields, place)};
  if (has_field(fields.prompt_field) && has_field(fields.completion_field)) {
    if (is_message_list(json, fields.prompt_field))
      return chat_of(messages_of(json, fields.prompt_field, fields, place),
                     messages_of(json, fields.completion_field, fields, place));
    return PromptAndCompletion{text_of_field(json, fields.prompt_field, place),
                               text_of_field(json, fields.completion_field, place)};
  }
  if (has_field(fields.text_field)) return PlainText{text_of_field(json, fields.text_field, place)};
  throw_without_fields(json, fields, place);
}

Preference read_preference(std::string_view line, const PreferenceFields& fields, const std::string& place) {
  const nlohmann::json json = parse_json_line(line, place);
  if (!is_message_list(json, fields.chosen_field)) {
    const std::string prompt = text_of_field(json, fields.prompt_field, place);
    return {PromptAndCompletion{prompt, text_of_field(json, fields.chosen_field, place)},
            PromptAndCompletion{prompt, text_of_field(json, fields.rejected_field, place)}};
  }
  const bool has_prompt = is_message_list(json, fields.prompt_field);
  const auto prompt = has_prompt ? messages_of(json, fields.prompt_field, fields, place) : std::vector<ChatMessage>();
  Chat chosen = chat_of(prompt, messages_of(json, fields.chosen_field, fields, place));
  Chat rejected = chat_of(prompt, messages_of(json, fields.rejected_field, fields, place));
  if (!has_prompt) find_prompt(chosen, rejected);
  check_answered(chosen, fields.chosen_field, place);
  check_answered(rejected, fields.rejected_field, place);
  return {std::move(chosen), std::move(rejected)};
}

}  // namespace levin::data
