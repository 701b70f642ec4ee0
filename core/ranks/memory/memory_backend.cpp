#include <levin/core/ranks/memory/memory_backend.h>
#include <levin/core/ranks/memory/collective_queue.h>
#include <levin/core/ranks/memory/forwarding_backend.h>
#include <levin/core/ranks/waited_work.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace levin {
namespace {

using WorkPtr = c10::intrusive_ptr<c10d::Work>;
using Tensors = std::vector<at::Tensor>;

/// A collective that this rank has begun.
class MemoryWork final : public WaitedWork {
 public:
  MemoryWork(std::shared_ptr<CollectiveQueue> queue, std::shared_ptr<CollectiveQueue::Call> call, Tensors results,
             std::chrono::milliseconds timeout, std::function<void()> give_back)
      : WaitedWork(std::move(results), timeout, std::move(give_back)),
        queue_(std::move(queue)),
        call_(std::move(call)) {}

 private:
  bool has_ended() override { return queue_->is_done(call_); }
  void finish(std::chrono::milliseconds limit) override { queue_->finish(call_, limit); }

  std::shared_ptr<CollectiveQueue> queue_;
  std::shared_ptr<CollectiveQueue::Call> call_;
};

class MemoryBackend final : public ForwardingBackend {
 public:
  MemoryBackend(std::shared_ptr<CollectiveQueue> queue, const BackendOptions& options,
                c10::intrusive_ptr<c10d::Backend> other)
      : ForwardingBackend(options, std::move(other)),
        queue_(std::move(queue)),
        who_{options.rank, options.world_size} {}
  ~MemoryBackend() override { queue_->abort("the process group has ended"); }

  const std::string getBackendName() const override { return "memory"; }
  void abort() override {
    queue_->abort("the process group was aborted");
    other().abort();
  }

