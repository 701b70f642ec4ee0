#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <chrono>
#include <exception>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace levin {

/// Work without a thread of its own: who waits for it carries it on.
class WaitedWork : public c10d::Work {
 public:
  using Tensors = std::vector<at::Tensor>;

  bool isCompleted() final {
    if (!has_ended()) return false;
    try {
      wait();
    } catch (const std::exception&) {  // isSuccess tells
    }
    return true;
  }
  bool isSuccess() const final { return !failure_; }
  std::exception_ptr exception() const final { return failure_; }
  Tensors result() final { return results_; }
  void synchronize() final { wait(); }
  bool wait(std::chrono::milliseconds timeout = kNoTimeout) final {
    try {
      finish(timeout == kNoTimeout ? timeout_ : timeout);
    } catch (...) {
      failure_ = std::current_exception();
      throw;
    }
    const std::lock_guard lock(mutex_);
    if (const auto give_back = std::exchange(give_back_, nullptr)) give_back();
    return true;
  }
  /// A future has no place for the thread that waits for it: the work has ended when this returns.
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() final {
    auto future = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()));
    try {
      wait();
      future->markCompleted(c10::IValue(results_));
    } catch (...) {
      future->setError(std::current_exception());
    }
    return future;
  }

 protected:
  /// `give_back` copies results to the caller's tensors, once the work has ended; null: there is nothing to copy.
  WaitedWork(Tensors results, std::chrono::milliseconds timeout, std::function<void()> give_back)
      : results_(std::move(results)), timeout_(timeout), give_back_(std::move(give_back)) {}

  /// Carries the work on without waiting; returns whether it has ended, or has failed.
  virtual bool has_ended() = 0;
  /// Carries the work on to its end. Throws what it failed by, at every call, and if it takes longer than `limit`.
  virtual void finish(std::chrono::milliseconds limit) = 0;

 private:
  Tensors results_;
  std::chrono::milliseconds timeout_;
  std::mutex mutex_ = {};
  std::function<void()> give_back_;
  std::exception_ptr failure_ = {};
};

}  // namespace levin
