#pragma once
#include <levin/trainer/compiled/step_trace.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace levin::compiled {

/// What Python needs to make a compiled step: the graph of a training step, and all that the package will say of
/// itself.
struct StepSource {
  nlohmann::ordered_json json = {};
  std::vector<at::Tensor> constants = {};
};

/// Traces training_step on `batch`, and on batches of other sizes that are made of its samples: integers that follow
/// the number of samples N become {"s": [a, b]}, a * N + b, also in the batch's shapes. If the graphs of two sizes
/// differ in another way, the program has the batch's own size alone, and `why_fixed` says why.
///
/// Throws as trace_step, and if two traces of one size differ: the step then computes with numbers that it reads from
/// tensors, or with its own.
StepSource make_step_source(const TracedParts& parts, const Batch& batch, std::string& why_fixed);

/// Returns `one` with {"s": [a, b]} for integers that differ from those of `other` by a * N + b, where N is `sizes[0]`
/// and `sizes[1]`; nullopt if the two differ in another way.
std::optional<nlohmann::ordered_json> with_batch_size(const nlohmann::ordered_json& one,
                                                      const nlohmann::ordered_json& other, int64_t size_of_one,
                                                      int64_t size_of_other);

/// Returns `json` with the integers that its {"s": [a, b]} stand for at batch size `size`.
nlohmann::ordered_json at_batch_size(const nlohmann::ordered_json& json, int64_t size);

/// Returns a batch of `size` samples, repeated or left out; nullopt if its tensors do not have one row a sample.
std::optional<Batch> resized(const Batch& batch, int64_t size);

}  // namespace levin::compiled
