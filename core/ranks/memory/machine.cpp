#include <levin/core/ranks/memory/machine.h>
#include <c10/util/StringUtil.h>

#include <unistd.h>
#include <filesystem>
#include <fstream>

namespace levin {

std::string machine_of_process() {
  std::ifstream boot("/proc/sys/kernel/random/boot_id");
  std::string id;
  boot >> id;
  const auto space = [](const char* kind) {
    std::error_code none;
    return std::filesystem::read_symlink(std::string("/proc/self/ns/") + kind, none).string();
  };
  return c10::str(id, "/", space("net"), "|", space("pid"), "/", geteuid());
}

std::string network_of(const std::string& machine) { return machine.substr(0, machine.find('|')); }

}  // namespace levin
