#include <levin/core/ranks/memory/two_level_backend.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <levin/core/ranks/bounded_call.h>
#include <levin/core/ranks/memory/forwarding_backend.h>
#include <levin/core/system/error.h>
#include <levin/core/system/start_thread.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace levin {
namespace {

using Tensors = std::vector<at::Tensor>;
using WorkPtr = c10::intrusive_ptr<c10d::Work>;
using Milliseconds = std::chrono::milliseconds;

/// A collective that the backend's thread runs.
class TwoLevelWork final : public c10d::Work {
 public:
  explicit TwoLevelWork(Tensors results)
      : results_(std::move(results)),
        future_(c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()))) {}

  /// Returns whether the steps succeeded.
  bool run(const std::function<void()>& steps) {
    try {
      steps();
    } catch (...) {
      fail(std::current_exception());
      return false;
    }
    finish();
    future_->markCompleted(c10::IValue(results_));
    return true;
  }
  void fail(const std::exception_ptr& failure) {
    finish(failure);
    future_->setError(failure);
  }

  Tensors result() override { return results_; }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }

 private:
  Tensors results_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

class TwoLevelBackend final : public ForwardingBackend {
 public:
  TwoLevelBackend(const BackendOptions& options, TwoLevelParts parts, c10::intrusive_ptr<c10d::Backend> other)
      : ForwardingBackend(options, std::move(other)),
        parts_(std::move(parts)),
        thread_(start_thread("the collectives of machines", [this] { run(); })) {}
  ~TwoLevelBackend() override {
    // What still waits for another machine would wait for the whole limit.
    if (end("the process group has ended") && parts_.between) parts_.between->abort();
    thread_.join();
  }

  const std::string getBackendName() const override { return "memory and gloo"; }
  void setTimeout(Milliseconds timeout) override {
    ForwardingBackend::setTimeout(timeout);
    for (const auto& part : {parts_.inside, parts_.between})
      if (part) part->setTimeout(timeout);
  }
  void abort() override {
    end("the process group was aborted");
    other().abort();
    if (parts_.between) parts_.between->abort();
  }

