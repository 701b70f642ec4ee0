#pragma once
#include <levin/levin.h>

#include <cstdlib>
#include <random>
#include <sstream>
#include <string>

/// A randomly drawn training, for the tests of resumes and of ranks.
struct RandomCase {
  /// Returns the case of this number. With `comparable`, several ranks and one process train it alike: it has no random
  /// numbers in steps, and its batches are divided among the ranks.
  /// On the GPU that LEVIN_RANDOM_ACCELERATOR=gpu asks for, there is one rank.
  static RandomCase draw(uint64_t number, bool comparable);
  /// Returns the accelerator of LEVIN_RANDOM_ACCELERATOR; "cpu" if it is unset.
  static std::string accelerator();
  /// Returns one line that describes the case, for messages about its failure.
  std::string describe() const;
  /// Returns whether the number of steps is known in advance.
  bool has_known_length() const { return data == "mapped" || max_steps >= 0; }

  uint64_t number = 0;
  bool comparable = false;
  int64_t ranks = 1;
  std::string strategy = "auto", precision = "32-true", optimizer = "SGD", scheduler = "none", data = "mapped";
  std::string clip_algorithm = "norm", partial_round = "uneven", monitor = "val_loss";
  bool fused = false, two_optimizers = false, ema = false, dropout = false, batch_norm = false, shuffle = false,
       drop_last = false;
  bool sync_batch_norm = false;  ///< whose statistics are those of one process
  bool weights_are_counts = false, empty_batches_are_nan = false, skips_batches = false;
  bool accumulation_table = false, stops_early = false, metric_is_registered = true, rows_change = false;
  bool sharded_checkpoints = false, keeps_parameters = false, reduces_each = false;  ///< under fsdp
  int64_t samples = 30, batch_size = 4, workers = 0, accumulate = 1, epochs = 2, frequency = 1, log_every = 1;
  int64_t every_n_train_steps = 1, top_k = 1, sanity_steps = 0, check_val_every_n_epoch = 1, reload_every = 0;
  int64_t max_steps = -1, hybrid_shard = 0;
  double clip = 0;
  levin::BatchLimit limit_train = 1.0, limit_val = 1.0;
  levin::CheckInterval val_check_interval = 1.0;
};

namespace random_case {

constexpr int64_t kValidationSamples = 13;

/// Random draws with readable names: `one_in(3)`, `between(1, 4)`, `among({"a", "b"})`.
class Dice {
 public:
  explicit Dice(uint64_t seed) : generator_(seed) {}
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(generator_() % static_cast<uint64_t>(high - low + 1));
  }
  bool one_in(int64_t count) { return between(1, count) == 1; }
  std::string among(std::initializer_list<const char*> values) {
    return values.begin()[between(0, static_cast<int64_t>(values.size()) - 1)];
  }

 private:
  std::mt19937_64 generator_;
};

}  // namespace random_case

inline std::string RandomCase::accelerator() {
  const char* const set = std::getenv("LEVIN_RANDOM_ACCELERATOR");
  return set == nullptr ? "cpu" : set;
}

