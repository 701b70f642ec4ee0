#include <levin/data/remote/retries.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/core/system/signals.h>
#include <levin/data/remote/remote_options.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <thread>
#include <utility>

namespace levin::data {
namespace {

constexpr double kFirstSeconds = 0.5, kMostSeconds = 60;

/// Returns the seconds for which the server asks; 0 if it asks for none.
double seconds_asked_for(const HttpReply& reply) {
  const std::string text = reply.header("retry-after");
  int64_t seconds = 0;
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  return static_cast<double>(std::max<int64_t>(0, seconds));
}

}  // namespace

Retries::Retries(std::string name, bool ends_on_signal)
    : name_(std::move(name)), ends_on_signal_(ends_on_signal), most_(remote_retries()) {}

void Retries::wait_after(const HttpReply& failed) {
  constexpr auto kNap = std::chrono::milliseconds(50);
  failures_ += 1;
  if (failures_ > most_)
    throw Error(name_, ": ", failed.failure(), "; this is attempt ", failures_, ", try again later");
  const auto doublings = static_cast<int>(std::min<int64_t>(failures_ - 1, 10));
  const double own = kFirstSeconds * static_cast<double>(int64_t{1} << doublings);
  const double seconds = std::min(kMostSeconds, std::max(own, seconds_asked_for(failed)));
  console::info(name_ + ": " + failed.failure() + "; trying again");
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {
    if (ends_on_signal_ && received_signal() != 0) throw Error(name_, ": a signal ended the transfer");
    std::this_thread::sleep_for(kNap);
  }
}

}  // namespace levin::data
