#include <levin/data/download/shown_url.h>

#include <algorithm>

namespace levin::data {

std::string shown_url(std::string_view url) {
  constexpr std::string_view kAfterScheme = "://";
  const size_t scheme = url.find(kAfterScheme);
  if (scheme == std::string_view::npos) return std::string(url);
  const size_t begin = scheme + kAfterScheme.size();
  const size_t end = std::min(url.find_first_of("/?#", begin), url.size());
  const size_t at = url.substr(begin, end - begin).rfind('@');
  const std::string_view rest = url.substr(at == std::string_view::npos ? begin : begin + at + 1);
  const bool is_bucket = scheme == 2 && (url[1] == '3' || url[1] == 's' || url[1] == 'S');
  const size_t query = is_bucket ? std::string_view::npos : rest.find('?');
  std::string shown(url.substr(0, begin));
  shown += rest.substr(0, query);
  return query == std::string_view::npos ? shown : shown + "?...";
}

}  // namespace levin::data
