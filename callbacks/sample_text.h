#pragma once
#include <levin/callbacks/callback.h>
#include <levin/core/options/option.h>
#include <levin/data/tokenizer.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace levin {

struct SampleTextOptions {
  std::vector<std::string> prompts = LEVIN_OPTION(prompts, {}, "Texts that the model continues; at least one");
  int64_t tokens = LEVIN_OPTION(tokens, 50, "Most tokens of a continuation", {.min = 1});
  int64_t every_n_epochs = LEVIN_OPTION(every_n_epochs, 1, "Write every n epochs; 0: not by epochs", {.min = 0});
  int64_t every_n_steps = LEVIN_OPTION(every_n_steps, 0, "Write every n optimizer steps; 0: not by steps", {.min = 0});
  double temperature = LEVIN_OPTION(
      temperature, 0, "0: always the most likely token; above: draw, the more evenly the higher", {.min = 0});
  std::optional<int64_t> top_k = LEVIN_OPTION(top_k, {}, "Draw among the k most likely tokens", {.min = 1});
  std::optional<double> top_p =
      LEVIN_OPTION(top_p, {}, "Draw among the most likely tokens that have this probability together",
                   {.max = 1, .exclusive_min = 0});
  int64_t seed = LEVIN_OPTION(seed, 0, "Seed of the draws, the same each time", {.min = 0});
  std::string tokenizer = LEVIN_OPTION(
      tokenizer, "", "A tokenizer.json, a folder that has one, or a SentencePiece model; empty: the model's folder");
  std::string output_dir = LEVIN_OPTION(output_dir, "", "Folder of the files; empty: samples in the run's folder");
};

/// Writes what a CausalLM makes of prompts while it is trained: a file `step=<optimizer steps>.json` with
/// `{"texts": [{"prompt": ..., "text": ...}]}`, and the text `samples` for the loggers that show texts.
///
/// By epochs it writes during an epoch's first validation, with the weights that are validated (averages, if the run
/// makes some), or at the epoch's end if there is none. All ranks generate, and rank 0 writes. Random numbers that are
/// drawn do not count for the training.
class SampleText : public Callback {
 public:
  using Options = SampleTextOptions;

  /// Throws UsageError for bad options.
  explicit SampleText(SampleTextOptions options);
  /// Throws UsageError for a module that is no CausalLM, a tokenizer that cannot be read, and a prompt without tokens.
  void on_fit_start(Run& run) override;
  void on_train_batch_end(Run& run) override;
  void on_validation_batch_end(Run& run) override;
  void on_train_epoch_end(Run& run) override;

 private:
  void write_if_due(Run& run);
  void write(Run& run);

  SampleTextOptions options_;
  std::shared_ptr<const Tokenizer> tokenizer_ = {};
  int64_t latest_epoch_ = -1, latest_step_ = 0;
};

}  // namespace levin
