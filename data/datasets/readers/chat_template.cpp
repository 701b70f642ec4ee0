#include <levin/data/datasets/readers/chat_template.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/readers/python_strip.h>

#include <string_view>

namespace levin::data {
namespace {

using Messages = std::vector<ChatMessage>;

constexpr std::string_view kThinkBegin = "<think>", kThinkEnd = "</think>";

/// Writes a chat and remembers which bytes the assistant writes.
class ChatWriter {
 public:
  void put(std::string_view text) { chat_.text += text; }
  /// Writes a turn: what stands before it, what its speaker says, and what ends it.
  void turn(ChatRole role, std::string_view before, std::string_view said, std::string_view end) {
    put(before);
    const size_t begin = chat_.text.size();
    put(said);
    put(end);
    if (role == ChatRole::Assistant) chat_.answers.emplace_back(begin, chat_.text.size());
  }
  RenderedChat take() { return std::move(chat_); }

 private:
  RenderedChat chat_ = {};
};

const char* role_name(ChatRole role) {
  return role == ChatRole::System ? "system" : role == ChatRole::User ? "user" : "assistant";
}

bool has_system(const Messages& messages) { return !messages.empty() && messages[0].role == ChatRole::System; }

/// Returns the content of the first message and removes it, if it is of the system.
std::string take_system(Messages& messages) {
  if (!has_system(messages)) return {};
  std::string content = std::move(messages[0].content);
  messages.erase(messages.begin());
  return content;
}

void check_alternating(const Messages& messages, const std::string& place) {
  for (size_t i = 0; i < messages.size(); ++i) {
    const ChatRole expected = i % 2 == 0 ? ChatRole::User : ChatRole::Assistant;
    if (messages[i].role == expected) continue;
    throw UsageError(place, ": in this chat template the user and the assistant take turns, the user first; here ",
                     role_name(messages[i].role), " comes in place of ", role_name(expected));
  }
}

void write_chatml(ChatWriter& chat, const Messages& messages) {
  for (const ChatMessage& message : messages) {
    chat.turn(message.role, std::string("<|im_start|>") + role_name(message.role) + "\n", message.content,
              "<|im_end|>");
    chat.put("\n");
  }
}

/// Writes an answer of Qwen 3: its thoughts stay only behind the last question, where they are written even if there
/// are none.
std::string qwen3_answer(const std::string& content, bool behind_last_question, bool is_last) {
  std::string_view thoughts, said = content;
  if (const size_t first_end = content.find(kThinkEnd); first_end != content.npos) {
    thoughts = strip_end(said.substr(0, first_end), '\n');
    if (const size_t begin = thoughts.rfind(kThinkBegin); begin != thoughts.npos)
      thoughts.remove_prefix(begin + kThinkBegin.size());
    thoughts = strip_begin(thoughts, '\n');
    said = strip_begin(said.substr(content.rfind(kThinkEnd) + kThinkEnd.size()), '\n');
  }
  if (!behind_last_question || (!is_last && thoughts.empty())) return std::string(said);
  std::string text = "<think>\n";
  text += strip_all(thoughts, '\n');
  text += "\n</think>\n\n";
  return text += strip_begin(said, '\n');
}

bool is_question_of_qwen3(const ChatMessage& message) {
  const std::string_view content = message.content;
  return message.role == ChatRole::User &&
         !(content.starts_with("<tool_response>") && content.ends_with("</tool_response>"));
}

void write_qwen3(ChatWriter& chat, Messages messages) {
  size_t last_question = messages.size() - 1;
  for (size_t i = 0; i < messages.size(); ++i)
    if (is_question_of_qwen3(messages[i])) last_question = i;
  for (size_t i = 0; i < messages.size(); ++i)
    if (messages[i].role == ChatRole::Assistant)
      messages[i].content = qwen3_answer(messages[i].content, i > last_question, i + 1 == messages.size());
  write_chatml(chat, messages);
}

void write_llama3_turn(ChatWriter& chat, ChatRole role, std::string_view content) {
  chat.turn(role, std::string("<|start_header_id|>") + role_name(role) + "<|end_header_id|>\n\n", content,
            "<|eot_id|>");
}

void write_llama3(ChatWriter& chat, const ChatFormat& format, Messages messages) {
  chat.put(format.bos_token);
  if (format.name == ChatTemplate::Llama31) {
    // The dates are those that the template has where nobody gives others.
    std::string system = "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n";
    system += python_strip(take_system(messages));
    write_llama3_turn(chat, ChatRole::System, system);
  }
  for (const ChatMessage& message : messages) write_llama3_turn(chat, message.role, python_strip(message.content));
}

void write_llama2(ChatWriter& chat, const ChatFormat& format, Messages messages, const std::string& place) {
  const bool begins_with_system = has_system(messages);
  const std::string system = take_system(messages);
  check_alternating(messages, place);
  if (begins_with_system && !messages.empty())
    messages[0].content = "<<SYS>>\n" + system + "\n<</SYS>>\n\n" + messages[0].content;
  for (const ChatMessage& message : messages) {
    const std::string said(python_strip(message.content));
    if (message.role == ChatRole::User)
      chat.put(format.bos_token + "[INST] " + said + " [/INST]");
    else
      chat.turn(message.role, "", " " + said + " ", format.eos_token);
  }
}

void write_mistral(ChatWriter& chat, const ChatFormat& format, const Messages& messages, const std::string& place) {
  check_alternating(messages, place);
  chat.put(format.bos_token);
  for (const ChatMessage& message : messages) {
    if (message.role == ChatRole::User)
      chat.put("[INST] " + message.content + " [/INST]");
    else
      chat.turn(message.role, "", message.content, format.eos_token);
  }
}

void write_gemma(ChatWriter& chat, const ChatFormat& format, Messages messages, const std::string& place) {
  if (format.name == ChatTemplate::Gemma && has_system(messages))
    throw UsageError(place, ": this chat template has no system message; put its text into the user's first message");
  const bool begins_with_system = has_system(messages);
  const std::string system = take_system(messages);
  check_alternating(messages, place);
  chat.put(format.bos_token);
  for (size_t i = 0; i < messages.size(); ++i) {
    const bool is_answer = messages[i].role == ChatRole::Assistant;
    std::string before = is_answer ? "<start_of_turn>model\n" : "<start_of_turn>user\n";
    if (i == 0 && begins_with_system) before += system + "\n\n";
    chat.turn(messages[i].role, before, python_strip(messages[i].content), "<end_of_turn>");
    chat.put("\n");
  }
}

/// Phi 3 and Zephyr: a mark for the role, a line, and a token that ends the turn.
void write_marked(ChatWriter& chat, const Messages& messages, std::string_view end) {
  for (const ChatMessage& message : messages) {
    chat.turn(message.role, std::string("<|") + role_name(message.role) + "|>\n", message.content, end);
    chat.put("\n");
  }
}

}  // namespace

RenderedChat render_chat(const ChatFormat& format, Messages messages, const std::string& place) {
  if (messages.empty()) throw UsageError(place, ": the chat has no messages");
  if (!format.system.empty() && !has_system(messages))
    messages.insert(messages.begin(), {ChatRole::System, format.system});
  ChatWriter chat;
  switch (format.name) {
    case ChatTemplate::Auto:
    case ChatTemplate::ChatML:
      write_chatml(chat, messages);
      break;
    case ChatTemplate::Qwen3:
      write_qwen3(chat, std::move(messages));
      break;
    case ChatTemplate::Llama2:
      write_llama2(chat, format, std::move(messages), place);
      break;
    case ChatTemplate::Llama3:
    case ChatTemplate::Llama31:
      write_llama3(chat, format, std::move(messages));
      break;
    case ChatTemplate::Mistral:
      write_mistral(chat, format, messages, place);
      break;
    case ChatTemplate::Gemma:
    case ChatTemplate::Gemma3:
      write_gemma(chat, format, std::move(messages), place);
      break;
    case ChatTemplate::Phi3:
      write_marked(chat, messages, "<|end|>");
      chat.put(format.eos_token);
      break;
    case ChatTemplate::Zephyr:
      write_marked(chat, messages, format.eos_token);
      break;
  }
  return chat.take();
}

}  // namespace levin::data
