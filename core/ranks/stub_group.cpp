#include <levin/core/ranks/stub_group.h>
#include <ATen/core/ivalue.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include <string>
#include <vector>

namespace levin {
namespace {

using WorkPtr = c10::intrusive_ptr<c10d::Work>;

/// Work that is already complete. c10d's FakeWork has no tensors in its future, which the Reducer needs.
class DoneWork final : public c10d::Work {
 public:
  explicit DoneWork(const std::vector<at::Tensor>& tensors)
      : future_(c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()))) {
    future_->markCompleted(c10::IValue(tensors));
  }
  bool isCompleted() override { return true; }
  bool isSuccess() const override { return true; }
  bool wait(std::chrono::milliseconds /*timeout*/) override { return true; }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }

 private:
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

class StubGroup final : public c10d::Backend {
 public:
  explicit StubGroup(int64_t world_size) : c10d::Backend(/*rank=*/0, static_cast<int>(world_size)) {}

  const std::string getBackendName() const override { return "absent"; }
  WorkPtr allreduce(std::vector<at::Tensor>& tensors, const c10d::AllreduceOptions&) override { return done(tensors); }
  WorkPtr allreduce_coalesced(std::vector<at::Tensor>& tensors, const c10d::AllreduceCoalescedOptions&) override {
    return done(tensors);
  }
  WorkPtr broadcast(std::vector<at::Tensor>& tensors, const c10d::BroadcastOptions&) override { return done(tensors); }
  WorkPtr allgather(std::vector<std::vector<at::Tensor>>& outputs, std::vector<at::Tensor>& inputs,
                    const c10d::AllgatherOptions&) override {
    for (size_t i = 0; i < inputs.size(); ++i)
      for (at::Tensor& output : outputs[i]) output.copy_(inputs[i]);
    return done(inputs);
  }
  WorkPtr _allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions&) override {
    // The parts of absent ranks are copies of this rank's own: unset memory would show as NaN.
    const int64_t size = input.numel();
    for (int rank = 0; rank < getSize(); ++rank) {
      const at::Tensor part = output.narrow(0, rank * size, size);
      if (part.data_ptr() != input.data_ptr()) part.copy_(input);
    }
    return done({output});
  }
  WorkPtr _reduce_scatter_base(at::Tensor& output, at::Tensor& input, const c10d::ReduceScatterOptions&) override {
    const at::Tensor own = input.narrow(0, 0, output.numel());
    if (own.data_ptr() != output.data_ptr()) output.copy_(own);
    return done({output});
  }
  WorkPtr alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<int64_t>&, std::vector<int64_t>&,
                        const c10d::AllToAllOptions&) override {
    output.zero_();
    const int64_t each = input.numel() / getSize();
    output.narrow(0, 0, each).copy_(input.narrow(0, 0, each));
    return done({output});
  }
  WorkPtr barrier(const c10d::BarrierOptions&) override { return done({}); }

 private:
  static WorkPtr done(const std::vector<at::Tensor>& tensors) { return c10::make_intrusive<DoneWork>(tensors); }
};

}  // namespace

c10::intrusive_ptr<c10d::ProcessGroup> make_absent_ranks(int64_t world_size, c10::Device device) {
  auto group =
      c10::make_intrusive<c10d::ProcessGroup>(c10::make_intrusive<c10d::HashStore>(), 0, static_cast<int>(world_size));
  const auto backend = c10::make_intrusive<StubGroup>(world_size);
  for (const c10::DeviceType type : {c10::kCPU, device.type()})
    group->setBackend(type, c10d::ProcessGroup::BackendType::CUSTOM, backend);
  group->setDefaultBackend(c10d::ProcessGroup::BackendType::CUSTOM);
  return group;
}

}  // namespace levin
