#include <levin/program/config/reference_text.h>
#include <levin/core/system/error.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

namespace levin::cli {
namespace {

constexpr const char* kOpen = "${";
constexpr const char* kEnvironment = "env:";

void append_literal(std::vector<TextPiece>& pieces, const std::string& text) {
  if (text.empty()) return;
  if (pieces.empty() || pieces.back().is_reference) pieces.emplace_back();
  pieces.back().text += text;
}

void escape(std::string& text) {
  for (size_t at = text.find(kOpen); at != std::string::npos; at = text.find(kOpen, at + 3)) text.insert(at, "$");
}

}  // namespace

std::vector<TextPiece> pieces_of(const std::string& text) {
  std::vector<TextPiece> pieces;
  size_t begin = 0;
  for (size_t at = text.find(kOpen); at != std::string::npos; at = text.find(kOpen, begin)) {
    if (at > begin && text[at - 1] == '$') {
      append_literal(pieces, text.substr(begin, at - 1 - begin) + kOpen);
      begin = at + 2;
      continue;
    }
    const size_t end = text.find('}', at);
    if (end == std::string::npos)
      throw UsageError("expected a } after ", text.substr(at), " (a literal ${ is written $${)");
    append_literal(pieces, text.substr(begin, at - begin));
    pieces.push_back({text.substr(at + 2, end - at - 2), true});
    begin = end + 1;
  }
  append_literal(pieces, text.substr(begin));
  return pieces;
}

bool has_reference(const std::string& text) { return text.find(kOpen) != std::string::npos; }

std::optional<std::string> environment_name(const std::string& reference) {
  if (reference.rfind(kEnvironment, 0) != 0) return {};
  return reference.substr(std::string(kEnvironment).size());
}

void require_utf8(const std::string& text) {
  try {
    Json(text).dump();
  } catch (const Json::type_error&) {
    throw UsageError("expected UTF-8 text, got other bytes");
  }
}

std::string environment_value(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (!value) throw UsageError("${env:", name, "}: the environment has no such variable");
  require_utf8(value);
  return value;
}

std::string with_environment(const std::string& text) {
  if (!has_reference(text)) return text;
  try {
    std::string result;
    for (const TextPiece& piece : pieces_of(text)) {
      const std::optional<std::string> name = piece.is_reference ? environment_name(piece.text) : std::nullopt;
      if (piece.is_reference && !name) return text;
      result += name ? environment_value(*name) : piece.text;
    }
    return result;
  } catch (const UsageError&) {
    return text;
  }
}

Json with_escaped_references(Json json) {
  if (json.is_string()) {
    escape(json.get_ref<std::string&>());
  } else if (json.is_structured()) {
    for (Json& value : json) value = with_escaped_references(std::move(value));
  }
  return json;
}

}  // namespace levin::cli
