#pragma once
#include <c10/core/Device.h>
#include <levin/core/run/log_sink.h>
#include <levin/core/state/state.h>
#include <levin/trainer/logging/metric_accumulator.h>
#include <levin/trainer/logging/rank_readings.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace levin {

class Batch;
class Comm;

/// The implementation of `log`: tables of accumulators for training and for each evaluation loader. Accumulators keep
/// their addresses. Only read_step, read_epoch and newest read values from the device.
class MetricSink final : public LogSink {
 public:
  /// Values logged from now on go to the train table.
  void use_train_table();
  /// `suffixed`: names get the suffix "/dataloader_idx_N", for several loaders.
  void use_evaluation_table(int64_t dataloader_idx, bool suffixed);
  /// Values logged from now on belong to this batch and use this default for on_step. `number`: the same on all ranks.
  void enter_batch(const Batch& batch, int64_t number, bool on_step_by_default);
  /// Changes the weight of the batch in hand to what training_step returned with its loss, also for the values that the
  /// batch has logged by now.
  void set_batch_weight(double weight);
  /// Values logged from now on belong to no batch and have weight 1.
  void leave_batch();
  /// If false, `log` is ignored (barebones).
  void set_enabled(bool enabled) { enabled_ = enabled; }
  /// Sets the ranks over which values are reduced: read_step, read_train_epoch, read_evaluation_epoch and newest become
  /// collective. Metrics are computed on `device`.
  void set_comm(Comm& comm, c10::Device device);
  /// From now on reads return this rank's own values.
  void leave_ranks() { comm_ = nullptr; }

  void log(const std::string& name, const at::Tensor& value, const LogOptions& options) override;
  void log(const std::string& name, double value, const LogOptions& options) override;
  void log(const std::string& name, const std::shared_ptr<LoggedMetric>& metric, const LogOptions& options) override;

  /// Returns the newest on_step values that were logged since the last call, for the loggers. Host sync.
  Metrics read_step();
  /// Returns the same for this rank alone.
  Metrics read_own_step();
  /// Returns the epoch's values of the train table or of all evaluation tables, for the loggers, and resets them. Step
  /// values that no log point has read are added to all(). Host sync.
  Metrics read_train_epoch();
  Metrics read_evaluation_epoch();
  /// Returns the values of the last read_evaluation_epoch, by loader.
  const std::vector<Metrics>& by_loader() const { return by_loader_; }
  bool anything_to_read_each_evaluation_step() const;

  const Metrics& all() const { return all_; }
  const Metrics& progress_bar() const { return progress_bar_; }
  /// Reads the newest value of one name: the epoch's value so far if there is one.
  std::optional<double> newest(const std::string& name) const;
  /// Returns whether the newest value of this name is an evaluation's result, the same on all ranks.
  bool is_of_evaluation(const std::string& name) const { return of_evaluation_.contains(name); }
  /// Returns the metrics that were logged in the current table.
  std::set<LoggedMetric*> metrics() const;
  /// Resets the metrics that were logged, after a trial.
  void reset_metrics();
  /// Drops the evaluation tables and all shown values (after a sanity check).
  void forget_evaluation();

  /// Metrics that the module registers. Their state is saved elsewhere; the sink's state holds only their names.
  using RegisteredMetrics = std::vector<std::pair<std::string, LoggedMetric*>>;
  /// `inside_evaluation`: the evaluation tables have values that are not read yet. Collective: all ranks call it.
  State state_dict(const RegisteredMetrics& registered = {}, bool inside_evaluation = false) const;
  void load_state_dict(const State& state, const RegisteredMetrics& registered = {});

 private:
  struct Table {
    std::string suffix = {};
    std::unordered_map<std::string, MetricAccumulator> accumulators = {};
  };
  MetricAccumulator& accumulator(const std::string& name, const LogOptions& options);
  double sample_weight(const LogOptions& options);
  /// Adds a tensor or a number. The progress bar gets a step's value at once if reading it needs no host sync.
  template <class Value>
  void add(const std::string& name, const Value& value, const LogOptions& options);
  Metrics read_epoch(Table& table, Metrics* for_loader);
  /// Returns the values over all ranks of the metrics with these names, without metrics that no rank has logged. Empty
  /// with one rank. Collective: all ranks call it.
  std::map<std::string, double> metrics_over_ranks(const Table& table, const std::set<std::string>& names) const;
  static std::set<std::string> names_of(const Table& table);
  /// Throws levin::UsageError if the metric already counts another loader's batches.
  void check_one_loader(const std::string& name, const LoggedMetric& metric) const;
  void warn_of_own_value(const std::string& name);
  /// Returns the step values of a table that have not been read yet.
  static Readings fresh_steps(Table& table);
  bool has_other_ranks() const;
  /// Returns the same for the metrics that are not registered.
  std::map<std::string, double> values_over_ranks(const Table& table, const RegisteredMetrics& registered) const;
  /// Returns the readings merged over all ranks; `own` with one rank.
  Readings merged(Readings own) const;
  /// Adds these step values to all() and progress_bar(); returns the values for the loggers.
  Metrics show_steps(const Table& table, const Readings& readings);
  void show(const Reading& reading, const std::string& name, double value);

  Table train_ = {};
  std::vector<Table> evaluation_ = {};
  Table* table_ = &train_;
  Comm* comm_ = nullptr;
  c10::Device device_ = c10::kCPU;
  const Batch* batch_ = nullptr;
  int64_t batch_number_ = 0;  ///< of the newest batch
  double batch_size_ = -1;    ///< of batch_; -1: not computed yet
  bool on_step_by_default_ = false;
  bool enabled_ = true;
  mutable std::set<std::string> reported_ = {};  ///< warnings already given
  Metrics all_ = {}, progress_bar_ = {};
  std::vector<Metrics> by_loader_ = {};
  std::set<std::string> of_evaluation_ = {};  ///< names in `all_` that an evaluation has set
};

}  // namespace levin
