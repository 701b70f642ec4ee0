#include <levin/trainer/compiled/machine.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>

namespace levin::compiled {
namespace {

/// Returns whether a flag of /proc/cpuinfo names instructions that a compiler may emit, unlike those of the kernel.
bool names_instructions(std::string_view flag) {
  constexpr std::array<std::string_view, 24> kBeginnings = {
      "adx",    "aes",    "amx",       "avx",   "bmi",    "clflush", "clwb",   "f16c",
      "fma",    "gfni",   "abm",       "movbe", "movdir", "pclmul",  "popcnt", "rdrand",
      "rdseed", "sha_ni", "serialize", "sse",   "ssse3",  "pni",     "vaes",   "vpclmul"};
  return std::ranges::any_of(kBeginnings, [&](std::string_view beginning) { return flag.starts_with(beginning); });
}

}  // namespace

std::vector<std::string> cpu_features() {
  utsname system = {};
  std::string machine = uname(&system) == 0 ? system.machine : "unknown";
  std::set<std::string> features;
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    const bool is_x86 = line.starts_with("flags");
    if (!is_x86 && !line.starts_with("Features")) continue;
    std::istringstream flags(line.substr(std::min(line.find(':'), line.size() - 1) + 1));
    for (std::string flag; flags >> flag;)
      if (!is_x86 || names_instructions(flag)) features.insert(flag);
    break;
  }
  std::vector<std::string> all = {machine};
  all.insert(all.end(), features.begin(), features.end());
  return all;
}

std::vector<std::string> missing_features(const std::vector<std::string>& needed) {
  const std::vector<std::string> here = cpu_features();
  std::vector<std::string> missing;
  for (const std::string& feature : needed)
    if (std::ranges::find(here, feature) == here.end()) missing.push_back(feature);
  return missing;
}

}  // namespace levin::compiled
