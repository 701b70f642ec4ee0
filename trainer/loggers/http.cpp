#include <levin/trainer/loggers/http.h>

#include <cstring>

namespace levin {

bool HttpAnswer::may_retry() const {
  return status == 0 || !error.empty() || status == 408 || status == 425 || status == 429 || status >= 500;
}

std::string HttpAnswer::reason() const {
  if (!error.empty()) return error;
  return "the server answers " + std::to_string(status);
}

std::string url_encoded(const std::string& text) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                       std::strchr("-._~", c) != nullptr;
    if (plain && c != '\0')
      encoded += c;
    else
      encoded.append({'%', kDigits[byte >> 4], kDigits[byte & 15]});
  }
  return encoded;
}

}  // namespace levin
