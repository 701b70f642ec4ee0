#include <c10/util/Exception.h>
#include <levin/core/ranks/host_transport.h>
#include <levin/core/ranks/process_group_backends.h>
#include <levin/core/ranks/waited_work.h>
#include <levin/core/system/error.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <algorithm>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace levin {
namespace {

using Kind = HostTransport::Kind;
using WorkPtr = c10::intrusive_ptr<c10d::Work>;
using Tensors = std::vector<at::Tensor>;

/// An operation that this rank has begun.
class HostWork final : public WaitedWork {
 public:
  HostWork(std::unique_ptr<HostTransport::Request> request, Tensors held, Tensors results,
           std::chrono::milliseconds timeout, std::function<void()> give_back)
      : WaitedWork(std::move(results), timeout, std::move(give_back)),
        request_(std::move(request)),
        held_(std::move(held)) {}

 private:
  bool has_ended() override {
    const std::lock_guard lock(mutex_);
    try {
      return advance();
    } catch (const std::exception&) {  // `finish` throws it
      return true;
    }
  }
  void finish(std::chrono::milliseconds limit) override {
    const std::lock_guard lock(mutex_);
    const auto begun = std::chrono::steady_clock::now();
    constexpr int kSpins = 2000;
    for (int64_t i = 0; !advance(); ++i) {
      if (i < kSpins) continue;
      if (std::chrono::steady_clock::now() - begun > limit)
        fail(c10::str("timed out after ", limit.count(), " ms over the host's communicator"));
      std::this_thread::yield();
    }
  }
  bool advance() {
    if (failure_) std::rethrow_exception(failure_);
    if (!request_) return true;
    try {
      if (!request_->test()) return false;
    } catch (const std::exception& error) {
      fail("the host's communicator: " + message_of(error));
    }
    request_.reset();
    held_.clear();
    return true;
  }
  /// Throws, now and at each later call.
  [[noreturn]] void fail(const std::string& why) {
    failure_ =
        std::make_exception_ptr(c10::DistBackendError({__func__, __FILE__, static_cast<uint32_t>(__LINE__)}, why));
    std::rethrow_exception(failure_);
  }

  std::mutex mutex_ = {};
  std::unique_ptr<HostTransport::Request> request_;
  Tensors held_;  ///< the memory that the operation reads and writes
  std::exception_ptr failure_ = {};
};

HostTransport::Reduction reduction_of(const c10d::ReduceOp& op) {
  switch (op.op_) {
    case c10d::ReduceOp::SUM:
    case c10d::ReduceOp::AVG:  // divided at the end
      return HostTransport::Reduction::Sum;
    case c10d::ReduceOp::MIN:
      return HostTransport::Reduction::Min;
    case c10d::ReduceOp::MAX:
      return HostTransport::Reduction::Max;
    case c10d::ReduceOp::PRODUCT:
      return HostTransport::Reduction::Product;
    default:
      throw Error("the host's communicator reduces by sum, mean, least, largest and product alone");
  }
}

/// Returns the dtype in which a host reduces numbers of this one.
at::ScalarType reduced_dtype(at::ScalarType dtype) {
  if (dtype == at::kHalf || dtype == at::kBFloat16) return at::kFloat;
  return dtype == at::kBool ? at::kByte : dtype;
}

class HostBackend final : public c10d::Backend {
 public:
  HostBackend(const BackendOptions& options, std::shared_ptr<HostTransport> transport)
      : c10d::Backend(static_cast<int>(options.rank), static_cast<int>(options.world_size)),
        timeout_(options.timeout),
        transport_(std::move(transport)) {}

  const std::string getBackendName() const override { return "host"; }
  void setTimeout(std::chrono::milliseconds timeout) override { timeout_ = timeout; }

