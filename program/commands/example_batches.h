#pragma once
#include <levin/data/batch.h>
#include <levin/data/data_module.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace levin::cli {

/// Returns a batch of two samples of these sizes, "3,224,224" or "int64:128", or the first one of the data if `sizes`
/// is empty. Throws levin::UsageError for other texts, and if there is neither.
Batch example_batch(data::DataModule* data, const std::string& sizes);

/// Returns two samples of these sizes for a function that takes bytes where `raw` has them.
Batch raw_example(const Batch& raw, const std::string& sizes);

/// Returns at most `most` batches of the data's validation, or of its training if it has none.
std::vector<Batch> batches_to_calibrate_by(data::DataModule& data, int64_t most);

/// Calls `visit` with each batch of the same.
void visit_validation_batches(data::DataModule& data, const std::function<void(const Batch&)>& visit);

}  // namespace levin::cli