inline RandomCase RandomCase::draw(uint64_t number, bool comparable) {
  random_case::Dice dice(number * 2 + comparable);
  RandomCase c;
  c.number = number;
  c.comparable = comparable;
  c.ranks = comparable ? dice.between(2, 4) : dice.one_in(2) ? 1 : dice.between(2, 4);
  if (c.ranks > 1) c.strategy = dice.among({"ddp", "zero1", "fsdp"});
  c.precision = comparable ? "64-true" : dice.among({"32-true", "32-true", "64-true", "bf16-mixed", "16-mixed"});
  c.optimizer = dice.among({"SGD", "Adam", "AdamW"});
  c.two_optimizers = dice.one_in(6);
  c.scheduler = dice.among({"none", "one_cycle", "cosine", "step", "plateau"});
  c.ema = dice.one_in(3);
  c.dropout = !comparable && dice.one_in(2);
  c.batch_norm = !comparable && dice.one_in(3);
  c.data = dice.among({"mapped", "mapped", "stream", "divided"});
  if (!comparable && c.ranks > 1 && dice.one_in(8)) c.data = "uneven";
  c.shuffle = dice.one_in(2);
  c.drop_last = dice.one_in(4);
  c.partial_round = comparable || dice.one_in(2) ? "uneven" : dice.among({"drop", "pad"});
  c.samples = dice.between(12, 60);
  c.batch_size = dice.between(2, 5);
  c.workers = dice.one_in(3) ? 2 : 0;
  c.epochs = dice.between(2, 3);
  c.weights_are_counts = dice.one_in(3);
  c.empty_batches_are_nan = c.weights_are_counts && dice.one_in(2);
  c.skips_batches = dice.one_in(6);
  c.stops_early = dice.one_in(4);
  c.metric_is_registered = dice.one_in(2);
  c.frequency = dice.one_in(4) ? 2 : 1;
  c.log_every = dice.between(1, 3);
  c.every_n_train_steps = dice.between(1, 3);
  c.top_k = dice.between(1, 2);
  c.sanity_steps = dice.one_in(3) ? 2 : 0;
  if (dice.one_in(4)) c.limit_train = dice.between(2, 5);
  if (dice.one_in(4)) c.limit_val = 1;
  if (dice.one_in(4)) c.val_check_interval = 2;
  if (dice.one_in(5)) c.check_val_every_n_epoch = 2;
  if (dice.one_in(5)) c.reload_every = 1;
  if (dice.one_in(5)) c.max_steps = dice.between(3, 9);
  if (!c.two_optimizers) {
    c.accumulate = dice.one_in(2) ? dice.between(2, 4) : 1;
    c.accumulation_table = c.accumulate > 1 && dice.one_in(3);
    if (dice.one_in(3)) {
      c.clip = 0.5;
      c.clip_algorithm = dice.among({"norm", "value"});
    }
  }
  // BatchNorm does not accept a batch of one sample.
  if (c.batch_norm) {
    c.drop_last = true;
    if (c.partial_round == "uneven") c.partial_round = "drop";
  }
  // Under manual optimization losses are not weighted, so ranks with short batches differ from one process.
  if (comparable && c.two_optimizers) {
    c.drop_last = true;
    c.weights_are_counts = c.empty_batches_are_nan = c.skips_batches = false;
  }
  if (c.two_optimizers) c.empty_batches_are_nan = false;
  // If the ranks divide the samples, each rank drops its own last ones.
  if (comparable && c.drop_last && c.data == "divided") c.data = "stream";
  // A rank of zero1 or fsdp has only the gradients of its own shard.
  if (c.two_optimizers && c.ranks > 1) c.strategy = "ddp";
  // zero1 and fsdp refuse changes of rows.
  c.rows_change = dice.one_in(4) && c.strategy != "zero1" && c.strategy != "fsdp";
  // After a validation in the middle of an epoch there is no new epoch value of the training to monitor.
  if (c.check_val_every_n_epoch == 2) c.monitor = "train_loss_epoch";
  if (c.strategy == "fsdp") {
    c.sharded_checkpoints = dice.one_in(2);
    c.keeps_parameters = dice.one_in(3);
    c.reduces_each = dice.one_in(3);
    if (c.ranks == 4 && dice.one_in(2)) c.hybrid_shard = 2;
  }
  if (comparable && !c.two_optimizers && dice.one_in(3)) {
    c.batch_norm = c.sync_batch_norm = c.drop_last = true;
    if (c.data == "divided") c.data = "stream";
  }
  if (!comparable && accelerator() != "cpu") {
    c.ranks = 1;
    c.hybrid_shard = 0;
  }
  c.fused = dice.one_in(3);
  return c;
}

inline std::string RandomCase::describe() const {
  std::ostringstream text;
  text << "case " << number << ": " << ranks << " ranks " << strategy << (sharded_checkpoints ? ", sharded files" : "")
       << (keeps_parameters ? ", whole parameters" : "") << (reduces_each ? ", reduces each batch" : "")
       << (hybrid_shard > 0 ? ", hybrid" : "") << ", " << precision << ", " << optimizer << (fused ? " fused" : "")
       << (two_optimizers ? " twice" : "") << ", scheduler " << scheduler << " every " << frequency << ", accumulate "
       << accumulate << (accumulation_table ? " by table" : "") << ", clip " << clip << " by " << clip_algorithm << ", "
       << data << " data of " << samples << " in " << batch_size << (shuffle ? ", shuffled" : "")
       << (drop_last ? ", drop_last" : "") << ", " << partial_round << " rounds, " << workers << " workers, " << epochs
       << " epochs, max_steps " << max_steps << ", check_val " << check_val_every_n_epoch << (ema ? ", EMA" : "")
       << (dropout ? ", dropout" : "") << (batch_norm ? ", BatchNorm" : "") << (sync_batch_norm ? " synchronized" : "")
       << (weights_are_counts ? ", counts as weights" : "") << (empty_batches_are_nan ? ", NaN where empty" : "")
       << (skips_batches ? ", skips" : "") << (stops_early ? ", stops early" : "")
       << (rows_change ? ", rows change" : "") << (metric_is_registered ? "" : ", metric not registered") << ", reload "
       << reload_every << ", saves every " << every_n_train_steps << " steps, sanity " << sanity_steps << ", log every "
       << log_every;
  return text.str();
}
