#pragma once
#include <levin/core/run/metrics.h>

#include <cstdint>
#include <string>

namespace levin {

/// The values that a name template can refer to.
struct CheckpointNameValues {
  int64_t epoch = 0;
  int64_t step = 0;
  Metrics metrics = {};
};

/// Fills a template such as "{epoch:02d}-{val_loss:.2f}": each `{name}` or `{name:format}` is replaced by the value, in
/// Python's format; with `insert_names` as "epoch=03-val_loss=0.25". A metric that was not logged counts as 0. Throws
/// std::invalid_argument for an unmatched brace and for a format that does not fit the value.
/// Source: lightning.pytorch.callbacks.ModelCheckpoint.format_checkpoint_name
std::string checkpoint_name(const std::string& name_template, const CheckpointNameValues& values, bool insert_names);

}  // namespace levin
