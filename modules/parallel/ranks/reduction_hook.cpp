#include <levin/modules/parallel/ranks/reduction_hook.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/zeros.h>
#include <levin/core/ranks/torch_compat/flat_collectives.h>
#include <levin/modules/parallel/ranks/shard.h>
#include <torch/csrc/distributed/c10d/comm.hpp>

#include <utility>
#include <vector>

namespace levin::parallel {
namespace {

class ReductionHook final : public c10d::CommHookInterface {
 public:
  ReductionHook(c10::intrusive_ptr<c10d::ProcessGroup> group, std::optional<at::ScalarType> sent_as, bool shards)
      : group_(std::move(group)), sent_as_(sent_as), shards_(shards) {}

  c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override {
    const at::Tensor buffer = bucket.getBuffer();
    const at::Tensor sent = sent_as_ ? buffer.to(*sent_as_) : buffer;
    sent.div_(group_->getSize());
    return shards_ && has_reduce_scatter(*group_, buffer.device().type()) ? reduce_scatter(buffer, sent)
                                                                          : all_reduce(buffer, sent);
  }
  at::Tensor parseHookResult(const c10::IValue& result) override {
    return result.isTensor() ? result.toTensor() : result.toTensorVector()[0];
  }

 private:
  c10::intrusive_ptr<c10::ivalue::Future> all_reduce(const at::Tensor& buffer, const at::Tensor& sent) const {
    std::vector<at::Tensor> tensors{sent};
    return filled(buffer, group_->allreduce(tensors), [buffer, sent] {
      if (!sent.is_same(buffer)) buffer.copy_(sent);
    });
  }

  c10::intrusive_ptr<c10::ivalue::Future> reduce_scatter(const at::Tensor& buffer, const at::Tensor& sent) const {
    const int64_t size = buffer.numel(), world_size = group_->getSize(), rank = group_->getRank();
    const int64_t each = shard_size(size, world_size);
    at::Tensor whole = sent;
    if (each * world_size != size) {  // the operation needs shards of equal size
      whole = at::zeros({each * world_size}, sent.options());
      whole.narrow(0, 0, size).copy_(sent);
    }
    at::Tensor own = whole.narrow(0, rank * each, each);
    return filled(buffer, torch_compat::reduce_scatter_flat(*group_, own, whole), [=] {
      if (whole.is_same(buffer)) return;
      const Shard shard = shard_of(size, rank, world_size);
      const int64_t length = shard.end - shard.begin;
      buffer.narrow(0, shard.begin, length).copy_(own.narrow(0, 0, length));
    });
  }

  /// Returns a future that yields `buffer` once `work` is done and `finish` was called.
  template <class Finish>
  static c10::intrusive_ptr<c10::ivalue::Future> filled(const at::Tensor& buffer,
                                                        const c10::intrusive_ptr<c10d::Work>& work, Finish finish) {
    return work->getFuture()->then(
        [buffer, finish](c10::ivalue::Future&) {
          finish();
          return c10::IValue(buffer);
        },
        c10::TensorType::get());
  }

  c10::intrusive_ptr<c10d::ProcessGroup> group_;
  std::optional<at::ScalarType> sent_as_;
  bool shards_;
};

}  // namespace

bool has_reduce_scatter(c10d::ProcessGroup& group, c10::DeviceType device) {
  const std::string name = group.getBackend(device)->getBackendName();
  return name != "gloo" && name != "memory and gloo";
}

std::unique_ptr<c10d::CommHookInterface> make_reduction_hook(c10::intrusive_ptr<c10d::ProcessGroup> group,
                                                             std::optional<at::ScalarType> sent_as, bool shards) {
  return std::make_unique<ReductionHook>(std::move(group), sent_as, shards);
}

}  // namespace levin::parallel
