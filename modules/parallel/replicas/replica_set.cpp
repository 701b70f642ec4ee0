#include <levin/modules/parallel/replicas/replica_set.h>
#include <ATen/core/grad_mode.h>
#include <levin/core/system/error.h>
#include <levin/modules/parallel/replicas/replica_devices.h>
#include <levin/modules/parallel/replicas/replicate.h>

#include <utility>

namespace levin::parallel {

ReplicaSet::ReplicaSet(std::shared_ptr<torch::nn::Module> original, const std::vector<c10::Device>& devices,
                       bool share_memory)
    : original_(std::move(original)), devices_(checked_devices(devices, "DataParallel")), share_memory_(share_memory) {}

void ReplicaSet::make_copies() {
  for (const auto& item : original_->named_parameters()) check_place(item.key(), item.value());
  for (const auto& item : original_->named_buffers()) check_place(item.key(), item.value());
  std::vector<std::shared_ptr<torch::nn::Module>> copies;
  std::vector<torch::nn::Module*> pointers;
  for (size_t i = 1; i < devices_.size(); ++i) {
    copies.push_back(clone_module(*original_, devices_[i]));
    pointers.push_back(copies.back().get());
  }
  state_ = std::make_unique<ReplicaState>(
      *original_, pointers, std::vector<c10::Device>(devices_.begin() + 1, devices_.end()), share_memory_);
  copies_ = std::move(copies);
}

void ReplicaSet::check_place(const std::string& name, const at::Tensor& tensor) const {
  if (tensor.device() != devices_[0])
    throw UsageError("DataParallel: ", name, " is on ", tensor.device(), ", and the first device is ", devices_[0],
                     "; move the module there: to(torch::Device(\"", devices_[0], "\"))");
}

ReplicaSet::Forward::Forward(ReplicaSet& set, size_t count) : set_(set) {
  if (set.busy_.exchange(true))
    throw Error("DataParallel: forward was called while another forward of it runs; give each thread one of its own");
  try {
    prepare(count);
  } catch (...) {
    set.busy_ = false;
    throw;
  }
}

void ReplicaSet::Forward::prepare(size_t count) {
  if (set_.devices_.size() < 2) return;
  if (!set_.state_) set_.make_copies();
  for (const PairedTensors* tensors : {&set_.state_->parameters(), &set_.state_->buffers()})
    for (size_t i = 0; i < tensors->originals().size(); ++i)
      set_.check_place(tensors->name(i), tensors->originals()[i]);
  set_.state_->refresh();
  set_.state_->attach(count - 1);
}

void ReplicaSet::Forward::finish(const std::vector<int64_t>& sizes) {
  if (!set_.state_) return;
  set_.state_->merge_buffers({sizes.begin(), sizes.end()});
  if (at::GradMode::is_enabled()) set_.state_->expect_changes();  // an optimizer may follow
}

}  // namespace levin::parallel
