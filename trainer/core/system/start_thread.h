#pragma once
#include <functional>
#include <thread>

namespace levin {

/// Starts a thread. Throws levin::Error if the system permits no more; `purpose` is what the thread does, for the
/// message: "loading data".
std::thread start_thread(const char* purpose, std::function<void()> function);

}  // namespace levin
