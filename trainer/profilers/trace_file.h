#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace levin {

/// A span of a trace. Times are nanoseconds of one clock.
struct TraceEvent {
  std::string name;
  const char* category;  ///< "step", "levin", "cpu_op" or "thread"
  int thread;
  int64_t began, ended;
};

/// Returns events as a Chrome trace (JSON), which Perfetto and chrome://tracing open. `threads`: the names of threads
/// by number; `process`: the number and name of the process, here a rank. Source: Trace Event Format,
/// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
std::string trace_json(const std::vector<TraceEvent>& events, const std::map<int, std::string>& threads,
                       int64_t process, const std::string& process_name);

}  // namespace levin
