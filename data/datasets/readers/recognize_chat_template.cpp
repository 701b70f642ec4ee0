#include <levin/core/system/error.h>
#include <levin/data/datasets/readers/chat_template.h>

#include <string_view>

namespace levin::data {
namespace {

/// Returns a template with one kind of quotes and one way to name a message's parts, so that marks can be found.
std::string in_one_spelling(std::string jinja) {
  for (char& c : jinja)
    if (c == '"') c = '\'';
  const auto replace_all = [&](std::string_view from, std::string_view to) {
    for (size_t at = jinja.find(from); at != jinja.npos; at = jinja.find(from, at + to.size()))
      jinja.replace(at, from.size(), to);
  };
  replace_all("message['content']", "message.content");
  replace_all("message['role']", "message.role");
  replace_all("\\n", "\n");
  replace_all("\\'", "'");
  return jinja;
}

/// Marks that a template of Jinja has or lacks.
struct Marks {
  std::string text;
  bool has(std::string_view mark) const { return text.find(mark) != text.npos; }
};

ChatTemplate format_with(const Marks& marks) {
  if (marks.has("<|im_start|>") && marks.has("<|im_end|>")) {
    if (marks.has("<think>")) return marks.has("last_query_index") ? ChatTemplate::Qwen3 : ChatTemplate::Auto;
    const bool is_plain = !marks.has("<|im_sep|>") && !marks.has("trim") && !marks.has("strip");
    return is_plain ? ChatTemplate::ChatML : ChatTemplate::Auto;
  }
  if (marks.has("<|start_header_id|>") && marks.has("<|eot_id|>"))
    return marks.has("Cutting Knowledge Date") ? ChatTemplate::Llama31 : ChatTemplate::Llama3;
  if (marks.has("<<SYS>>")) return ChatTemplate::Llama2;
  if (marks.has("'[INST] ' + message.content + ' [/INST]'") && !marks.has("' ' + message.content"))
    return ChatTemplate::Mistral;
  if (marks.has("<start_of_turn>") && marks.has("<end_of_turn>"))
    return marks.has("first_user_prefix") ? ChatTemplate::Gemma3 : ChatTemplate::Gemma;
  if (marks.has("'<|user|>\n' + message.content + '<|end|>\n'")) return ChatTemplate::Phi3;
  if (marks.has("'<|user|>\n' + message.content + eos_token")) return ChatTemplate::Zephyr;
  return ChatTemplate::Auto;
}

/// Returns the text of a system message that stands in a template of ChatML itself; empty if there is none.
std::string own_system_message(const std::string& jinja) {
  constexpr std::string_view kBegin = "<|im_start|>system\n", kEnd = "<|im_end|>";
  for (size_t begin = jinja.find(kBegin); begin != jinja.npos; begin = jinja.find(kBegin, begin)) {
    begin += kBegin.size();
    const size_t end = jinja.find(kEnd, begin);
    if (end == jinja.npos) break;
    std::string text = jinja.substr(begin, end - begin);
    // A quote ends the text of the template there, and an expression follows.
    if (!text.empty() && !text.starts_with('\'') && text.find_first_of("{}") == text.npos) return text;
  }
  return {};
}

}  // namespace

ChatFormat recognize_chat_template(const std::string& jinja, const std::string& place) {
  std::string names;
  for (const auto& [name, value] : kWords<ChatTemplate>)
    if (value != ChatTemplate::Auto) names += (names.empty() ? "" : ", ") + std::string(name);
  if (jinja.empty()) throw UsageError(place, ": there is no chat template; set chat_template to one of ", names);
  const Marks marks{in_one_spelling(jinja)};
  ChatFormat format{.name = format_with(marks)};
  if (format.name == ChatTemplate::Auto)
    throw UsageError(place, ": the chat template is of no format that levin knows; set chat_template to one of ", names,
                     ", if the model takes that");
  if (format.name == ChatTemplate::ChatML) format.system = own_system_message(marks.text);
  return format;
}

}  // namespace levin::data
