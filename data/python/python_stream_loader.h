#pragma once
#include <levin/data/loader.h>
#include <levin/data/python/python_host.h>
#include <levin/data/python/python_samples.h>
#include <levin/data/python/python_worker.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace levin::data {

/// How a stream becomes batches. Of ready batches only `ahead` counts.
struct PythonStreamOptions {
  int64_t batch_size = 1;
  bool drop_last = false;
  int64_t ahead = 1;                 ///< batches that are made before they are asked for
  std::optional<int64_t> seed = {};  ///< unset: the run's
};

/// The batches of an iterable data set of Python, or those of a DataLoader as they are. Each epoch is read by a new
/// worker, so that it depends on (seed, epoch) alone.
///
/// Ranks divide the samples round by round as those of other data do; of ready batches each takes one of a round. A
/// resumed loader continues by the `state_dict` of the data, with which the states of the generators are kept, or reads
/// the epoch again up to its place.
class PythonStreamLoader final : public Loader {
 public:
  /// `rank` is that of data that differ between ranks: then this loader is not divided.
  PythonStreamLoader(std::shared_ptr<PythonHost> host, Split split, PythonData data, PythonStreamOptions options,
                     PythonWorkerOptions workers, std::optional<int64_t> rank);
  ~PythonStreamLoader() override;

  /// Throws as PythonSamples::get_batch.
  std::optional<LoadedBatch> next() override;
  std::optional<int64_t> size() const override;
  void set_epoch(int64_t epoch) override;
  void set_default_seed(uint64_t seed) override;
  bool use_sequential_order() override { return true; }
  void shard(int64_t rank, int64_t world) override;
  bool in_step() const override { return !own_rank_ && world_ > 1; }
  State state_dict() const override;
  void load_state_dict(const State& state) override;

 private:
  void restart();
  void request_batches();
  std::optional<LoadedBatch> read();

  std::shared_ptr<PythonHost> host_;
  Split split_;
  PythonData data_;
  PythonStreamOptions options_;
  PythonWorkerOptions workers_;
  std::optional<int64_t> own_rank_;
  int64_t rank_ = 0, world_ = 1, epoch_ = 0, restarts_ = 0;
  uint64_t seed_;
  // The place behind the last batch.
  int64_t samples_ = 0, batches_ = 0;  // ready batches
  std::optional<std::string> state_ = {};
  bool has_ended_ = false;
  std::unique_ptr<PythonWorker> worker_ = {};
  int64_t requested_ = 0;  // batches that the worker has not answered yet
};

}  // namespace levin::data
