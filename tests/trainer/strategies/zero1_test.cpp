// zero1 in real processes: ranks with a share of the optimizer's state end like those with all of it.
#include "tests/trainer/launch/ranks.h"

namespace {

using Flags = RankedFits::Flags;

const Flags kTwoOfZero1 = {"--strategy", "zero1", "--devices", "2", "--data.batch_size", "32"};

}  // namespace

TEST_CASE("two ranks under zero1 end as one process with twice the batch") {
  for (const int64_t samples : {230, 231, 193}) {
    INFO(samples);
    ends_as_one_process(RankedFits("mlp", "64-true", samples), {}, kTwoOfZero1, 1e-10);
  }
  const RankedFits fits;
  ends_as_one_process(fits, kAdam, kTwoOfZero1, 1e-10);
  const Flags clipped = {"--gradient-clip-val", "0.5"};
  ends_as_one_process(fits, joined(clipped, {"--accumulate-grad-batches", "4"}), kTwoOfZero1, 1e-10);
  ends_as_one_process(fits, clipped, joined(kTwoOfZero1, {"--strategy.find_unused_parameters", "true"}), 1e-10);
  ends_as_one_process(fits, clipped, joined(kTwoOfZero1, {"--strategy.static_graph", "true"}), 1e-10);
  ends_as_one_process(fits, clipped, joined(kTwoOfZero1, {"--strategy.bucket_cap_mb", "0.01"}), 1e-10);
  ends_as_one_process(RankedFits("mlp_bn"), clipped, joined(kTwoOfZero1, {"--sync-batchnorm", "true"}), 1e-10);
}

TEST_CASE("two and four ranks under zero1 train lenet as one process does, in float32 and in 16 bit") {
  const RankedFits fits("lenet", "32-true");
  const auto expected = fits.weights("one", {});
  CHECK(difference(fits.weights("two", kTwoOfZero1), expected) < 1e-5);
  CHECK(difference(fits.weights("four", {"--strategy", "zero1", "--devices", "4", "--data.batch_size", "16"}),
                   expected) < 1e-5);
  const Flags half = {"--precision", "16-mixed", "--gradient-clip-val", "0.5"};
  CHECK(difference(fits.weights("two16", joined(half, kTwoOfZero1)), fits.weights("one16", half)) < 1e-2);
}

TEST_CASE("a run under zero1 resumes to the bit, also with other ranks and strategies") {
  const RankedFits fits;
  const Flags two = joined(kTwoOfZero1, kAdam), first = {"--max-epochs", "1"}, last = {"--ckpt-path", "last"};
  const auto unbroken = fits.weights("unbroken", two);
  const auto goes_on = [&](const std::string& name, const Flags& before, const Flags& after) {
    fits.weights(name, joined(joined(before, kAdam), first));
    return difference(fits.weights(name, joined(joined(after, kAdam), last)), unbroken);
  };
  CHECK(goes_on("same", kTwoOfZero1, kTwoOfZero1) == 0);
  const Flags four = {"--strategy", "zero1", "--devices", "4", "--data.batch_size", "16"};
  const Flags ddp = {"--devices", "2", "--data.batch_size", "32"}, one = {"--data.batch_size", "64"};
  CHECK(goes_on("more", kTwoOfZero1, four) < 1e-10);
  CHECK(goes_on("to_ddp", kTwoOfZero1, ddp) < 1e-10);
  CHECK(goes_on("from_ddp", ddp, kTwoOfZero1) < 1e-10);
  CHECK(goes_on("to_one", kTwoOfZero1, one) < 1e-10);
  CHECK(goes_on("from_one", one, kTwoOfZero1) < 1e-10);
}

