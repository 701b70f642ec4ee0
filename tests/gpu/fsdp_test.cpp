// fsdp on as many GPUs as there are, by the program `levin` that lies beside this one.
#include <levin/core/device/gpu_discovery.h>

#include <filesystem>

#include "tests/gpu/skipped.h"
#include "tests/trainer/launch/ranks.h"

namespace {

using Flags = RankedFits::Flags;

const Flags kSharded = {"--strategy", "fsdp", "--strategy.state_dict_type", "sharded"};

/// Returns flags for all GPUs, each with its own rank; empty if there are fewer than two.
Flags all_gpus() {
  const int gpus = levin::visible_gpus().count;
  const std::filesystem::path program = std::filesystem::canonical("/proc/self/exe").parent_path() / "levin";
  if (gpus < 2 || !std::filesystem::exists(program)) {
    skipped_reason() = gpus < 2 ? "it needs two GPUs" : "it needs the program levin beside it";
    return {};
  }
  ::setenv("LEVIN_PROGRAM", program.c_str(), /*overwrite=*/0);
  return {"--accelerator", "gpu", "--devices", std::to_string(gpus), "--data.batch_size", "16"};
}

}  // namespace

TEST_CASE("fsdp on all GPUs ends as ddp", "[parallel]") {
  const Flags gpus = all_gpus();
  if (gpus.empty()) return;
  const RankedFits fits;
  const auto expected = fits.weights("ddp", joined(gpus, {"--strategy", "ddp"}));
  CHECK(difference(fits.weights("fsdp", joined(gpus, {"--strategy", "fsdp"})), expected) < 1e-10);
  CHECK(difference(fits.weights("gradients", joined(gpus, {"--strategy", "fsdp", "--strategy.shard", "gradients"})),
                   expected) < 1e-10);
}

TEST_CASE("fsdp in 16 bit on all GPUs ends as ddp", "[parallel]") {
  const Flags gpus = all_gpus();
  if (gpus.empty()) return;
  const RankedFits fits("mlp", "32-true");
  for (const char* precision : {"bf16-mixed", "16-mixed"}) {
    INFO(precision);
    const Flags flags = joined(gpus, {"--precision", precision});
    const auto expected = fits.weights(std::string("ddp_") + precision, joined(flags, {"--strategy", "ddp"}));
    CHECK(difference(fits.weights(std::string("fsdp_") + precision, joined(flags, {"--strategy", "fsdp"})), expected) <
          1e-3);
  }
}

TEST_CASE("a sharded checkpoint of all GPUs resumes on them to the bit, and on one of them", "[checkpoints]") {
  const Flags gpus = all_gpus();
  if (gpus.empty()) return;
  const RankedFits fits;
  const auto unbroken = fits.weights("unbroken", joined(gpus, kSharded));
  fits.weights("parts", joined(joined(gpus, kSharded), {"--max-epochs", "1"}));
  const std::string saved = (fits.run("parts") / "checkpoints" / "last.ckpt").string();
  CHECK(difference(fits.weights("resumed", joined(joined(gpus, kSharded), {"--ckpt-path", saved})), unbroken) == 0);
  const std::string of_all = std::to_string(16 * levin::visible_gpus().count);
  const Flags one = {"--accelerator", "gpu", "--devices", "1", "--data.batch_size", of_all, "--ckpt-path", saved};
  CHECK(difference(fits.weights("one", one), unbroken) < 1e-8);
}
