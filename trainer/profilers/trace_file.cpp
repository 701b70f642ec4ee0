#include <levin/trainer/profilers/trace_file.h>
#include <levin/core/system/json_text.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace levin {
namespace {

/// Microseconds, as the format has them.
double microseconds(int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1000; }

}  // namespace

std::string trace_json(const std::vector<TraceEvent>& events, const std::map<int, std::string>& threads,
                       int64_t process, const std::string& process_name) {
  std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  text += json_text(
      {{"ph", "M"}, {"name", "process_name"}, {"pid", process}, {"tid", 0}, {"args", {{"name", process_name}}}});
  int order = 0;
  for (const auto& [thread, name] : threads) {
    text += ",\n" +
            json_text(
                {{"ph", "M"}, {"name", "thread_name"}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}});
    text += ",\n" + json_text({{"ph", "M"},
                               {"name", "thread_sort_index"},
                               {"pid", process},
                               {"tid", thread},
                               {"args", {{"sort_index", order++}}}});
  }
  int64_t first = events.empty() ? 0 : events.front().began;
  for (const TraceEvent& event : events) first = std::min(first, event.began);
  for (const TraceEvent& event : events)
    text += ",\n" + json_text({{"ph", "X"},
                               {"name", event.name},
                               {"cat", event.category},
                               {"pid", process},
                               {"tid", event.thread},
                               {"ts", microseconds(event.began - first)},
                               {"dur", microseconds(event.ended - event.began)}});
  return text + "\n]}\n";
}

}  // namespace levin
