// Tensor parallelism in real processes, alone and as a mesh with ddp, zero1 and fsdp: runs end like one
// process.
#include "tests/trainer/launch/ranks.h"

namespace {

using Flags = RankedFits::Flags;

/// Fits of a small GPT on a text of random letters, in batches of 8.
struct GptFits : RankedFits {
  GptFits() {
    std::string letters;
    uint32_t state = 7;
    for (int i = 0; i < 600; ++i)
      letters += static_cast<char>('a' + ((state = state * 1664525 + 1013904223) >> 16) % 26);
    write_bytes(folder / "letters.txt", letters);
    write_bytes(folder / "config.json", R"({"seed": 3, "name": "run",
      "trainer": {"max_epochs": 2, "accelerator": "cpu", "log_every_n_steps": 1, "enable_progress_bar": false,
                  "enable_model_summary": false, "num_sanity_val_steps": 0, "timeout_seconds": 60,
                  "precision": "64-true", "gradient_clip_val": 0.5},
      "model": {"class": "LanguageModel", "vocab_size": 131, "block_size": 8, "layers": 2, "heads": 4, "embedding": 16,
                "optimizer": {"class": "AdamW", "lr": 0.01}},
      "data": {"class": "Text", "level": "bytes", "block_size": 8, "val_fraction": 0.2, "batch_size": 8, "file": ")" +
                                            (folder / "letters.txt").string() + "\"}}");
  }
};

const Flags kHalf = {"--data.batch_size", "4"}, kDropout = {"--model.dropout", "0.2"};
const Flags kTensor2 = {"--devices", "2", "--mesh.tensor", "2"}, kTensor4 = {"--devices", "4", "--mesh.tensor", "4"};
const Flags kMesh = joined({"--devices", "4", "--mesh.tensor", "2"}, kHalf);
const Flags kFsdpOfMesh = joined(kMesh, {"--strategy", "fsdp", "--mesh.shard", "2"});

}  // namespace

TEST_CASE("tensor-parallel ranks end as one process does, with dropout too") {
  const GptFits fits;
  ends_as_one_process(fits, joined(kDropout, {"--accumulate-grad-batches", "3"}), kTensor2, 1e-10);
  ends_as_one_process(fits, {"--model.tied_head", "false", "--activation-checkpointing", "true"},
                      joined(kTensor4, {"--strategy", "fsdp"}), 1e-10);
}

TEST_CASE(
    "a mesh of 2 data-parallel by 2 tensor-parallel ranks ends as one process does, and as 2 ranks with dropout") {
  const GptFits fits;
  const auto one = fits.weights("one", {});
  const std::map<std::string, Flags> meshes = {
      {"ddp", kMesh}, {"fsdp", kFsdpOfMesh}, {"zero1", joined(kMesh, {"--strategy", "zero1"})}};
  for (const auto& [name, mesh] : meshes) {
    INFO(name);
    CHECK(difference(fits.weights(name, mesh), one) < 1e-10);
    CHECK(difference(fits.rows(name), fits.rows("one")) < 1e-7);
  }
  const auto two = fits.weights("two", joined(joined({"--devices", "2"}, kHalf), kDropout));
  CHECK(difference(fits.weights("dropout", joined(kFsdpOfMesh, kDropout)), two) < 1e-10);
  CHECK(difference(fits.rows("dropout"), fits.rows("two")) < 1e-7);
}

TEST_CASE("checkpoints of a mesh are those of one process: each goes on from the other's") {
  const GptFits fits;
  const auto unbroken = fits.weights("unbroken", {});
  const auto goes_on = [&](const std::string& name, const Flags& before, const Flags& after, const Flags& until) {
    fits.weights(name, joined(before, until));
    return difference(fits.weights(name, joined(after, {"--ckpt-path", "last"})), unbroken);
  };
  const Flags epoch = {"--max-epochs", "1"}, middle = {"--max-steps", "4"};
  CHECK(goes_on("to_one", kFsdpOfMesh, {}, middle) < 1e-10);
  CHECK(goes_on("from_one", {}, kFsdpOfMesh, middle) < 1e-10);
  CHECK(goes_on("fewer", kFsdpOfMesh, kTensor2, epoch) < 1e-10);

  fits.weights("whole", joined(kMesh, middle));
  const levin::State checkpoint = levin::load_state(fits.run("whole") / "checkpoints" / "last.ckpt");
  const levin::State& optimizer = checkpoint.at("optimizer_states").items()[0].at("state");
  int64_t parameter = 0;
  const levin::nn::GPT gpt(levin::nn::GPTOptions{.vocab_size = 131, .block_size = 8, .layers = 2, .embedding = 16});
  for (const auto& item : gpt->named_parameters()) {
    CHECK(checkpoint.at("state_dict").at("net." + item.key()).to_tensor().sizes() == item.value().sizes());
    CHECK(optimizer.at(parameter++).at("exp_avg").to_tensor().sizes() == item.value().sizes());
  }
}

TEST_CASE("what a mesh cannot run is refused") {
  const GptFits fits;
  const auto refused = [&](const Flags& flags, const std::string& why) {
    const std::string name = "refused" + std::to_string(std::rand());
    CHECK(fits.start(name, flags).wait() != 0);
    INFO(fits.log(name));
    CHECK(contains(fits.log(name), why));
  };
  refused(joined(kTensor2, {"--model.heads", "1"}), "2 tensor-parallel ranks do not divide 1 attention heads");
  refused({"--devices", "3", "--mesh.tensor", "2"}, "shard 1 times tensor 2 is 2, which does not divide the 3 ranks");
  refused({"--mesh.tensor", "2"}, "set strategy to ddp, zero1 or fsdp");
  refused(joined(kTensor2, {"--mesh.shard", "2"}), "set strategy to fsdp");
  refused(joined(kFsdpOfMesh, {"--strategy.state_dict_type", "sharded"}),
          "gather whole layers for a checkpoint; use full");
  refused(joined(kTensor2, {"--model.optimizer.class", "LAMB"}), "this optimizer looks at whole parameters");
  refused(joined(kTensor2, {"--callbacks", "EMAWeightAveraging"}), "looks at whole parameters");
  const RankedFits digits;
  CHECK(digits.start("mlp", kTensor2).wait() != 0);
  CHECK(contains(digits.log("mlp"), "the module has no part that ranks can divide"));
}

TEST_CASE("plain SGD, which keeps no state, saves and resumes on tensor-parallel ranks") {
  const GptFits fits;
  const Flags plain = {"--model.optimizer.class", "SGD", "--model.optimizer.lr", "0.1"};
  const auto unbroken = fits.weights("unbroken", plain);
  for (const char* strategy : {"ddp", "zero1"}) {
    INFO(strategy);
    const Flags ranks = joined(joined(plain, kMesh), {"--strategy", strategy});
    fits.weights(strategy, joined(ranks, {"--max-epochs", "1"}));
    CHECK(difference(fits.weights(strategy, joined(ranks, {"--ckpt-path", "last"})), unbroken) < 1e-10);
  }
}

TEST_CASE("norms of gradients are those of the whole gradients on tensor-parallel ranks") {
  const GptFits fits;
  const Flags monitored = {"--callbacks", R"([{"class": "GradNormMonitor", "per_layer": true}])"};
  ends_as_one_process(fits, monitored, kTensor2, 1e-10);
  ends_as_one_process(fits, monitored, kFsdpOfMesh, 1e-10);
}
