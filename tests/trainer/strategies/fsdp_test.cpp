// fsdp in real processes: ranks with a share of the parameters end like those with all of them.
#include "tests/trainer/launch/ranks.h"

namespace {

using Flags = RankedFits::Flags;

const Flags kTwo = {"--devices", "2", "--data.batch_size", "32"},
            kThree = {"--devices", "3", "--data.batch_size", "16"};
const Flags kFour = {"--devices", "4", "--data.batch_size", "16"};
const Flags kFsdp = {"--strategy", "fsdp"}, kDdp = {"--strategy", "ddp"}, kZero1 = {"--strategy", "zero1"};
const Flags kGradients = {"--strategy", "fsdp", "--strategy.shard", "gradients"};

/// Checks that a fit under `a` ends as one under `b`, both with the other flags.
void ends_alike(const RankedFits& fits, const Flags& a, const Flags& b, const Flags& flags, double within) {
  const std::string number = std::to_string(std::rand());
  const auto expected = fits.weights("b" + number, joined(b, flags));
  CHECK(difference(fits.weights("a" + number, joined(a, flags)), expected) <= within);
  CHECK(difference(fits.rows("a" + number), fits.rows("b" + number)) <= 1e3 * within);
}

}  // namespace

TEST_CASE("two ranks under fsdp end as under ddp, to the bit") {
  const RankedFits fits;
  ends_alike(fits, kFsdp, kDdp, joined(kTwo, kAdam), 0);
  ends_alike(fits, kFsdp, kDdp, joined(kTwo, {"--accumulate-grad-batches", "3"}), 0);
  ends_alike(fits, kGradients, kDdp, joined(joined(kTwo, kAdam), {"--accumulate-grad-batches", "3"}), 0);
  ends_alike(RankedFits("mlp_bn"), kFsdp, kDdp, joined(kTwo, {"--sync-batchnorm", "true"}), 0);
  // The norm is that of the shards, added up.
  ends_alike(fits, kFsdp, kDdp, joined(kTwo, {"--gradient-clip-val", "0.5"}), 1e-12);
  ends_alike(RankedFits("lenet", "32-true"), kFsdp, kDdp, joined(kTwo, {"--precision", "bf16-mixed"}), 0);
  // Autocast would round the parameters of these layers as well.
  ends_alike(RankedFits("mlp", "32-true"), joined(kFsdp, {"--strategy.parameter_compression", "bf16"}), kDdp,
             joined(kTwo, {"--precision", "bf16-mixed"}), 0);
}

TEST_CASE("more ranks under fsdp end as under ddp, up to the order of sums; so do uneven samples") {
  for (const int64_t samples : {230, 193}) {
    INFO(samples);
    ends_alike(RankedFits("mlp", "64-true", samples), kFsdp, kDdp, joined(kThree, kAdam), 1e-12);
    ends_as_one_process(RankedFits("mlp", "64-true", samples), {}, joined(kFsdp, kFour), 1e-10);
  }
}

TEST_CASE("a run under fsdp resumes to the bit, also with other ranks and strategies") {
  const RankedFits fits;
  const auto unbroken = fits.weights("unbroken", joined(joined(kFsdp, kTwo), kAdam));
  const auto goes_on = [&](const std::string& name, const Flags& before, const Flags& after, const Flags& until) {
    fits.weights(name, joined(joined(before, kAdam), until));
    return difference(fits.weights(name, joined(joined(after, kAdam), {"--ckpt-path", "last"})), unbroken);
  };
  const Flags fsdp = joined(kFsdp, kTwo), epoch = {"--max-epochs", "1"}, middle = {"--max-steps", "6"};
  CHECK(goes_on("same", fsdp, fsdp, epoch) == 0);
  CHECK(goes_on("inside", fsdp, fsdp, middle) == 0);
  CHECK(goes_on("more", fsdp, joined(kFsdp, kFour), middle) < 1e-12);
  CHECK(goes_on("gradients", fsdp, joined(kGradients, kTwo), middle) == 0);
  CHECK(goes_on("to_ddp", fsdp, joined(kDdp, kTwo), epoch) == 0);
  CHECK(goes_on("from_ddp", joined(kDdp, kTwo), fsdp, middle) == 0);
  CHECK(goes_on("from_zero1", joined(kZero1, kFour), fsdp, epoch) < 1e-12);
  CHECK(goes_on("to_one", fsdp, {"--data.batch_size", "64"}, epoch) < 1e-12);
}

TEST_CASE("a run under fsdp that sends 16 bit resumes to the bit") {
  const RankedFits fits("mlp", "32-true");
  const Flags flags = joined(joined(kFsdp, kTwo),
                             {"--strategy.parameter_compression", "bf16", "--strategy.gradient_compression", "fp16"});
  const auto unbroken = fits.weights("unbroken", flags);
  fits.weights("resumed", joined(flags, {"--max-steps", "6"}));
  CHECK(difference(fits.weights("resumed", joined(flags, {"--ckpt-path", "last"})), unbroken) == 0);
}

TEST_CASE("what fsdp cannot run is refused") {
  const RankedFits fits;
  CHECK(fits.start("lamb", joined(joined(kFsdp, kTwo), {"--model.optimizer.class", "LAMB"})).wait() != 0);
  CHECK(contains(fits.log("lamb"), "fsdp: this optimizer does not step each element by itself"));
  CHECK(fits.start("alone", joined(kDdp, {"--devices", "2", "--strategy.shard", "gradients"})).wait() == 2);
  CHECK(contains(fits.log("alone"), "--strategy.shard: no such flag"));
}
