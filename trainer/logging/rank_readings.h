#pragma once
#include <levin/core/ranks/comm.h>
#include <levin/core/run/log_sink.h>
#include <levin/core/run/logged_metric.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace levin {

/// A logged value, read at a log point.
struct Reading {
  double value = 0, weight = 0;
  ReduceFx reduce_fx = ReduceFx::Mean;  ///< over ranks as well as batches
  bool prog_bar = false, logger = true, add_dataloader_idx = true;
  bool on_step = false, on_epoch = false;  ///< of the logged name
  int64_t batch = 0;                       ///< for a step value: the number of its batch
};
using Readings = std::map<std::string, Reading>;

/// Merges the readings of all ranks; the result is the same on every rank. A name that only some ranks have is merged
/// over those ranks, with one warning per name (`reported`). A step value is merged over the ranks that logged it in
/// the newest batch. Collective: all ranks call it.
Readings merge_over_ranks(const Readings& own, Comm& comm, std::set<std::string>& reported);

/// Returns the names present on every rank, in the same order everywhere. Collective: all ranks call it.
std::vector<std::string> names_of_all_ranks(const std::set<std::string>& own, Comm& comm);

/// The counts of one rank by name: in metrics that it has logged, or in restored states that it has not logged again.
struct CountedMetrics {
  std::map<std::string, LoggedMetric*> logged = {};
  std::map<std::string, std::vector<State>> restored = {};
};

/// Returns the values over all ranks of the metrics that at least one rank has logged. Afterwards each metric holds
/// this rank's own counts again. Collective: all ranks call it, also those without the metrics.
std::map<std::string, double> values_of_some_ranks(const CountedMetrics& own, Comm& comm);

}  // namespace levin