  WorkPtr allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override {
    if (tensors.size() != 1 || !is_dense(tensors[0]) || !can_reduce(tensors[0], options.reduceOp))
      return other().allreduce(tensors, options);
    const at::Tensor whole = tensors[0].contiguous();
    return begin(all_reduce_in_memory(who_, whole, options.reduceOp.op_), {whole}, tensors, options.timeout);
  }
  WorkPtr reduce(Tensors& tensors, const c10d::ReduceOptions& options) override {
    if (tensors.size() != 1 || !is_dense(tensors[0]) || !can_reduce(tensors[0], options.reduceOp))
      return other().reduce(tensors, options);
    const at::Tensor whole = tensors[0].contiguous();
    return begin(reduce_in_memory(who_, whole, options.reduceOp.op_, options.rootRank), {whole}, tensors,
                 options.timeout);
  }
  WorkPtr broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override {
    if (tensors.size() != 1 || !is_dense(tensors[0])) return other().broadcast(tensors, options);
    const at::Tensor whole = tensors[0].contiguous();
    return begin(broadcast_in_memory(who_, whole, options.rootRank), {whole}, tensors, options.timeout);
  }
  WorkPtr allgather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) override {
    if (inputs.size() != 1 || outputs.size() != 1 || !fit(outputs[0], inputs[0]))
      return other().allgather(outputs, inputs, options);
    return begin(all_gather_in_memory(who_, outputs[0], inputs[0].contiguous()), outputs[0], outputs[0],
                 options.timeout);
  }
  WorkPtr _allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& options) override {
    if (!are_shares(output, input)) return other()._allgather_base(output, input, options);
    return begin(all_gather_in_memory(who_, shares_of(output), input), {output}, {output}, options.timeout);
  }
  WorkPtr gather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::GatherOptions& options) override {
    const bool is_root = options.rootRank == who_.rank;
    if (inputs.size() != 1 || !is_dense(inputs[0]) || (is_root && (outputs.size() != 1 || !fit(outputs[0], inputs[0]))))
      return other().gather(outputs, inputs, options);
    const Tensors all = is_root ? outputs[0] : Tensors();
    return begin(gather_in_memory(who_, all, inputs[0].contiguous(), options.rootRank), all, all, options.timeout);
  }
  WorkPtr scatter(Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ScatterOptions& options) override {
    const bool is_root = options.rootRank == who_.rank;
    if (outputs.size() != 1 || !outputs[0].is_contiguous() || !is_dense(outputs[0]) ||
        (is_root && (inputs.size() != 1 || !fit(inputs[0], outputs[0]))))
      return other().scatter(outputs, inputs, options);
    const Tensors all = is_root ? inputs[0] : Tensors();
    return begin(scatter_in_memory(who_, outputs[0], all, options.rootRank), outputs, outputs, options.timeout);
  }
  WorkPtr reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                         const c10d::ReduceScatterOptions& options) override {
    if (outputs.size() != 1 || inputs.size() != 1 || !outputs[0].is_contiguous() || !fit(inputs[0], outputs[0]) ||
        !can_reduce(outputs[0], options.reduceOp))
      return other().reduce_scatter(outputs, inputs, options);
    return begin(reduce_scatter_in_memory(who_, outputs[0], inputs[0], options.reduceOp.op_), outputs, outputs,
                 options.timeout);
  }
  WorkPtr _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                               const c10d::ReduceScatterOptions& options) override {
    if (!are_shares(input, output) || !can_reduce(output, options.reduceOp))
      return other()._reduce_scatter_base(output, input, options);
    return begin(reduce_scatter_in_memory(who_, output, shares_of(input), options.reduceOp.op_), {output}, {output},
                 options.timeout);
  }
  WorkPtr alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<int64_t>& output_sizes,
                        std::vector<int64_t>& input_sizes, const c10d::AllToAllOptions& options) override {
    const bool are_equal = output_sizes.empty() && input_sizes.empty() && output.numel() == input.numel() &&
                           input.numel() % who_.ranks == 0 && output.scalar_type() == input.scalar_type();
    if (!are_equal || !is_flat(output) || !is_flat(input))
      return other().alltoall_base(output, input, output_sizes, input_sizes, options);
    return begin(all_to_all_in_memory(who_, shares_of(output), shares_of(input)), {output}, {output}, options.timeout);
  }
  WorkPtr barrier(const c10d::BarrierOptions& options) override {
    return begin(barrier_in_memory(), {}, {}, options.timeout);
  }

 private:
  static bool is_flat(const at::Tensor& tensor) { return is_dense(tensor) && tensor.is_contiguous(); }
  /// Returns whether there is a contiguous tensor of the size of `one` for each rank.
  bool fit(const Tensors& all, const at::Tensor& one) const {
    return is_dense(one) && static_cast<int64_t>(all.size()) == who_.ranks &&
           std::ranges::all_of(all, [&](const at::Tensor& other) {
             return is_flat(other) && other.numel() == one.numel() && other.scalar_type() == one.scalar_type();
           });
  }
  bool are_shares(const at::Tensor& all, const at::Tensor& one) const {
    return is_flat(all) && is_flat(one) && all.scalar_type() == one.scalar_type() &&
           all.numel() == who_.ranks * one.numel();
  }
  Tensors shares_of(const at::Tensor& all) const {
    const int64_t each = all.numel() / who_.ranks;
    const at::Tensor flat = all.view({-1});
    Tensors shares;
    for (int64_t rank = 0; rank < who_.ranks; ++rank) shares.push_back(flat.narrow(0, rank * each, each));
    return shares;
  }
  /// `used` are the tensors that the collective fills, `given` those of the caller.
  WorkPtr begin(Collective collective, const Tensors& used, const Tensors& given, std::chrono::milliseconds timeout) {
    std::function<void()> give_back;
    if (!used.empty() && !used[0].is_same(given[0])) give_back = [to = given[0], from = used[0]] { to.copy_(from); };
    return c10::make_intrusive<MemoryWork>(queue_, queue_->begin(std::move(collective)), given, limit_of(timeout),
                                           std::move(give_back));
  }

  std::shared_ptr<CollectiveQueue> queue_;
  RankOf who_;
};

}  // namespace

c10::intrusive_ptr<c10d::Backend> make_memory_backend(std::shared_ptr<CollectiveQueue> queue,
                                                      const BackendOptions& options,
                                                      c10::intrusive_ptr<c10d::Backend> other) {
  return c10::make_intrusive<MemoryBackend>(std::move(queue), options, std::move(other));
}

}  // namespace levin
