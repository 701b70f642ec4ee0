#include <levin/trainer/launch/process_manager.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>

namespace levin {
namespace {

std::string text_of_process(int64_t id, const char* file) {
  std::ifstream in("/proc/" + std::to_string(id) + "/" + file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Returns 0 if it cannot be read.
int64_t parent_of(int64_t id) {
  constexpr std::string_view kField = "\nPPid:";
  const std::string status = text_of_process(id, "status");
  const size_t found = status.find(kField);
  return found == std::string::npos ? 0 : std::strtoll(status.c_str() + found + kField.size(), nullptr, 10);
}

}  // namespace

std::string process_manager() {
  using namespace std::string_literals;
  for (int64_t id = ::getppid(); id > 1; id = parent_of(id)) {
    const std::string environment = text_of_process(id, "environ");
    if (environment.empty()) return {};
    if (("\0"s + environment).find("\0PMI_RANK="s) == std::string::npos) return std::to_string(id);
  }
  return {};
}

}  // namespace levin
