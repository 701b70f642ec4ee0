#pragma once
#include <cstdint>
#include <functional>
#include <thread>

namespace levin {

/// Starts a thread. Throws levin::Error if the system permits no more; `purpose` is what the thread does, for the
/// message: "loading data".
std::thread start_thread(const char* purpose, std::function<void()> function);

/// Returns whether the system permits `count` threads more, by starting them for a moment.
bool can_start_threads(int64_t count);

/// Throws as start_thread does unless the system permits `count` threads more: before a library starts threads that
/// ends the process if it cannot. Others may take them in between.
void require_threads(const char* purpose, int64_t count);

}  // namespace levin
