#pragma once
#include <ATen/core/Tensor.h>
#include <levin/core/ranks/comm.h>
#include <levin/core/system/error.h>

#include <condition_variable>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace levin {

/// The shared state of the threads of `run_ranks`.
class ThreadGroup {
 public:
  explicit ThreadGroup(int64_t world_size) : slots_(static_cast<size_t>(world_size)) {}

  int64_t world_size() const { return static_cast<int64_t>(slots_.size()); }
  /// Returns copies of the tensors of all ranks, in rank order. Collective.
  std::vector<at::Tensor> exchange(int64_t rank, const at::Tensor& tensor) {
    slots_[static_cast<size_t>(rank)] = tensor.clone();
    wait();
    std::vector<at::Tensor> all;
    for (const at::Tensor& slot : slots_) all.push_back(slot.clone());
    wait();
    return all;
  }
  void wait() {
    std::unique_lock lock(mutex_);
    const int64_t round = round_;
    if (++waiting_ == world_size()) {
      waiting_ = 0;
      round_ += 1;
      changed_.notify_all();
    } else {
      changed_.wait(lock, [&] { return broken_ || round_ != round; });
    }
    if (broken_) throw Error("another rank has failed");
  }
  void leave(const std::string& key, const std::string& text) {
    const std::lock_guard lock(mutex_);
    notes_[key] = text;
  }
  std::optional<std::string> take(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto note = notes_.extract(key);
    return note ? std::optional(note.mapped()) : std::nullopt;
  }
  /// Makes the waiting ranks throw, because this rank will not arrive.
  void give_up() {
    const std::lock_guard lock(mutex_);
    broken_ = true;
    changed_.notify_all();
  }

 private:
  std::vector<at::Tensor> slots_;
  std::mutex mutex_ = {};
  std::condition_variable changed_ = {};
  int64_t waiting_ = 0, round_ = 0;
  bool broken_ = false;
  std::map<std::string, std::string> notes_ = {};
};

/// A Comm between threads of one process, as strict as one between processes: shapes and dtypes must agree.
class ThreadComm final : public Comm {
 public:
  ThreadComm(ThreadGroup& group, int64_t rank) : group_(group), rank_(rank) {}

  int64_t rank() const override { return rank_; }
  int64_t world_size() const override { return group_.world_size(); }
  void all_reduce(at::Tensor& tensor, ReduceOp op) override {
    const std::vector<at::Tensor> all = all_gather(tensor);
    at::Tensor reduced = all[0];
    for (size_t i = 1; i < all.size(); ++i) {
      if (op == ReduceOp::Min)
        reduced = reduced.minimum(all[i]);
      else if (op == ReduceOp::Max)
        reduced = reduced.maximum(all[i]);
      else
        reduced = reduced.add(all[i]);
    }
    tensor.copy_(op == ReduceOp::Mean ? reduced.div(world_size()) : reduced);
  }
  void broadcast(at::Tensor& tensor, int64_t source) override {
    tensor.copy_(all_gather(tensor)[static_cast<size_t>(source)]);
  }
  std::vector<at::Tensor> all_gather(const at::Tensor& tensor) override {
    std::vector<at::Tensor> all = group_.exchange(rank_, tensor);
    for (const at::Tensor& other : all)
      if (other.sizes() != tensor.sizes() || other.scalar_type() != tensor.scalar_type())
        throw Error("rank ", rank_, " has ", tensor.sizes(), " ", tensor.scalar_type(), ", another rank ",
                    other.sizes(), " ", other.scalar_type());
    return all;
  }
  void barrier() override { group_.wait(); }
  void leave_note(const std::string& key, const std::string& text) override { group_.leave(key, text); }
  std::optional<std::string> take_note(const std::string& key) override { return group_.take(key); }

 private:
  ThreadGroup& group_;
  int64_t rank_;
};

/// Runs `body` on one thread per rank and waits for all; rethrows the exception of the rank that failed first.
inline void run_ranks(int64_t world_size, const std::function<void(Comm&)>& body) {
  ThreadGroup group(world_size);
  std::exception_ptr error;
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < world_size; ++rank)
    threads.emplace_back([&, rank] {
      ThreadComm comm(group, rank);
      try {
        body(comm);
      } catch (...) {
        {
          const std::lock_guard lock(mutex);
          if (!error) error = std::current_exception();
        }
        group.give_up();
      }
    });
  for (std::thread& thread : threads) thread.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace levin
