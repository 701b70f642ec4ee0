#include <levin/data/datasets/readers/text_sample.h>
#include <levin/core/state/json_depth.h>
#include <levin/core/system/error.h>

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

namespace levin::data {
namespace {

using LineJson = nlohmann::json;

constexpr size_t kMostLineLevels = 100, kMostNamedFields = 20;

LineJson parse_line(std::string_view line, const std::string& place) {
  if (is_nested_deeper(line, kMostLineLevels))
    throw UsageError(place, ": expected at most ", kMostLineLevels, " levels of lists and objects");
  try {
    LineJson json = LineJson::parse(line);
    if (json.is_object()) return json;
    throw UsageError(place, ": expected a JSON object, {\"text\": ...}, and this is ", json.type_name());
  } catch (const LineJson::parse_error& error) {
    throw UsageError(place, ": is no JSON, at byte ", error.byte,
                     " of the line; each line is one JSON object in UTF-8");
  } catch (const LineJson::exception&) {
    throw UsageError(place, ": has a number that is too large");
  }
}

std::string text_of_field(const LineJson& json, const std::string& field, const std::string& place) {
  const auto found = json.find(field);
  if (found == json.end()) throw UsageError(place, ": has no ", field);
  if (!found->is_string()) throw UsageError(place, ": ", field, " is ", found->type_name(), ", not a text");
  return found->get<std::string>();
}

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

Chat chat_of(const LineJson& messages, const TextFields& fields, const std::string& place) {
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

[[noreturn]] void throw_without_fields(const LineJson& json, const TextFields& fields, const std::string& place) {
  std::string there, expected;
  size_t count = 0;
  for (const auto& member : json.items()) {
    if (++count > kMostNamedFields) break;
    there += (there.empty() ? "" : ", ") + member.key().substr(0, 100);
  }
  const auto expect = [&](const std::string& names) { expected += (expected.empty() ? "" : " or ") + names; };
  if (!fields.messages_field.empty()) expect(fields.messages_field);
  if (!fields.prompt_field.empty() && !fields.completion_field.empty())
    expect(fields.prompt_field + " with " + fields.completion_field);
  if (!fields.text_field.empty()) expect(fields.text_field);
  throw UsageError(place, ": expected the field ", expected.empty() ? "that an option names" : expected, "; there ",
                   count == 0 ? "is none" : "are " + there + (count > kMostNamedFields ? ", ..." : ""),
                   "; the option text_field and its like name others");
}

}  // namespace

TextSample read_text_sample(std::string_view line, const TextFields& fields, const std::string& place) {
  const LineJson json = parse_line(line, place);
  const auto has_field = [&](const std::string& field) { return !field.empty() && json.contains(field); };
  if (has_field(fields.messages_field)) return chat_of(json[fields.messages_field], fields, place);
  if (has_field(fields.prompt_field) && has_field(fields.completion_field))
    return PromptAndCompletion{text_of_field(json, fields.prompt_field, place),
                               text_of_field(json, fields.completion_field, place)};
  if (has_field(fields.text_field)) return PlainText{text_of_field(json, fields.text_field, place)};
  throw_without_fields(json, fields, place);
}

}  // namespace levin::data
