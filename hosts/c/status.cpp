#include <levin/hosts/c/status.h>

namespace levin::c {
namespace {

thread_local std::string newest_error;

}  // namespace

levin_status fail(levin_status status, const std::string& text) noexcept {
  try {
    newest_error = text;
  } catch (...) {
    newest_error.clear();
  }
  return status;
}

}  // namespace levin::c

const char* levin_error(void) { return levin::c::newest_error.c_str(); }
