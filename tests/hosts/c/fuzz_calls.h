#pragma once
#include <levin/c_api.h>

#include <cstdint>
#include <map>
#include <string>
#include <type_traits>

#include "tests/hosts/c/fuzz_drawing.h"

/// Calls of a function, and those that returned LEVIN_OK.
struct Count {
  uint64_t calls = 0, done = 0;
};
/// Calls in this thread, by their functions.
inline thread_local std::map<std::string, Count> called;

template <class Function, class... Arguments>
auto count_call(const char* name, Function function, Arguments... arguments) {
  Count& count = called[name];
  ++count.calls;
  if constexpr (std::is_same_v<std::invoke_result_t<Function, Arguments...>, levin_status>) {
    const levin_status status = function(arguments...);
    count.done += status == LEVIN_OK;
    return status;
  } else {
    ++count.done;
    return function(arguments...);
  }
}
#define CALL(function, ...) count_call(#function, function __VA_OPT__(, ) __VA_ARGS__)

/// Each makes one call, or a few that belong together, with drawn arguments; returns the last status.
levin_status call_library(Drawing& draw);
levin_status call_dlpack(Drawing& draw);
levin_status call_model(Drawing& draw);
levin_status call_call(Drawing& draw);
levin_status call_session(Drawing& draw);
levin_status call_from_any_thread(Drawing& draw);
levin_status call_reader(Drawing& draw);
levin_status call_replay(Drawing& draw);
levin_status call_rollout(Drawing& draw);
