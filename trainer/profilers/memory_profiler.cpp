#include <levin/trainer/profilers/memory_profiler.h>
#include <c10/util/StringUtil.h>
#include <levin/core/run/stage.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/core/system/json_text.h>
#include <levin/core/system/memory_use.h>
#include <levin/trainer/profilers/call_stack.h>
#include <levin/trainer/profilers/text_table.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

namespace levin {
namespace {

std::string mebibytes(int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", static_cast<double>(bytes) / (1024 * 1024));
  return text;
}

}  // namespace

struct MemoryProfiler::Result {
  struct Row {
    std::string action, device;
    MemoryRecorder::Use use;
  };
  std::vector<Row> rows;  ///< the largest peak first
  std::vector<MemoryRecorder::Place> places;
  std::vector<std::string> functions;  ///< by place
  std::map<std::string, int64_t> peaks, live;
};

MemoryProfiler::~MemoryProfiler() {
  if (recorder_) recorder_->uninstall();
}

void MemoryProfiler::begin(const Output& output) {
  output_ = output;
  files_ = ProfileFiles(options_.files, output, "memory", ".txt");
  reset_peak_memory(output.device);
  recorder_ = std::make_shared<MemoryRecorder>(*output.module);
  MemoryRecorder::install(recorder_);
}

void MemoryProfiler::on_start(const ProfileSpan& span) {
  if (recorder_) recorder_->start(span);
}

void MemoryProfiler::on_stop(const ProfileSpan& span, int64_t /*began*/, int64_t /*ended*/) noexcept {
  if (recorder_) recorder_->stop(span);
}

void MemoryProfiler::end() {
  if (!recorder_) return;
  recorder_->uninstall();
  Result result;
  result.peaks = recorder_->peaks();
  result.live = recorder_->live();
  for (const auto& [number, by_device] : recorder_->uses())
    for (const auto& [device, use] : by_device) result.rows.push_back({name_of(number), device, use});
  std::ranges::stable_sort(result.rows, [](const auto& a, const auto& b) {
    return std::pair(a.use.peak, a.use.grown) > std::pair(b.use.peak, b.use.grown);
  });
  result.places = recorder_->largest(static_cast<size_t>(options_.tensors));
  std::vector<std::vector<void*>> stacks;
  for (const MemoryRecorder::Place& place : result.places) stacks.push_back(place.stack);
  result.functions = users_functions(stacks);
  const std::string text = text_of(result);
  if (output_->prints) console::info(text);
  files_.write(".txt", text);
  files_.write(".json", json_of(result));
}

std::string MemoryProfiler::text_of(const Result& result) const {
  std::string text = title_of(output_->stage) + " Memory Report\n";
  for (const auto& [device, peak] : result.peaks)
    text += c10::str("tensors on ", device, ": peak ", mebibytes(peak), " MiB\n");
  if (const auto memory = device_memory(output_->device))
    text += c10::str("the allocator of ", output_->device.str(), ": peak ", mebibytes(memory->allocated_peak),
                     " MiB in tensors, ", mebibytes(memory->reserved_peak), " MiB reserved\n");
  text += c10::str("the process: peak ", mebibytes(host_memory().resident_peak), " MiB resident\n");
  std::vector<TableRow> rows = {{"Action", "Device", "Peak (MiB)", "Grown inside (MiB)"}};
  for (const Result::Row& row : result.rows)
    rows.push_back({row.action, row.device, mebibytes(row.use.peak), mebibytes(row.use.grown)});
  text += text_table(rows);
  if (result.places.empty()) return text;
  rows = {{"Largest tensors made by", "Layer", "In", "At", "Device", "Times", "Size (MiB)"}};
  for (size_t i = 0; i < result.places.size(); ++i) {
    const MemoryRecorder::Place& place = result.places[i];
    rows.push_back({place.operation.empty() ? "(no operator)" : place.operation,
                    place.layer.empty() ? "-" : (place.is_after ? "after " : "") + place.layer,
                    place.action < 0 ? "-" : name_of(place.action),
                    result.functions[i].empty() ? "-" : result.functions[i], place.device, std::to_string(place.times),
                    mebibytes(place.bytes)});
  }
  return text + text_table(rows);
}

std::string MemoryProfiler::json_of(const Result& result) const {
  Json devices = Json::array(), actions = Json::array(), tensors = Json::array();
  for (const auto& [device, peak] : result.peaks)
    devices.push_back({{"device", device}, {"peak_bytes", peak}, {"live_bytes", result.live.at(device)}});
  for (const Result::Row& row : result.rows)
    actions.push_back(
        {{"action", row.action}, {"device", row.device}, {"peak_bytes", row.use.peak}, {"grown_bytes", row.use.grown}});
  for (size_t i = 0; i < result.places.size(); ++i) {
    const MemoryRecorder::Place& place = result.places[i];
    tensors.push_back({{"operation", place.operation},
                       {"layer", place.layer},
                       {"is_after_layer", place.is_after},
                       {"action", place.action < 0 ? "" : name_of(place.action)},
                       {"function", result.functions[i]},
                       {"device", place.device},
                       {"times", place.times},
                       {"bytes", place.bytes}});
  }
  const Json json = {{"stage", to_string(output_->stage)}, {"rank", output_->rank},
                     {"world_size", output_->world_size},  {"resident_peak_bytes", host_memory().resident_peak},
                     {"devices", std::move(devices)},      {"actions", std::move(actions)},
                     {"tensors", std::move(tensors)}};
  return json_text(json, 1) + "\n";
}

}  // namespace levin
