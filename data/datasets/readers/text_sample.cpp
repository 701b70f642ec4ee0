#include <levin/data/datasets/readers/text_sample.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/readers/json_line.h>

#include <array>
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

Chat chat_of(const nlohmann::json& messages, const TextFields& fields, const std::string& place) {
  if (!messages.is_array() || messages.empty())
    throw UsageError(place, ": ", fields.messages_field, " is ", messages.is_array() ? "empty" : messages.type_name(),
                     "; expected a list of messages");
  Chat chat;
  for (size_t i = 0; i < messages.size(); ++i) {
    const std::string at = place + ": " + fields.messages_field + "[" + std::to_string(i) + "]";
    if (!messages[i].is_object()) throw UsageError(at, ": is ", messages[i].type_name(), ", not an object");
    const ChatRole role = role_of(text_of_field(messages[i], fields.role_field, at), at);
    chat.messages.push_back({role, text_of_field(messages[i], fields.content_field, at)});
  }
  return chat;
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
  if (has_field(fields.messages_field)) return chat_of(json[fields.messages_field], fields, place);
  if (has_field(fields.prompt_field) && has_field(fields.completion_field))
    return PromptAndCompletion{text_of_field(json, fields.prompt_field, place),
                               text_of_field(json, fields.completion_field, place)};
  if (has_field(fields.text_field)) return PlainText{text_of_field(json, fields.text_field, place)};
  throw_without_fields(json, fields, place);
}

}  // namespace levin::data
