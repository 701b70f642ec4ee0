#pragma once
#include <levin/trainer/core/comm.h>
#include <levin/trainer/core/log_sink.h>
#include <levin/trainer/core/logged_metric.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace levin {

/// A logged value as it is read at a log point.
struct Reading {
  double value = 0, weight = 0;
  ReduceFx reduce_fx = ReduceFx::Mean;  ///< over the ranks as over the batches
  bool prog_bar = false, logger = true, add_dataloader_idx = true;
  bool on_step = false, on_epoch = false;  ///< of its name
  int64_t batch = 0;                       ///< of a step's value: the number of its batch
};
using Readings = std::map<std::string, Reading>;

/// What all ranks have read together, the same on all of them, who must all call it. A name that not all of them have
/// takes the values of those that do; the first time that is reported, as `reported` remembers. A step's value is that
/// of the ranks that have logged it in the newest batch.
Readings merge_over_ranks(const Readings& own, Comm& comm, std::set<std::string>& reported);

/// Those of `own` that each rank has, in the same order on all of them, who must all call it.
std::vector<std::string> names_of_all_ranks(const std::set<std::string>& own, Comm& comm);

/// What a rank has counted under some names: in metrics that it has logged, or as states that it has restored and had
/// no batch to log again.
struct CountedMetrics {
  std::map<std::string, LoggedMetric*> logged = {};
  std::map<std::string, std::vector<State>> restored = {};
};

/// The values of metrics that count what any rank has counted under their names, of those that any rank has logged;
/// what they have counted is this rank's own again then. Not all ranks need to have them, but all call this.
std::map<std::string, double> values_of_some_ranks(const CountedMetrics& own, Comm& comm);

}  // namespace levin
