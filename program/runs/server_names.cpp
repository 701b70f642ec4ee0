#include <levin/core/system/host_name.h>
#include <levin/program/runs/run_server.h>

#include <arpa/inet.h>

#include <algorithm>

namespace levin::runs {

namespace {

/// Returns whether text is an address in numbers, which no resolver can give another meaning.
bool is_address(const std::string& text) {
  in6_addr address = {};
  return ::inet_pton(AF_INET, text.c_str(), &address) == 1 || ::inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

}  // namespace

bool is_local(const std::string& host) { return host == "127.0.0.1" || host == "::1" || host == "localhost"; }

bool is_own_name(const std::string& header, const RunServerOptions& options) {
  std::string name = header;
  if (!name.empty() && name.front() == '[') {
    const size_t end = name.find(']');
    if (end == std::string::npos) return false;
    name = name.substr(1, end - 1);
  } else {
    name = name.substr(0, name.find(':'));
  }
  std::ranges::transform(name, name.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  const bool listens_everywhere = options.host == "0.0.0.0" || options.host == "::";
  return is_local(name) || name == options.host || (listens_everywhere && (is_address(name) || name == host_name())) ||
         std::ranges::find(options.allowed_hosts, name) != options.allowed_hosts.end();
}

}  // namespace levin::runs
