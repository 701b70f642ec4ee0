#include <levin/trainer/compiled/step_source.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/remainder.h>
#include <c10/util/StringUtil.h>
#include <levin/core/state/format/python_dtypes.h>
#include <levin/core/system/error.h>
#include <levin/core/system/version.h>
#include <levin/trainer/compiled/machine.h>

#include <utility>

namespace levin::compiled {
namespace {

using Json = nlohmann::ordered_json;

std::string dtype_of(const StepInput& input) {
  const PythonDtype* const dtype = find_dtype(input.tensor.scalar_type());
  if (dtype == nullptr)
    throw UsageError("trainer.compiled_step: '", input.name, "' is ", toString(input.tensor.scalar_type()),
                     ", which a compiled step does not take");
  return dtype->name;
}

Json to_json(const StepTrace& trace) {
  Json inputs = Json::array();
  for (const StepInput& input : trace.inputs)
    inputs.push_back({{"name", input.name},
                      {"kind", to_string(input.kind)},
                      {"dtype", dtype_of(input)},
                      {"shape", input.tensor.sizes().vec()},
                      {"strides", input.tensor.strides().vec()}});
  Json logged = Json::array();
  for (const StepLog::Entry& entry : trace.log.entries()) logged.push_back(entry.name);
  return {{"inputs", std::move(inputs)},
          {"calls", trace.graph.calls},
          {"outputs", trace.graph.outputs},
          {"has_weight", trace.has_weight},
          {"logged", std::move(logged)}};
}

/// Returns nullopt if the tensors do not have one row a sample.
std::optional<Batch> rows_of(const Batch& batch, const at::Tensor& rows) try {
  return batch.index_select(rows);
} catch (const std::exception&) {
  return {};
}

bool is_size(const Json& json) { return json.is_object() && json.size() == 1 && json.contains("s"); }

/// Returns a * N + b for two integers, or null.
Json line_through(int64_t one, int64_t other, int64_t size_of_one, int64_t size_of_other) {
  const int64_t rise = other - one, run = size_of_other - size_of_one;
  if (rise % run != 0) return nullptr;
  const int64_t a = rise / run;
  return {{"s", {a, one - a * size_of_one}}};
}

}  // namespace

std::optional<Json> with_batch_size(const Json& one, const Json& other, int64_t size_of_one, int64_t size_of_other) {
  if (one.is_number_integer() && other.is_number_integer() && one != other) {
    Json line = line_through(one.get<int64_t>(), other.get<int64_t>(), size_of_one, size_of_other);
    if (line.is_null()) return {};
    return line;
  }
  if (!one.is_structured()) return one == other && one.type() == other.type() ? std::optional(one) : std::nullopt;
  if (one.type() != other.type() || one.size() != other.size()) return {};
  Json merged = one;
  auto theirs = other.begin();
  for (auto mine = merged.begin(); mine != merged.end(); ++mine, ++theirs) {
    if (one.is_object() && mine.key() != theirs.key()) return {};
    std::optional<Json> both = with_batch_size(*mine, *theirs, size_of_one, size_of_other);
    if (!both) return {};
    *mine = std::move(*both);
  }
  return merged;
}

Json at_batch_size(const Json& json, int64_t size) {
  if (is_size(json)) return json["s"][0].get<int64_t>() * size + json["s"][1].get<int64_t>();
  if (!json.is_structured()) return json;
  Json result = json;
  for (Json& item : result) item = at_batch_size(item, size);
  return result;
}

std::optional<Batch> resized(const Batch& batch, int64_t size) {
  if (batch.size() == size) return batch;
  return rows_of(batch, at::remainder(at::arange(size), batch.size()));
}

StepSource make_step_source(const TracedParts& parts, const Batch& batch, std::string& why_fixed) {
  const int64_t size = batch.size();
  const StepTrace trace = trace_step(parts, batch, 0);
  Json json = to_json(trace);
  std::vector<bool> is_written;
  for (const StepInput& input : trace.inputs) is_written.push_back(input.is_written);
  int64_t batch_idx = 1;
  /// Traces other samples: each step must be the same graph.
  const auto trace_of = [&](const Batch& other) {
    const StepTrace next = trace_step(parts, other, batch_idx++);
    for (size_t i = 0; i < next.inputs.size() && i < is_written.size(); ++i)
      if (next.inputs[i].is_written) is_written[i] = true;
    return next;
  };
  /// Returns null if the step, which was traced before, fails with this number of samples.
  const auto traced_json = [&](const Batch& other) -> Json {
    try {
      return to_json(trace_of(other));
    } catch (const UsageError&) {
      return nullptr;
    }
  };
  std::optional<Batch> others = rows_of(batch, at::remainder(at::arange(size) * 2 + 1, size));
  if (!others) why_fixed = "the tensors of a batch do not have one row a sample";
  if (trace_of(others.value_or(batch)).digest() != trace.digest())
    throw UsageError(
        "trainer.compiled_step: training_step does not do the same for each batch: it computes with numbers that it "
        "reads from tensors (item()), draws itself, or counts; leave compiled_step unset");
  for (const int64_t other : {size + 1, size + 3}) {
    if (!why_fixed.empty()) break;
    const Json next = traced_json(*resized(batch, other));
    if (next.is_null()) {
      why_fixed = c10::str("training_step does not take ", other, " samples");
      break;
    }
    std::optional<Json> merged = other == size + 1 ? with_batch_size(json, next, size, other) : std::optional(json);
    if (merged && at_batch_size(*merged, other) == next)
      json = std::move(*merged);
    else
      why_fixed = "training_step does something else for another number of samples";
  }
  if (!why_fixed.empty()) json = to_json(trace);
  for (size_t i = 0; i < is_written.size(); ++i) json["inputs"][i]["is_written"] = static_cast<bool>(is_written[i]);
  json["batch_size"] = size;
  json["fixed"] = !why_fixed.empty();
  json["digest"] = trace.digest();
  json["precision"] = parts.precision.name();
  json["model"] = parts.module.name();
  json["torch"] = torch_version();
  json["cpu"] = cpu_features();
  return {std::move(json), trace.graph.constants};
}

}  // namespace levin::compiled