TEST_CASE("a run keeps its global batch on another number of ranks if keep_global_batch is set") {
  const RankedFits fits;
  const Flags keeps = {"--keep-global-batch", "true", "--ckpt-path", "last"};
  const Flags four = {"--devices", "4", "--data.batch_size", "16"}, two = {"--devices", "2", "--data.batch_size", "16"};
  const Flags one = {"--data.batch_size", "16"};
  const auto unbroken = fits.weights("unbroken", four);
  // In the middle of the second epoch, and at the end of the first.
  for (const Flags& stop : {Flags{"--max-steps", "6"}, Flags{"--max-epochs", "1"}}) {
    const std::string name = stop[0];
    fits.weights(name, joined(four, stop));
    fits.weights(name, joined(joined(two, keeps), {"--max-steps", "8"}));  // two batches in each step
    INFO(fits.log(name));
    CHECK(difference(fits.weights(name, joined(one, keeps)), unbroken) < 1e-10);  // four
    CHECK(levin::Json::parse(read_bytes(fits.run(name) / "summary.json"))["global_step"] == 12);
  }
  // Back to more ranks; a number of ranks that does not divide a step's batches is refused.
  fits.weights("back", joined(joined(two, {"--accumulate-grad-batches", "2"}), {"--max-steps", "6"}));
  CHECK(difference(fits.weights("back", joined(joined(four, keeps), {"--accumulate-grad-batches", "2"})), unbroken) <
        1e-10);
  fits.weights("three", joined(four, {"--max-steps", "6"}));
  CHECK(fits.start("three", joined(keeps, {"--devices", "3", "--data.batch_size", "16"})).wait() == 2);
  CHECK(contains(fits.log("three"), "trainer.keep_global_batch: each step has 4 batches, and 4 ranks are now 3"));
}

TEST_CASE("what zero1 cannot run is refused, and a dry run shows what it saves") {
  const RankedFits fits("mlp", "32-true", 70000);
  CHECK(fits.start("lamb", joined(kTwoOfZero1, {"--model.optimizer.class", "LAMB"})).wait() != 0);
  CHECK(contains(fits.log("lamb"), "zero1: this optimizer does not step each element by itself"));
  const Flags plan = {"--devices", "8",         "--num-nodes", "128",  "--data.batch_size",
                      "32",        "--dry-run", "--strategy",  "zero1"};
  const std::string text = fits.output("plan", joined(plan, {"--model.optimizer.class", "Adam"}));
  INFO(text);
  // Gloo reduces everything everywhere, and gathers the parameters besides.
  CHECK(contains(
      text, "gradients: 0.204 MB in 1 bucket, parameters: 0.204 MB gathered after the step; each rank sends 0.61"));
  CHECK(contains(text, "optimizer state 0 MB"));
}

TEST_CASE(
    "plain SGD, which keeps no state, resumes under zero1 and fsdp and elsewhere, also from files with a none as "
    "state") {
  const RankedFits fits;
  const Flags plain = {"--model.optimizer.momentum", "0"}, first = {"--max-epochs", "1"};
  const auto unbroken = fits.weights("unbroken", plain);
  for (const char* strategy : {"zero1", "fsdp"}) {
    INFO(strategy);
    const Flags two = joined(plain, {"--strategy", strategy, "--devices", "2", "--data.batch_size", "32"});
    const std::string name = strategy;
    fits.weights(name, joined(two, first));
    const auto file = fits.run(name) / "checkpoints" / "last.ckpt";
    const auto goes_on = [&](const std::string& again, const Flags& flags) {
      return difference(fits.weights(again, joined(flags, {"--ckpt-path", file.string()})), unbroken);
    };
    CHECK(goes_on(name + "_one", plain) < 1e-10);
    CHECK(goes_on(name + "_two", two) < 1e-10);
    levin::State saved = levin::load_state(file);
    for (auto& [index, values] : saved["optimizer_states"].items()[0]["state"].to_dict()) values = levin::State();
    levin::save_state(saved, file);
    CHECK(goes_on(name + "_none_one", plain) < 1e-10);
    CHECK(goes_on(name + "_none_two", two) < 1e-10);
  }
}