  WorkPtr allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override {
    const at::Tensor& given = only(tensors);
    const at::Tensor used = reducible(given);
    return begin({.kind = Kind::AllReduce, .reduction = reduction_of(options.reduceOp)}, used, used, used.numel(),
                 {given}, options.timeout, finish_reduction(given, used, options.reduceOp));
  }
  WorkPtr allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) override {
    WorkPtr newest;
    for (at::Tensor& tensor : tensors) {
      if (newest) newest->wait();
      Tensors one = {tensor};
      newest = allreduce(one, options);
    }
    return newest;
  }
  WorkPtr broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override {
    const at::Tensor& given = only(tensors);
    const at::Tensor used = given.contiguous();
    return begin({.kind = Kind::Broadcast, .peer = options.rootRank}, used, used, used.numel(), {given},
                 options.timeout, copy_back(given, used));
  }
  WorkPtr allgather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) override {
    const at::Tensor input = only(inputs).contiguous();
    if (outputs.size() != 1 || static_cast<int>(outputs[0].size()) != getSize())
      throw Error("all_gather: expected a tensor for each rank");
    const at::Tensor all = at::empty({getSize(), input.numel()}, input.options());
    const auto spread = [all, parts = outputs[0]] {
      for (size_t i = 0; i < parts.size(); ++i)
        at::Tensor(parts[i]).copy_(all[static_cast<int64_t>(i)].view(parts[i].sizes()));
    };
    return begin({.kind = Kind::AllGather}, input, all, input.numel(), outputs[0], options.timeout, spread);
  }
  WorkPtr _allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& options) override {
    check_parts(output, input);
    // MPI wants other memory to read than to write; a rank's part of `output` is often `input` itself.
    const at::Tensor from = input.is_alias_of(output) ? input.clone() : input;
    return begin({.kind = Kind::AllGather}, from, output, from.numel(), {output}, options.timeout, nullptr);
  }
  WorkPtr reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                         const c10d::ReduceScatterOptions& options) override {
    if (inputs.size() != 1 || static_cast<int>(inputs[0].size()) != getSize())
      throw Error("reduce_scatter: expected a tensor for each rank");
    Tensors flat;
    for (const at::Tensor& part : inputs[0]) flat.push_back(part.reshape(-1));
    at::Tensor all = at::cat(flat);
    return reduce_scatter_of(only(outputs), all, options);
  }
  WorkPtr _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                               const c10d::ReduceScatterOptions& options) override {
    check_parts(input, output);
    return reduce_scatter_of(output, input.is_alias_of(output) ? input.clone() : input, options);
  }
  WorkPtr send(Tensors& tensors, int rank, int tag) override {
    const at::Tensor used = only(tensors).contiguous();
    return begin({.kind = Kind::Send, .peer = rank, .tag = tag}, used, used, used.numel(), {}, c10d::kUnsetTimeout,
                 nullptr);
  }
  WorkPtr recv(Tensors& tensors, int rank, int tag) override {
    const at::Tensor& given = only(tensors);
    const at::Tensor used = given.is_contiguous() ? given : at::empty(given.sizes(), given.options());
    return begin({.kind = Kind::Receive, .peer = rank, .tag = tag}, used, used, used.numel(), {given},
                 c10d::kUnsetTimeout, copy_back(given, used));
  }
  WorkPtr barrier(const c10d::BarrierOptions& options) override {
    Tensors nothing = {at::zeros({1}, at::TensorOptions(at::kByte))};
    c10d::AllreduceOptions sum;
    sum.timeout = options.timeout;
    return allreduce(nothing, sum);
  }

 private:
  static const at::Tensor& only(const Tensors& tensors) {
    if (tensors.size() != 1 || !tensors[0].device().is_cpu() || tensors[0].layout() != at::kStrided)
      throw Error("the host's communicator takes one dense tensor on the CPU");
    return tensors[0];
  }
  void check_parts(const at::Tensor& all, const at::Tensor& part) const {
    only({all});
    only({part});
    if (!all.is_contiguous() || !part.is_contiguous() || all.numel() != getSize() * part.numel() ||
        all.scalar_type() != part.scalar_type())
      throw Error("expected a contiguous tensor with a part for each rank");
  }
  /// Returns the tensor, or a contiguous copy in a dtype that the host reduces.
  static at::Tensor reducible(const at::Tensor& tensor) {
    return tensor.to(reduced_dtype(tensor.scalar_type())).contiguous();
  }
  static std::function<void()> copy_back(const at::Tensor& given, const at::Tensor& used) {
    if (used.is_same(given)) return nullptr;
    return [given, used] { at::Tensor(given).copy_(used); };
  }
  std::function<void()> finish_reduction(const at::Tensor& given, const at::Tensor& used,
                                         const c10d::ReduceOp& op) const {
    const auto back = copy_back(given, used);
    if (op.op_ != c10d::ReduceOp::AVG) return back;
    return [used, back, ranks = getSize()] {
      at::Tensor(used).div_(ranks);
      if (back) back();
    };
  }
  WorkPtr reduce_scatter_of(const at::Tensor& output, const at::Tensor& input,
                            const c10d::ReduceScatterOptions& options) {
    const at::Tensor from = reducible(input);
    const at::Tensor used = output.is_contiguous() && from.scalar_type() == output.scalar_type()
                                ? output
                                : at::empty(output.sizes(), from.options());
    return begin({.kind = Kind::ReduceScatter, .reduction = reduction_of(options.reduceOp)}, from, used, used.numel(),
                 {output}, options.timeout, finish_reduction(output, used, options.reduceOp));
  }
  WorkPtr begin(HostTransport::Operation operation, const at::Tensor& from, const at::Tensor& to, int64_t count,
                const Tensors& results, std::chrono::milliseconds timeout, std::function<void()> give_back) {
    operation.dtype = from.scalar_type();
    operation.from = from.const_data_ptr();
    operation.to = to.mutable_data_ptr();
    operation.count = count;
    std::unique_ptr<HostTransport::Request> request;
    try {
      request = transport_->begin(operation);
    } catch (const std::exception& error) {
      C10_THROW_ERROR(DistBackendError, "the host's communicator: " + message_of(error));
    }
    const auto limit = timeout == c10d::kUnsetTimeout ? timeout_ : timeout;
    return c10::make_intrusive<HostWork>(std::move(request), Tensors{from, to}, results, limit, std::move(give_back));
  }

  std::chrono::milliseconds timeout_;
  std::shared_ptr<HostTransport> transport_;
};

}  // namespace

c10::intrusive_ptr<c10d::Backend> make_host_backend(const BackendOptions& options) {
  return c10::make_intrusive<HostBackend>(options, options.transport);
}

}  // namespace levin
