// What the fuzzed readers of runs call and fuzz nothing of: the page, sizes of checkpoints, messages.
#include <levin/core/state/checkpoint_parts.h>
#include <levin/core/system/console.h>
#include <levin/program/runs/report.h>

#include <system_error>

namespace levin {

namespace runs {

const char* report_template() { return "LEVIN_REPORT_DATA"; }

}  // namespace runs

uintmax_t checkpoint_bytes(const std::filesystem::path& file) {
  std::error_code error;
  const uintmax_t bytes = std::filesystem::file_size(file, error);
  return error ? 0 : bytes;
}

void console::warn(const std::string& /*message*/) {}

}  // namespace levin
