#include <levin/data/remote/remote_url.h>
#include <levin/core/system/error.h>
#include <levin/core/system/url_credentials.h>
#include <levin/data/remote/remote_object.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace levin::data {
namespace {

constexpr std::string_view kAfterScheme = "://";
constexpr std::array<std::pair<std::string_view, RemoteScheme>, 5> kSchemes = {{{"https", RemoteScheme::Http},
                                                                                {"http", RemoteScheme::Http},
                                                                                {"s3", RemoteScheme::S3},
                                                                                {"gs", RemoteScheme::Gs},
                                                                                {"file", RemoteScheme::File}}};

char lower(char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter; }

std::optional<RemoteScheme> scheme_of(std::string_view url) {
  const std::string_view given = url.substr(0, url.find(kAfterScheme));
  if (given.size() == url.size()) return {};
  for (const auto& [name, scheme] : kSchemes)
    if (std::ranges::equal(given, name, {}, lower)) return scheme;
  return {};
}

/// Returns where the part begins that follows the scheme.
size_t after_scheme(std::string_view url) { return url.find(kAfterScheme) + kAfterScheme.size(); }

}  // namespace

RemoteUrl parse_remote_url(const std::string& url) {
  const std::optional<RemoteScheme> scheme = scheme_of(url);
  if (!scheme) throw UsageError(url, ": a URL of https, http, s3, gs or file was expected");
  if (url.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos)
    throw UsageError(shown_url(url), ": a URL without line ends was expected");
  RemoteUrl parts{.scheme = *scheme, .text = url};
  const std::string_view rest = std::string_view(url).substr(after_scheme(url));
  const size_t slash = std::min(rest.find('/'), rest.size());
  const std::string_view first = rest.substr(0, slash);
  if (*scheme == RemoteScheme::File) {
    if (slash == rest.size() || (!first.empty() && first != "localhost"))
      throw UsageError(url, ": a path of this machine was expected after file://, such as file:///data/a.npy");
    parts.key = percent_decoded(rest.substr(slash));
    return parts;
  }
  if (first.find('@') != std::string_view::npos)
    throw UsageError(shown_url(url),
                     ": a URL with a password or keys was given, which a config and a checkpoint would ",
                     parts.is_bucket() ? "hold; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
                                       : "hold; write them to ~/.netrc: machine SERVER login NAME password PASSWORD");
  if (!parts.is_bucket()) {
    if (const std::string name = left_out_credential(rest); !name.empty())
      throw UsageError(shown_url(url), ": this URL was saved without its credentials (", name,
                       "); give the whole URL again, in the config or by the flag of the option");
    if (first.empty()) throw UsageError(shown_url(url), ": this URL names no server");
    return parts;
  }
  const auto fits = [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '.' || c == '_'; };
  if (first.empty() || !std::ranges::all_of(first, fits))
    throw UsageError(url, ": the name of a bucket was expected after ://, such as s3://bucket/folder/file");
  parts.bucket = first;
  parts.key = rest.substr(std::min(slash + 1, rest.size()));
  return parts;
}

std::string without_signature(const std::string& url) {
  constexpr std::array<std::string_view, 7> kNames = {"expires", "se", "st", "sp", "sv", "sr", "googleaccessid"};
  const std::optional<RemoteScheme> scheme = scheme_of(url);
  if (scheme == RemoteScheme::S3 || scheme == RemoteScheme::Gs) return url;  // there `?` is a letter of the key
  const size_t question = std::min(url.find('?'), url.size());
  std::string kept = url.substr(0, question);
  for (size_t begin = question; begin < url.size();) {
    const size_t end = std::min(url.find('&', begin + 1), url.size());
    const std::string_view part = std::string_view(url).substr(begin + 1, end - begin - 1);
    std::string name(part.substr(0, part.find('=')));
    std::ranges::transform(name, name.begin(), lower);
    if (!is_credential(name) && std::ranges::find(kNames, name) == kNames.end())
      kept.append(kept.size() == question ? "?" : "&").append(part);
    begin = end;
  }
  return kept;
}

std::string percent_encoded(std::string_view text, std::string_view kept) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    const bool is_plain = (byte < 128 && std::isalnum(byte)) ||
                          std::string_view("-._~").find(letter) != std::string_view::npos ||
                          kept.find(letter) != std::string_view::npos;
    if (is_plain)
      encoded += letter;
    else
      encoded.append({'%', kDigits[byte >> 4], kDigits[byte & 15]});
  }
  return encoded;
}

std::string percent_decoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    const char* const digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() && std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2) {
      decoded += static_cast<char>(value);
      i += 2;
    } else {
      decoded += text[i];
    }
  }
  return decoded;
}

}  // namespace levin::data

namespace levin {

bool is_remote(std::string_view path) { return data::scheme_of(path).has_value(); }

}  // namespace levin
