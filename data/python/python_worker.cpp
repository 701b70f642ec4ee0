#include <levin/data/python/python_worker.h>
#include <levin/data/python/child_process.h>
#include <levin/data/python/python_host.h>
#include <poll.h>
#include <signal.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace levin::data {
namespace {

/// How long an idle worker may take to end, and a late one to write its stack.
constexpr double kGrace = 0.5;

void wait_for_end(int watch, double seconds) {
  pollfd one{watch, POLLIN, 0};
  ::poll(&one, 1, static_cast<int>(seconds * 1000));
}

}  // namespace

PythonWorker::PythonWorker(PythonHost& host, Channel channel, int64_t process)
    : host_(host),
      channel_(std::move(channel)),
      process_(process),
      watch_(watch_process(static_cast<::pid_t>(process))) {}

PythonWorker::~PythonWorker() {
  if (!has_ended_) end(kGrace);
}

/// Until the host has waited for the process, its number is its own.
void PythonWorker::end(double grace) {
  {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
    channel_.close();
  }
  if (grace > 0) wait_for_end(watch_.number(), grace);
  ::kill(static_cast<::pid_t>(-process_), SIGKILL);
  how_it_ended_ = host_.end_of_worker(process_);
}

LostPythonWorker PythonWorker::lost(bool was_at_this) const {
  return LostPythonWorker(c10::str("a worker of ", host_.file(), " (process ", process_, ") ", how_it_ended_),
                          was_at_this);
}

void PythonWorker::send(nlohmann::ordered_json request) {
  request["free"] = batches_.released();
  channel_.send(request);  // if the worker has ended, the answer does not come, which says how it ended
}

/// Numbers, which Python reads faster than JSON: the seed, the epoch, whether the answer may wait for the next one, how
/// many buffers are free, these, the samples.
void PythonWorker::send(const Indices& indices, bool may_wait) {
  const std::vector<int64_t> released = batches_.released();
  std::vector<int64_t> numbers = {static_cast<int64_t>(indices.seed), indices.epoch, may_wait ? 1 : 0,
                                  std::ssize(released)};
  numbers.reserve(numbers.size() + released.size() + static_cast<size_t>(indices.size()));
  numbers.insert(numbers.end(), released.begin(), released.end());
  numbers.insert(numbers.end(), indices.begin(), indices.end());
  channel_.send_numbers(numbers);
}

nlohmann::ordered_json PythonWorker::receive(double seconds) {
  nlohmann::ordered_json answer;
  memory_.close();
  const Received received = channel_.receive(watch_.number(), seconds, answer, memory_);
  if (received == Received::TooLate) {
    ::kill(static_cast<::pid_t>(process_), SIGQUIT);  // it writes where it stands
    std::this_thread::sleep_for(std::chrono::duration<double>(kGrace));
    end(0);
    throw LatePythonWorker("data.timeout_seconds: ", host_.file(), " gave no batch for ", seconds,
                           " seconds; its stack is above. Look for what it waits for, or raise the limit");
  }
  if (received == Received::Ended) {
    end(0);
    throw lost(true);
  }
  if (const auto error = answer.find("error"); error != answer.end())
    throw Error(text_of_python_error(*error, host_.file()));
  return answer;
}

Batch PythonWorker::ask(const Indices& indices, double seconds, bool may_wait) {
  std::unique_lock lock(mutex_);
  const int64_t turn = asked_++;
  if (!has_ended_) send(indices, may_wait);
  is_turn_[turn % kMostRequests].wait(lock, [&] { return answered_ == turn; });
  const bool is_lost = has_ended_;
  lock.unlock();
  const auto finish = [this](const void*) {
    const std::lock_guard ended(mutex_);
    is_turn_[++answered_ % kMostRequests].notify_one();
  };
  const std::unique_ptr<const void, decltype(finish)> at_end(this, finish);
  if (is_lost) throw lost(false);
  return batch(receive(seconds));
}

Batch PythonWorker::batch(const nlohmann::ordered_json& answer) try {
  return batches_.take(answer, std::move(memory_));
} catch (const nlohmann::json::exception& error) {
  throw Error(host_.file(), ": a worker's answer is not as levin's code writes it: ", error.what());
}

}  // namespace levin::data
