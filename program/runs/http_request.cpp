#include <levin/program/runs/http_request.h>

#include <algorithm>
#include <charconv>

namespace levin::runs {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

/// Returns whether text is a name as HTTP has them: a method, or the name of a header.
bool is_http_token(std::string_view text) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kMarks.find(c) != std::string_view::npos;
  });
}

/// Returns text with its "+" and "%2F" as what they stand for; nullopt for a "%" without two digits.
std::optional<std::string> decoded(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      result += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    const std::string_view digits = text.substr(i + 1, 2);
    unsigned char byte = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (digits.size() != 2 || read.ec != std::errc() || read.ptr != digits.data() + 2) return {};
    result += static_cast<char>(byte);
    i += 2;
  }
  return result;
}

std::string_view without_blanks(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

/// Takes the part before the next `separator` from the front of `rest`, and the separator.
std::string_view take_part(std::string_view& rest, std::string_view separator) {
  const size_t end = rest.find(separator);
  const std::string_view part = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + separator.size());
  return part;
}

bool read_request_line(std::string_view line, HttpRequest& request) {
  request.method = take_part(line, " ");
  request.target = take_part(line, " ");
  if (!is_http_token(request.method) || !request.target.starts_with('/') || (line != "HTTP/1.1" && line != "HTTP/1.0"))
    return false;
  if (std::ranges::any_of(request.target, [](unsigned char c) { return c <= ' ' || c == 0x7F; })) return false;
  std::string_view rest = request.target;
  request.path = take_part(rest, "?");
  while (!rest.empty()) {
    std::string_view value = take_part(rest, "&");
    const std::optional<std::string> name = decoded(take_part(value, "=")), text = decoded(value);
    if (!name || !text) return false;
    request.query.emplace(*name, *text);
  }
  return true;
}

bool read_header(std::string_view line, HttpRequest& request) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_http_token(line.substr(0, colon))) return false;
  std::string name(line.substr(0, colon));
  std::ranges::transform(name, name.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  const std::string value(without_blanks(line.substr(colon + 1)));
  if (std::ranges::any_of(value, [](unsigned char c) { return (c < ' ' && c != '\t') || c == 0x7F; })) return false;
  const auto [at, is_first] = request.headers.emplace(name, value);
  if (is_first) return true;
  if (name == "host") return false;
  if (value.empty()) return true;  // an element without text stands for nothing
  if (!at->second.empty()) at->second += name == "cookie" ? "; " : ", ";
  at->second += value;
  return true;
}

std::string value_in(const std::map<std::string, std::string>& values, const std::string& name) {
  const auto found = values.find(name);
  return found == values.end() ? std::string() : found->second;
}

}  // namespace

std::string HttpRequest::header(const std::string& name) const { return value_in(headers, name); }

std::string HttpRequest::parameter(const std::string& name) const { return value_in(query, name); }

std::string HttpRequest::cookie(const std::string& name) const {
  const std::string all = header("cookie");
  for (std::string_view rest = all; !rest.empty();) {
    std::string_view value = take_part(rest, ";");
    if (without_blanks(take_part(value, "=")) == name) return std::string(without_blanks(value));
  }
  return {};
}

std::optional<HttpRequest> parse_http_request(std::string_view text) {
  HttpRequest request;
  if (!text.ends_with("\r\n\r\n")) return {};
  text.remove_suffix(kLineEnd.size());
  if (!read_request_line(take_part(text, kLineEnd), request)) return {};
  while (!text.empty())
    if (!read_header(take_part(text, kLineEnd), request)) return {};
  const std::string length = request.header("content-length");
  request.has_body = request.headers.contains("transfer-encoding") || !(length.empty() || length == "0");
  return request;
}

}  // namespace levin::runs
