#include <levin/trainer/session/published_weights.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <levin/core/system/error.h>
#include <levin/modules/parallel/sharding/watched_memory.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <cstring>

namespace levin {
namespace {

PublishedWeights::Tensors weights_of(const torch::nn::Module& module) {
  PublishedWeights::Tensors tensors;
  for (const auto& one : module.named_parameters()) tensors.emplace_back(one.key(), one.value());
  for (const auto& one : module.named_buffers())
    if (one.value().defined()) tensors.emplace_back(one.key(), one.value());
  return tensors;
}

constexpr size_t kLargeBytes = size_t{1} << 20;

/// Copies the values of a tensor to one of the same shape, dtype and device. LibTorch's copy of a small tensor takes
/// longer than the copy of its memory; that of a large one is shared among the compute threads.
void copy_values(const at::Tensor& from, const at::Tensor& to) {
  const parallel::MemoryUse use(from);  // under fsdp it is gathered from the ranks
  const bool is_plain = from.is_cpu() && from.layout() == at::kStrided && from.nbytes() < kLargeBytes &&
                        from.is_non_overlapping_and_dense() && from.strides() == to.strides() && !from.is_conj() &&
                        !from.is_neg();
  if (is_plain && from.nbytes() > 0)
    std::memcpy(to.mutable_data_ptr(), from.const_data_ptr(), from.nbytes());
  else
    to.copy_(from);
}

/// Copies `from` to `to`, whose memory is reused where a tensor fits.
void copy(const PublishedWeights::Tensors& from, PublishedWeights::Tensors& to) {
  const at::NoGradGuard no_grad;
  to.resize(from.size());
  for (size_t i = 0; i < from.size(); ++i) {
    const at::Tensor& source = from[i].second;
    at::Tensor& target = to[i].second;
    const bool fits = target.defined() && target.sizes() == source.sizes() && target.dtype() == source.dtype() &&
                      target.device() == source.device();
    if (!fits) target = at::empty_like(source);
    copy_values(source, target);
    to[i].first = from[i].first;
  }
}

/// Waits until the devices have made the copies: readers are on other threads, with streams of their own.
void wait_for_devices(const PublishedWeights::Tensors& tensors) {
  std::vector<c10::Device> done;
  for (const auto& [name, tensor] : tensors) {
    if (tensor.is_cpu() || std::find(done.begin(), done.end(), tensor.device()) != done.end()) continue;
    const c10::impl::VirtualGuardImpl device(tensor.device().type());
    device.synchronizeDevice(tensor.device().index());
    done.push_back(tensor.device());
  }
}

}  // namespace

PublishedWeights& PublishedWeights::operator=(PublishedWeights&& other) noexcept {
  std::swap(publisher_, other.publisher_);
  std::swap(slot_, other.slot_);
  return *this;
}

PublishedWeights::~PublishedWeights() {
  if (publisher_) publisher_->slots_[slot_].given_back.fetch_add(1, std::memory_order_release);
}

int64_t PublishedWeights::global_step() const { return publisher_->slots_[slot_].global_step; }

const PublishedWeights::Tensors& PublishedWeights::tensors() const { return publisher_->slots_[slot_].tensors; }

const at::Tensor& PublishedWeights::operator[](const std::string& name) const {
  for (const auto& [key, tensor] : tensors())
    if (key == name) return tensor;
  throw UsageError("published weights: there is no \"", name, "\"");
}

void PublishedWeights::copy_to(torch::nn::Module& module) const {
  const Tensors own = weights_of(module);
  for (const auto& [name, tensor] : own)
    if (const at::Tensor& published = (*this)[name]; published.sizes() != tensor.sizes())
      throw UsageError("published weights: ", name, " has the shape ", published.sizes(), ", and in the module ",
                       tensor.sizes());
  if (own.size() != tensors().size())
    throw UsageError("published weights: they have ", tensors().size(), " tensors, the module has ", own.size());
  const at::NoGradGuard no_grad;
  for (const auto& [name, tensor] : own) at::Tensor(tensor).copy_((*this)[name]);
}

size_t WeightsPublisher::free_slot() const {
  const uint64_t newest = newest_.load(std::memory_order_relaxed) >> kSlotBits;
  for (size_t i = 0; i < kSlots; ++i)
    if (i + 1 != newest && slots_[i].given_back.load(std::memory_order_acquire) == slots_[i].taken) return i;
  throw UsageError("Session::publish: readers keep ", kSlots - 1, " copies of the weights; let go of old ones");
}

void WeightsPublisher::publish(const torch::nn::Module& module, int64_t global_step) {
  const size_t next = free_slot();
  Slot& slot = slots_[next];
  copy(weights_of(module), slot.tensors);
  wait_for_devices(slot.tensors);
  slot.global_step = global_step;
  slot.taken = 0;
  slot.given_back.store(0, std::memory_order_relaxed);
  const uint64_t before = newest_.exchange((next + 1) << kSlotBits, std::memory_order_acq_rel);
  if (const uint64_t retired = before >> kSlotBits; retired != 0)
    slots_[retired - 1].taken = before & ((uint64_t{1} << kSlotBits) - 1);
}

PublishedWeights WeightsPublisher::newest() const {
  const uint64_t slot = newest_.fetch_add(1, std::memory_order_acq_rel) >> kSlotBits;
  return slot == 0 ? PublishedWeights() : PublishedWeights(shared_from_this(), slot - 1);
}

}  // namespace levin
