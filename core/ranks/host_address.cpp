#include <levin/core/ranks/host_address.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <netdb.h>

#include <algorithm>
#include <thread>

namespace levin {
namespace {

constexpr std::chrono::seconds kLongestWait{10};

/// Returns getaddrinfo's error code; 0 if the name has an address.
int resolve_host(const std::string& host) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  const int error = ::getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (error == 0) ::freeaddrinfo(found);
  return error;
}

}  // namespace

bool is_loopback(const std::string& host) { return host == "localhost" || host == "::1" || host.rfind("127.", 0) == 0; }

void check_resolvable(const std::string& host, const char* variable, std::chrono::milliseconds timeout) {
  const auto end = std::chrono::steady_clock::now() + std::min<std::chrono::milliseconds>(timeout, kLongestWait);
  int error = resolve_host(host);
  if (error == EAI_AGAIN)
    console::info(std::string(variable) + ": the name service does not answer for \"" + host + "\", asking again");
  while (error == EAI_AGAIN && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    error = resolve_host(host);
  }
  if (error == 0) return;
  throw UsageError(variable, ": no machine is found by the name \"", host, "\" (", ::gai_strerror(error),
                   "); give the name or the address of rank 0's machine, as the other machines reach it");
}

}  // namespace levin
