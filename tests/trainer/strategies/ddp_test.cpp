// ddp in real processes: several ranks end as one process with their batches together.
#include "tests/trainer/launch/ranks.h"

namespace {

using Flags = RankedFits::Flags;

const Flags kTwoOfDdp = {"--strategy", "ddp", "--devices", "2", "--data.batch_size", "32"};

}  // namespace

TEST_CASE("two ranks end as one process with twice the batch, last short batch included") {
  // After three whole rounds the last has 38 samples, 39, or one, which leaves one rank without.
  for (const int64_t samples : {230, 231, 193}) {
    INFO(samples);
    ends_as_one_process(RankedFits("mlp", "64-true", samples), {}, kTwoOfDdp, 1e-10);
  }
}

TEST_CASE("two ranks end as one process with accumulation and clipping, however the gradients are reduced") {
  const RankedFits fits;
  const Flags clipped = {"--gradient-clip-val", "0.5"};
  ends_as_one_process(fits, joined(clipped, {"--accumulate-grad-batches", "4"}), kTwoOfDdp, 1e-10);
  ends_as_one_process(fits, clipped, joined(kTwoOfDdp, {"--strategy.find_unused_parameters", "true"}), 1e-10);
  ends_as_one_process(fits, clipped, joined(kTwoOfDdp, {"--strategy.static_graph", "true"}), 1e-10);
  ends_as_one_process(fits, clipped, joined(kTwoOfDdp, {"--strategy.bucket_cap_mb", "0.01"}), 1e-10);
}

TEST_CASE("batch norms take their statistics over all ranks") {
  for (const int64_t samples : {230, 231}) {
    INFO(samples);
    ends_as_one_process(RankedFits("mlp_bn", "64-true", samples), {"--gradient-clip-val", "0.5"},
                        joined(kTwoOfDdp, {"--sync-batchnorm", "true"}), 1e-10);
  }
}

TEST_CASE("two and four ranks train lenet in float32 as one process does") {
  const RankedFits fits("lenet", "32-true");
  const auto expected = fits.weights("one", {});
  CHECK(difference(fits.weights("two", {"--devices", "2", "--data.batch_size", "32"}), expected) < 1e-5);
  CHECK(difference(fits.weights("four", {"--devices", "4", "--data.batch_size", "16"}), expected) < 1e-5);
}

TEST_CASE("one rank of ddp ends as one process, bit for bit") {
  const RankedFits fits("mlp", "32-true");
  CHECK(difference(fits.weights("ddp", {"--strategy", "ddp"}), fits.weights("one", {})) == 0);
  CHECK(contains(fits.log("ddp"), "strategy ddp (as asked for)"));
}

TEST_CASE("compressed gradients train to about the same weights") {
  const RankedFits fits("mlp", "32-true");
  const auto expected = fits.weights("one", {});
  for (const char* as : {"fp16", "bf16"})
    CHECK(difference(fits.weights(as, joined(kTwoOfDdp, {"--strategy.gradient_compression", as})), expected) < 2e-2);
}

TEST_CASE("a run of two ranks resumes to the bit") {
  const RankedFits fits("mlp", "32-true");
  const Flags two = {"--devices", "2", "--data.batch_size", "32", "--model.optimizer.class", "Adam"};
  const auto unbroken = fits.weights("unbroken", two);
  fits.weights("parts", joined(two, {"--max-epochs", "1"}));
  CHECK(difference(fits.weights("parts", joined(two, {"--ckpt-path", "last"})), unbroken) == 0);
  // One process resumes from the checkpoint with the same global batch.
  fits.weights("fewer", joined(two, {"--max-epochs", "1"}));
  CHECK(difference(fits.weights("fewer",
                                {"--data.batch_size", "64", "--model.optimizer.class", "Adam", "--ckpt-path", "last"}),
                   unbroken) < 1e-4);
}

TEST_CASE("a run of three ranks resumes to the bit after its first step, which changes the buckets of gradients") {
  const RankedFits fits("mlp", "32-true", 192);
  const Flags three = {"--devices", "3", "--data.batch_size", "64", "--max-epochs", "4"};
  const auto unbroken = fits.weights("unbroken", three);
  fits.weights("parts", joined(three, {"--max-epochs", "1"}));
  CHECK(difference(fits.weights("parts", joined(three, {"--ckpt-path", "last"})), unbroken) == 0);
}

TEST_CASE("a dry run plans for ranks that are not there") {
  const RankedFits fits("mlp", "32-true", 70000);
  const Flags flags = {"--devices", "8",         "--num-nodes", "128", "--data.batch_size",
                       "32",        "--dry-run", "--bandwidth", "25"};
  const std::string text = fits.output("plan", flags);
  INFO(text);
  CHECK(contains(text, "ranks: 1024, 8 on each of 128 machines; 32768 samples per step, 32 in each batch of a rank"));
  // 50,890 parameters of 4 bytes.
  CHECK(contains(text, "gradients: 0.204 MB in 1 bucket; each rank sends 0.407 MB in each step"));
  CHECK(contains(text, ", which takes 0.1 ms at 25 Gbit/s\n"));
  CHECK(contains(text, "the fit would make 9 optimizer steps: 3 training batches per epoch"));
  CHECK_FALSE(std::filesystem::exists(fits.folder / "plan"));
}

TEST_CASE("verify-resume compares runs of several ranks, and leaves no folder behind") {
  const RankedFits fits;
  const std::filesystem::path temporary = fits.folder / "tmp";
  std::filesystem::create_directories(temporary);
  for (const char* strategy : {"ddp", "zero1"}) {
    std::vector<std::string> words =
        fits.command("verified", {"--devices", "2", "--data.batch_size", "32", "--strategy", strategy, "--steps", "6"});
    words[1] = "verify-resume";
    const std::filesystem::path log = fits.folder / "verified.log";
    const int code = Spawned(words, log, {"TMPDIR=" + temporary.string()}).wait();
    INFO(read_bytes(log));
    CHECK(code == 0);
    CHECK(std::filesystem::is_empty(temporary));
  }
}
