#include <levin/trainer/runs/run_server.h>

#include <algorithm>

namespace levin::runs {

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
  return is_local(name) || name == options.host ||
         std::ranges::find(options.allowed_hosts, name) != options.allowed_hosts.end();
}

}  // namespace levin::runs
