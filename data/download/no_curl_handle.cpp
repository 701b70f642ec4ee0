#include <levin/data/download/url_host.h>

namespace levin::data {

std::string host_of(const std::string& url) {
  const size_t scheme = url.find("://");
  if (scheme == std::string::npos) return url;
  const size_t begin = scheme + 3;
  std::string host = url.substr(begin, url.find_first_of("/?#", begin) - begin);
  host.erase(0, host.rfind('@') + 1);
  const size_t port = host.rfind(':');
  if (port != std::string::npos && host.find(']', port) == std::string::npos) host.erase(port);
  return host.empty() ? url : host;
}

}  // namespace levin::data
