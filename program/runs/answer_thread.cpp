#include <levin/program/runs/answer_thread.h>
#include <levin/core/system/error.h>
#include <levin/core/system/start_thread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>

namespace levin::runs {
namespace {

HttpAnswer answer_of(const AnswerThread::Make& make, const HttpRequest& request, const std::stop_token& stop) try {
  return make(request, stop);
} catch (const std::exception& error) {
  return HttpAnswer::text(500, error.what());
}

}  // namespace

/// What the thread and its owner share, and the thread keeps if the owner does not wait for it.
struct AnswerThread::Shared {
  explicit Shared(Make function) : make(std::move(function)), made_event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (made_event < 0) throw Error("levin serve: eventfd: ", std::strerror(errno));
  }
  ~Shared() { ::close(made_event); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  void run() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [&] { return request || stop.stop_requested(); });
      if (stop.stop_requested()) break;
      const HttpRequest now = *std::exchange(request, {});
      lock.unlock();
      HttpAnswer answer = answer_of(make, now, stop.get_token());
      lock.lock();
      made = std::move(answer);
      ::eventfd_write(made_event, 1);
    }
    has_ended = true;
    changed.notify_all();
  }

  const Make make;
  const int made_event;
  std::mutex mutex = {};
  std::condition_variable changed = {};
  std::stop_source stop = {};
  std::optional<HttpRequest> request = {};
  std::optional<HttpAnswer> made = {};
  bool has_ended = false;
};

AnswerThread::AnswerThread(Make make) : shared_(std::make_shared<Shared>(std::move(make))) {
  thread_ = start_thread("answers of levin serve", [shared = shared_] { shared->run(); });
}

AnswerThread::~AnswerThread() { end(std::chrono::milliseconds(0)); }

int AnswerThread::descriptor() const { return shared_->made_event; }

void AnswerThread::start(HttpRequest request) {
  const std::lock_guard lock(shared_->mutex);
  shared_->request = std::move(request);
  shared_->changed.notify_all();
  is_busy_ = true;
}

std::optional<HttpAnswer> AnswerThread::take() {
  const std::lock_guard lock(shared_->mutex);
  std::optional<HttpAnswer> made = std::exchange(shared_->made, {});
  if (!made) return {};
  eventfd_t count = 0;
  ::eventfd_read(shared_->made_event, &count);
  is_busy_ = false;
  return made;
}

bool AnswerThread::end(std::chrono::milliseconds patience) {
  if (!thread_.joinable()) return true;
  {
    std::unique_lock lock(shared_->mutex);
    shared_->stop.request_stop();
    shared_->changed.notify_all();
    if (!shared_->changed.wait_for(lock, patience, [&] { return shared_->has_ended; })) {
      thread_.detach();
      return false;
    }
  }
  thread_.join();
  return true;
}

}  // namespace levin::runs
