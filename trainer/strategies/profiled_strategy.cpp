#include <levin/trainer/strategies/profiled_strategy.h>

namespace levin {

std::string class_name_of_strategy(const std::string& name) {
  if (name == "dp") return "DataParallelStrategy";
  if (name == "ddp") return "DDPStrategy";
  if (name == "zero1") return "Zero1Strategy";
  if (name == "fsdp") return "FSDPStrategy";
  return "SingleDeviceStrategy";
}

}  // namespace levin
