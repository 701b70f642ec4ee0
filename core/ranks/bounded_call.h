#pragma once
#include <chrono>
#include <functional>

namespace levin {

/// What a call may take beyond the limit that it has itself.
inline constexpr std::chrono::seconds kGrace{5};

/// Runs `call`, which may wait for another machine without a limit of its own, in a thread, and waits for it at most
/// for `limit`. Rethrows its exception. Returns false if it has not come back: its thread is left behind, so that
/// `call` must own what it uses.
bool ends_within(std::chrono::milliseconds limit, std::function<void()> call);

}  // namespace levin
