#pragma once
#include <ATen/core/Tensor.h>
#include <levin/core/ranks/process_group_backends.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

namespace levin {

/// Base of backends that run some collectives themselves, and leave all others to another backend of the same ranks.
class ForwardingBackend : public c10d::Backend {
 public:
  using WorkPtr = c10::intrusive_ptr<c10d::Work>;
  using Tensors = std::vector<at::Tensor>;

  void setTimeout(std::chrono::milliseconds timeout) override {
    timeout_ = timeout;
    other_->setTimeout(timeout);
  }

  WorkPtr allreduce_sparse(Tensors& tensors, const c10d::AllreduceOptions& options) override {
    return other_->allreduce_sparse(tensors, options);
  }
  WorkPtr allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) override {
    return other_->allreduce_coalesced(tensors, options);
  }
  WorkPtr reduce(Tensors& tensors, const c10d::ReduceOptions& options) override {
    return other_->reduce(tensors, options);
  }
  WorkPtr gather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::GatherOptions& options) override {
    return other_->gather(outputs, inputs, options);
  }
  WorkPtr scatter(Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ScatterOptions& options) override {
    return other_->scatter(outputs, inputs, options);
  }
  WorkPtr reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                         const c10d::ReduceScatterOptions& options) override {
    return other_->reduce_scatter(outputs, inputs, options);
  }
  WorkPtr _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                               const c10d::ReduceScatterOptions& options) override {
    return other_->_reduce_scatter_base(output, input, options);
  }
  WorkPtr alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& options) override {
    return other_->alltoall(outputs, inputs, options);
  }
  WorkPtr alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<int64_t>& output_sizes,
                        std::vector<int64_t>& input_sizes, const c10d::AllToAllOptions& options) override {
    return other_->alltoall_base(output, input, output_sizes, input_sizes, options);
  }
  WorkPtr send(Tensors& tensors, int rank, int tag) override { return other_->send(tensors, rank, tag); }
  WorkPtr recv(Tensors& tensors, int rank, int tag) override { return other_->recv(tensors, rank, tag); }
  WorkPtr recvAnysource(Tensors& tensors, int tag) override { return other_->recvAnysource(tensors, tag); }
  void monitoredBarrier(const c10d::BarrierOptions& options, bool waits_for_all) override {
    other_->monitoredBarrier(options, waits_for_all);
  }
  void setSequenceNumberForGroup() override { other_->setSequenceNumberForGroup(); }
  uint64_t getSequenceNumberForGroup() override { return other_->getSequenceNumberForGroup(); }

 protected:
  ForwardingBackend(const BackendOptions& options, c10::intrusive_ptr<c10d::Backend> other)
      : c10d::Backend(static_cast<int>(options.rank), static_cast<int>(options.world_size)),
        timeout_(options.timeout),
        other_(std::move(other)) {}

  static bool is_dense(const at::Tensor& tensor) { return tensor.device().is_cpu() && tensor.layout() == at::kStrided; }
  std::chrono::milliseconds limit_of(std::chrono::milliseconds given) const {
    return given == c10d::kUnsetTimeout ? timeout_ : given;
  }
  c10d::Backend& other() const { return *other_; }

 private:
  std::chrono::milliseconds timeout_;
  c10::intrusive_ptr<c10d::Backend> other_;
};

}  // namespace levin
