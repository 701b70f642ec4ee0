#include <levin/core/system/url_credentials.h>

#include <algorithm>
#include <array>

namespace levin {
namespace {

char in_lower_case(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

/// Returns the end of the URL that begins at `begin` in a text.
size_t end_of_url(std::string_view text, size_t begin) {
  return std::min(text.find_first_of(" \t\r\n\"'<>\\`|{}", begin), text.size());
}

/// A parameter of a query: where its name and its value are.
struct Parameter {
  size_t name = 0, value = 0, end = 0;  ///< `value` is `end` without one
};

/// Calls `take` with each parameter of a URL's query that is a credential; the last comes first.
template <class Take>
void for_each_credential(std::string_view url, const Take& take) {
  const size_t end = std::min(url.find('#'), url.size()), question = url.substr(0, end).find('?');
  if (question == url.npos) return;
  for (size_t stop = end; stop > question;) {
    const size_t begin = url.substr(0, stop).find_last_of("?&;");
    const size_t equals = std::min(url.find('=', begin), stop);
    if (is_credential(url.substr(begin + 1, equals - begin - 1)))
      take(Parameter{.name = begin + 1, .value = std::min(equals + 1, stop), .end = stop});
    stop = begin;
  }
}

}  // namespace

bool is_credential(std::string_view parameter) {
  constexpr std::array<std::string_view, 2> kBeginnings = {"x-amz-", "x-goog-"};
  constexpr std::array<std::string_view, 13> kEndings = {"sig",      "signature",   "token",  "key",      "keyid",
                                                         "accessid", "key-pair-id", "secret", "password", "credential",
                                                         "auth",     "jwt",         "policy"};
  std::string name(parameter);
  std::ranges::transform(name, name.begin(), in_lower_case);
  return std::ranges::any_of(kBeginnings, [&](std::string_view one) { return name.starts_with(one); }) ||
         std::ranges::any_of(kEndings, [&](std::string_view one) { return name.ends_with(one); });
}

std::string without_credentials(std::string text) {
  constexpr std::string_view kScheme = "://";
  for (size_t at = text.find(kScheme); at != text.npos; at = text.find(kScheme, at + 1)) {
    std::string scheme = text.substr(at < 5 ? 0 : at - 5, std::min<size_t>(at, 5));
    std::ranges::transform(scheme, scheme.begin(), in_lower_case);
    if (!scheme.ends_with("http") && scheme != "https") continue;
    const std::string_view url = std::string_view(text).substr(at, end_of_url(text, at) - at);
    for_each_credential(std::string(url), [&](const Parameter& one) {
      text.replace(at + one.value, one.end - one.value, one.value == one.end ? "" : kLeftOutCredential);
    });
  }
  return text;
}

std::string left_out_credential(std::string_view url) {
  std::string name;
  for_each_credential(url, [&](const Parameter& one) {
    if (url.substr(one.value, one.end - one.value) == kLeftOutCredential)
      name = url.substr(one.name, one.value - one.name - 1);
  });
  return name;
}

}  // namespace levin
