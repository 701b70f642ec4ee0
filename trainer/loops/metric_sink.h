#pragma once
#include <c10/core/Device.h>
#include <levin/trainer/core/log_sink.h>
#include <levin/trainer/core/state.h>
#include <levin/trainer/loops/metric_accumulator.h>
#include <levin/trainer/loops/rank_readings.h>

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

/// Tables whose epoch may have seen its last batch: a run that is continued there reads values of metrics that nobody
/// logs again, so that they are saved as they are over all ranks.
struct EndedTables {
  bool train = false, evaluation = false;
};

/// The sink behind `log`: tables of accumulators for training and for each evaluation loader. Accumulators keep their
/// addresses; values are read from the device only by read_step, read_epoch and newest.
class MetricSink final : public LogSink {
 public:
  /// Where values go that are logged from now on.
  void use_train_table();
  /// `suffixed`: with several loaders names get "/dataloader_idx_N".
  void use_evaluation_table(int64_t dataloader_idx, bool suffixed);
  /// Values logged from now on belong to this batch, with this default of on_step. `number`: the same on all ranks.
  void enter_batch(const Batch& batch, int64_t number, bool on_step_by_default);
  /// From here on values belong to no batch, and weigh 1.
  void leave_batch();
  /// False: `log` is ignored (barebones).
  void set_enabled(bool enabled) { enabled_ = enabled; }
  /// The ranks whose values are read as one: read_step, read_train_epoch, read_evaluation_epoch and newest are then
  /// called by all of them together. Metrics are computed on this device.
  void set_comm(Comm& comm, c10::Device device);
  /// From here on what is read is this rank's own.
  void leave_ranks() { comm_ = nullptr; }

  void log(const std::string& name, const at::Tensor& value, const LogOptions& options) override;
  void log(const std::string& name, double value, const LogOptions& options) override;
  void log(const std::string& name, const std::shared_ptr<LoggedMetric>& metric, const LogOptions& options) override;

  /// The newest values of those with on_step that were logged since the last call, for the loggers. Host sync.
  Metrics read_step();
  /// The same of this rank alone.
  Metrics read_own_step();
  /// The epoch's values of the train table or of all evaluation tables, for the loggers; they start anew. Step values
  /// that no log point has read are shown too. Host sync.
  Metrics read_train_epoch();
  Metrics read_evaluation_epoch();
  /// What read_evaluation_epoch read, by loader.
  const std::vector<Metrics>& by_loader() const { return by_loader_; }
  bool anything_to_read_each_evaluation_step() const;

  const Metrics& all() const { return all_; }
  const Metrics& progress_bar() const { return progress_bar_; }
  /// The newest value of one name, read now: the epoch's so far where it has one.
  std::optional<double> newest(const std::string& name) const;
  /// The metrics that were logged in the table at hand.
  std::set<LoggedMetric*> metrics() const;
  /// Resets the metrics that were logged, after a run whose epochs count for nothing.
  void reset_metrics();
  /// Forgets the values of the evaluation tables, and what they showed (after a sanity check).
  void forget_evaluation();

  /// `registered`: metrics of the module, whose own state is saved elsewhere; here they are named.
  using RegisteredMetrics = std::vector<std::pair<std::string, LoggedMetric*>>;
  /// Called by all ranks.
  State state_dict(const RegisteredMetrics& registered = {}, EndedTables ended = {}) const;
  void load_state_dict(const State& state, const RegisteredMetrics& registered = {});

 private:
  struct Table {
    std::string suffix = {};
    std::unordered_map<std::string, MetricAccumulator> accumulators = {};
  };
  MetricAccumulator& accumulator(const std::string& name, const LogOptions& options);
  double sample_weight(const LogOptions& options);
  /// Adds a tensor or a number; the progress bar has a step's value at once where reading it is no sync.
  template <class Value>
  void add(const std::string& name, const Value& value, const LogOptions& options);
  Metrics read_epoch(Table& table, Metrics* for_loader);
  /// The values of the metrics of these names over all ranks, who all call it; not of those that no rank has logged.
  /// Empty where there is one rank.
  std::map<std::string, double> metrics_over_ranks(const Table& table, const std::set<std::string>& names) const;
  static std::set<std::string> names_of(const Table& table);
  /// Throws levin::UsageError where another loader's values are counted in this metric.
  void check_one_loader(const std::string& name, const LoggedMetric& metric) const;
  void warn_of_own_value(const std::string& name);
  /// The step values of a table that nobody has read yet.
  static Readings fresh_steps(Table& table);
  bool has_other_ranks() const;
  /// Of those that are not registered.
  std::map<std::string, double> values_over_ranks(const Table& table, const RegisteredMetrics& registered) const;
  /// What all ranks have read, or what is given where there is one rank.
  Readings merged(Readings own) const;
  /// Lets all() and progress_bar() have these step values; returns those that are for the loggers.
  Metrics show_steps(const Table& table, const Readings& readings);
  void show(const Reading& reading, const std::string& name, double value);

  Table train_ = {};
  std::vector<Table> evaluation_ = {};
  Table* table_ = &train_;
  Comm* comm_ = nullptr;
  c10::Device device_ = c10::kCPU;
  const Batch* batch_ = nullptr;
  int64_t batch_number_ = 0;  ///< of the newest
  double batch_size_ = -1;    ///< of batch_, once it was asked for
  bool on_step_by_default_ = false;
  bool enabled_ = true;
  mutable std::set<std::string> reported_ = {};  ///< what was said of names already
  Metrics all_ = {}, progress_bar_ = {};
  std::vector<Metrics> by_loader_ = {};
};

}  // namespace levin