  WorkPtr allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override {
    if (tensors.size() != 1 || !is_dense(tensors[0]) || !can_reduce(tensors[0], options.reduceOp))
      return other().allreduce(tensors, options);
    return begin(tensors, [this, tensor = tensors[0], op = options.reduceOp, limit = limit_of(options.timeout)] {
      reduce_all(tensor, op, limit);
    });
  }
  WorkPtr broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override {
    if (tensors.size() != 1 || !is_dense(tensors[0])) return other().broadcast(tensors, options);
    return begin(tensors, [this, tensor = tensors[0], root = options.rootRank, limit = limit_of(options.timeout)] {
      broadcast_all(tensor, root, limit);
    });
  }
  WorkPtr allgather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) override {
    const bool fits =
        inputs.size() == 1 && outputs.size() == 1 && is_dense(inputs[0]) &&
        std::ranges::all_of(outputs[0], [&](const at::Tensor& one) {
          return is_dense(one) && one.numel() == inputs[0].numel() && one.scalar_type() == inputs[0].scalar_type();
        });
    if (!fits) return other().allgather(outputs, inputs, options);
    return begin(outputs[0], [this, all = outputs[0], own = inputs[0], limit = limit_of(options.timeout)] {
      const at::Tensor gathered = gather_all(own.contiguous().view({-1}), limit);
      for (int64_t rank = 0; rank < getSize(); ++rank)
        all[static_cast<size_t>(rank)].copy_(gathered[rank].view(all[static_cast<size_t>(rank)].sizes()));
    });
  }
  WorkPtr _allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& options) override {
    if (!is_dense(output) || !is_dense(input) || !output.is_contiguous() ||
        output.numel() != getSize() * input.numel() || output.scalar_type() != input.scalar_type())
      return other()._allgather_base(output, input, options);
    return begin({output}, [this, output, own = input, limit = limit_of(options.timeout)] {
      output.view({-1}).copy_(gather_all(own.contiguous().view({-1}), limit).view({-1}));
    });
  }
  WorkPtr barrier(const c10d::BarrierOptions& options) override {
    return begin({}, [this, limit = limit_of(options.timeout)] {
      at::Tensor nothing = at::zeros({1});
      reduce_all(nothing, c10d::ReduceOp::SUM, limit);
    });
  }

 private:
  struct Job {
    c10::intrusive_ptr<TwoLevelWork> work;
    std::function<void()> steps;
  };

  /// A rank that waits for its machine's first one has patience until that one's own limit is over, so that it learns
  /// why.
  static Milliseconds patience(Milliseconds limit) { return limit + kGrace; }

  void reduce_all(const at::Tensor& given, c10d::ReduceOp::RedOpType op, Milliseconds limit) {
    const bool is_mean = op == c10d::ReduceOp::AVG;
    const c10d::ReduceOp::RedOpType used = is_mean ? c10d::ReduceOp::SUM : op;
    Tensors whole = {given.contiguous()};
    if (parts_.inside) parts_.inside->reduce(whole, {.reduceOp = used, .rootRank = 0, .timeout = limit})->wait();
    if (parts_.between) {
      parts_.between->allreduce(whole, {.reduceOp = used, .timeout = limit})->wait();
      if (is_mean) whole[0].div_(getSize());
    }
    if (parts_.inside) parts_.inside->broadcast(whole, {.rootRank = 0, .timeout = patience(limit)})->wait();
    if (!whole[0].is_same(given)) given.copy_(whole[0]);
  }

  void broadcast_all(const at::Tensor& given, int64_t root, Milliseconds limit) {
    size_t of_root = 0, index = 0;
    for (size_t m = 0; m < parts_.machines.size(); ++m)
      for (size_t i = 0; i < parts_.machines[m].size(); ++i)
        if (parts_.machines[m][i] == root) of_root = m, index = i;
    Tensors whole = {given.contiguous()};
    const auto inside = [&](size_t from) {
      if (parts_.inside)
        parts_.inside->broadcast(whole, {.rootRank = static_cast<int64_t>(from), .timeout = patience(limit)})->wait();
    };
    if (of_root == parts_.machine) inside(index);
    if (parts_.between)
      parts_.between->broadcast(whole, {.rootRank = static_cast<int64_t>(of_root), .timeout = limit})->wait();
    if (of_root != parts_.machine) inside(0);
    if (!whole[0].is_same(given)) given.copy_(whole[0]);
  }

  /// Returns a row for each rank. `own`: flat.
  at::Tensor gather_all(const at::Tensor& own, Milliseconds limit) {
    const int64_t share = own.numel();
    size_t most = 0;
    for (const auto& ranks : parts_.machines) most = std::max(most, ranks.size());
    const auto rows = [&] {
      Tensors made;
      for (size_t i = 0; i < most; ++i) made.push_back(at::zeros({share}, own.options()));
      return made;
    };
    at::Tensor all = at::empty({getSize(), share}, own.options());
    if (parts_.between) {
      Tensors here = rows(), sent = {own};
      here[0].copy_(own);
      if (parts_.inside) {
        std::vector<Tensors> gathered = {Tensors(here.begin(), here.begin() + of_machine())};
        parts_.inside->gather(gathered, sent, {.rootRank = 0, .timeout = limit})->wait();
      }
      std::vector<Tensors> everywhere(1);
      for (size_t m = 0; m < parts_.machines.size(); ++m)
        everywhere[0].push_back(at::empty({static_cast<int64_t>(most), share}, own.options()));
      Tensors of_this = {at::stack(here)};
      parts_.between->allgather(everywhere, of_this, {.timeout = limit})->wait();
      for (size_t m = 0; m < parts_.machines.size(); ++m)
        for (size_t i = 0; i < parts_.machines[m].size(); ++i)
          all[parts_.machines[m][i]].copy_(everywhere[0][m][static_cast<int64_t>(i)]);
    } else {
      std::vector<Tensors> none;
      Tensors sent = {own};
      parts_.inside->gather(none, sent, {.rootRank = 0, .timeout = limit})->wait();
    }
    if (parts_.inside) {
      Tensors whole = {all};
      parts_.inside->broadcast(whole, {.rootRank = 0, .timeout = patience(limit)})->wait();
    }
    return all;
  }
  std::ptrdiff_t of_machine() const { return static_cast<std::ptrdiff_t>(parts_.machines[parts_.machine].size()); }

  WorkPtr begin(const Tensors& results, std::function<void()> steps) {
    auto work = c10::make_intrusive<TwoLevelWork>(results);
    {
      const std::lock_guard lock(mutex_);
      if (failure_) std::rethrow_exception(failure_);
      jobs_.push_back({work, std::move(steps)});
    }
    changed_.notify_one();
    return work;
  }

  /// No collective of this group is run any more, on any rank of this machine. Returns whether one is running.
  bool end(const std::string& reason) {
    bool is_running = false;
    {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::make_exception_ptr(Error(reason));
      ends_ = true;
      is_running = is_running_;
    }
    changed_.notify_one();
    if (parts_.queue) parts_.queue->abort(reason);
    return is_running;
  }

  void run() {
    const at::NoGradGuard no_grad;
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return ends_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      const Job job = std::move(jobs_.front());
      jobs_.pop_front();
      if (failure_) {
        job.work->fail(failure_);
        continue;
      }
      is_running_ = true;
      lock.unlock();
      const bool succeeded = job.work->run(job.steps);
      if (!succeeded) tell_neighbours(job.work->exception());
      lock.lock();
      is_running_ = false;
      if (!succeeded && !failure_) failure_ = job.work->exception();
    }
  }
  void tell_neighbours(const std::exception_ptr& failure) {
    if (!parts_.queue) return;
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& error) {
      parts_.queue->abort(message_of(error));
    }
  }

  TwoLevelParts parts_;
  std::mutex mutex_ = {};
  std::condition_variable changed_ = {};
  std::deque<Job> jobs_ = {};
  std::exception_ptr failure_ = {};
  bool ends_ = false, is_running_ = false;
  std::thread thread_;
};

}  // namespace

c10::intrusive_ptr<c10d::Backend> make_two_level_backend(const BackendOptions& options, TwoLevelParts parts,
                                                         c10::intrusive_ptr<c10d::Backend> other) {
  return c10::make_intrusive<TwoLevelBackend>(options, std::move(parts), std::move(other));
}

}  // namespace levin
