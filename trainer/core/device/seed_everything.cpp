#include <levin/trainer/core/device/seed_everything.h>
#include <levin/trainer/core/device/own_generator.h>
#include <levin/trainer/core/system/error.h>

namespace levin {

void seed_everything(int64_t seed) {
  if (seed < 0) throw UsageError("seed_everything: expected at least 0, got ", seed);
  seed_generators(static_cast<uint64_t>(seed));
}

}  // namespace levin
