#include <levin/core/system/host_name.h>
#include <unistd.h>

namespace levin {

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof(name) - 1) == 0 ? name : "localhost";
}

}  // namespace levin
