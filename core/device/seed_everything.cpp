#include <levin/core/device/seed_everything.h>
#include <levin/core/device/own_generator.h>
#include <levin/core/system/error.h>

namespace levin {

void seed_everything(int64_t seed) {
  if (seed < 0) throw UsageError("seed_everything: expected at least 0, got ", seed);
  seed_generators(static_cast<uint64_t>(seed));
}

}  // namespace levin
