#pragma once
#include <levin/data/dataset.h>
#include <levin/data/loading/loads_elsewhere.h>
#include <levin/data/python/python_host.h>
#include <levin/data/python/python_worker.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace levin::data {

/// How workers of Python are used.
struct PythonWorkerOptions {
  int64_t workers = 1;         ///< at most
  double timeout_seconds = 0;  ///< of one batch; 0: no limit
  int64_t restarts = 1;        ///< of workers that have ended
};

/// Samples by index from a data set of Python that has `__len__` and `__getitem__`. Each call of `get_batch` is
/// answered by a worker that is free. A worker that is alone has the indices of the next calls while it makes a batch.
/// If it ends, the call whose batch it was making counts as a restart, or fails; the others ask a new worker.
///
/// Before each sample the generators of random, numpy and torch are as if seeded by (seed, epoch, index).
class PythonSamples final : public Dataset, public LoadsElsewhere {
 public:
  /// `rank` is that of data that differ between ranks, for which the random numbers do too.
  PythonSamples(std::shared_ptr<PythonHost> host, Split split, PythonData data, PythonWorkerOptions options,
                std::optional<int64_t> rank);

  int64_t size() const override { return *data_.size; }
  Batch get(int64_t index, Rng& rng) const override;
  /// Throws levin::Error for an exception in Python, with its traceback; for a worker that has ended more often than
  /// `restarts`; and for one that is late.
  void get_batch(const Indices& indices, Batch& out) const override;
  std::vector<std::string> class_names() const override { return data_.class_names; }

 private:
  using Worker = std::shared_ptr<PythonWorker>;
  Worker take_worker() const;
  Worker start_worker() const;
  void give_back(const Worker& worker) const;
  /// Forgets a worker that has ended.
  void forget(const Worker& worker) const;
  /// Whether a batch may come with the next one: not if an error must name the batch at which the worker ended or hung.
  bool may_wait() const;
  /// Throws the error being handled unless a worker may be started again.
  void count_restart(const LostPythonWorker& error) const;

  std::shared_ptr<PythonHost> host_;
  Split split_;
  PythonData data_;
  PythonWorkerOptions options_;
  std::optional<int64_t> rank_;
  mutable std::mutex mutex_ = {};
  mutable std::condition_variable is_free_ = {};
  /// Workers that take a request: one that is alone takes several, so that it need not wait for levin in between.
  mutable std::vector<Worker> free_ = {};
  mutable std::vector<const PythonWorker*> started_ = {};  // null: it is being started
  mutable int64_t restarts_ = 0;
};

}  // namespace levin::data
