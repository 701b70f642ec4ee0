#include <levin/modules/parallel/replicas/paired_tensors.h>
#include <ATen/ops/empty_like.h>
#include <levin/core/system/error.h>
#include <levin/modules/adapters/adapted_weight.h>
#include <levin/modules/parallel/replicas/move_flat.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace levin::parallel {
namespace {

std::optional<uint32_t> version_of(const at::Tensor& tensor) {
  if (tensor.is_inference()) return {};
  return tensor.unsafeGetTensorImpl()->version_counter().current_version();
}

/// Returns whether `replica` can take the values of `original` in place.
bool fits(const at::Tensor& replica, const at::Tensor& original, c10::Device device) {
  return replica.device() == device && replica.scalar_type() == original.scalar_type() &&
         replica.sizes() == original.sizes() && replica.suggest_memory_format() == original.suggest_memory_format();
}

/// Makes both tensors share a version counter, so that autograd detects stale uses of either.
void share_counter(const at::Tensor& replica, const at::Tensor& original) {
  if (!original.is_inference())
    torch::autograd::impl::set_version_counter(replica, torch::autograd::impl::version_counter(original));
}

[[noreturn]] void throw_differs(PairedTensors::Kind kind, const std::string& name, const std::string& how) {
  const char* const what = kind == PairedTensors::Kind::Parameter ? "parameter " : "buffer ";
  throw UsageError("a replica's ", what, name, " ", how,
                   "; a replica must be made as its original was (clone() or the factory of make_module)");
}

}  // namespace

bool SeenTensor::is_elsewhere(const at::Tensor& tensor) const {
  return storage_._unsafe_get_target() != tensor.storage().unsafeGetStorageImpl() || data_ != tensor.const_data_ptr();
}

bool SeenTensor::is_changed(const at::Tensor& tensor) const { return !version_ || version_of(tensor) != version_; }

void SeenTensor::update(const at::Tensor& tensor) {
  if (is_elsewhere(tensor)) storage_ = tensor.storage().getWeakStorageImpl();
  data_ = tensor.const_data_ptr();
  version_ = version_of(tensor);
}

PairedTensors::PairedTensors(Kind kind, const Named& originals, const std::vector<Named>& replicas,
                             std::vector<c10::Device> devices)
    : kind_(kind),
      replicas_(replicas.size()),
      replicas_seen_(replicas.size()),
      first_of_(replicas.size()),
      devices_(std::move(devices)) {
  std::unordered_map<const void*, size_t> index_of;
  for (const auto& item : originals) {
    const auto [found, is_new] = index_of.emplace(item.value().unsafeGetTensorImpl(), originals_.size());
    if (!is_new) continue;
    names_.push_back(item.key());
    originals_.push_back(item.value());
  }
  seen_.resize(originals_.size());

  for (size_t r = 0; r < replicas.size(); ++r) {
    std::unordered_map<const void*, size_t> taken;
    for (const auto& item : replicas[r])
      if (!originals.contains(item.key())) throw_differs(kind, item.key(), "is none of the original's");
    for (const auto& item : originals) {
      const at::Tensor* const tensor = replicas[r].find(item.key());
      if (!tensor) throw_differs(kind, item.key(), "is missing");
      if (tensor->sizes() != item.value().sizes())
        throw_differs(kind, item.key(), c10::str("has the shape ", tensor->sizes(), ", not ", item.value().sizes()));
      if (index_of.contains(tensor->unsafeGetTensorImpl()))
        throw_differs(kind, item.key(), "is the original's own, so that the two would not be two");
      const size_t original = index_of[item.value().unsafeGetTensorImpl()];
      const auto [found, is_new] = taken.emplace(tensor->unsafeGetTensorImpl(), original);
      if (found->second != original)
        throw_differs(kind, item.key(),
                      "is the same tensor as " + names_[found->second] + ", which the original's is not");
      if (!is_new) continue;
      if (first_of_[r].size() <= original) first_of_[r].push_back(replicas_[r].size());
      replicas_[r].emplace_back(*tensor, original);
    }
    replicas_seen_[r].resize(replicas_[r].size());
  }
}

bool PairedTensors::may_be_statistics(size_t original) const {
  // batch_norm writes its 1-dimensional running statistics without incrementing their version counters.
  const at::Tensor& tensor = originals_[original];
  return kind_ == Kind::Buffer && tensor.is_floating_point() && tensor.dim() == 1;
}

void PairedTensors::refresh(bool share, bool all) {
  std::vector<bool> elsewhere(originals_.size()), changed(originals_.size());
  for (size_t i = 0; i < originals_.size(); ++i) {
    elsewhere[i] = seen_[i].is_elsewhere(originals_[i]);
    changed[i] = all || elsewhere[i] || may_be_statistics(i) || seen_[i].is_changed(originals_[i]);
    if (changed[i]) seen_[i].update(originals_[i]);
  }
  for (size_t r = 0; r < replicas_.size(); ++r) refresh_replica(r, share, elsewhere, changed);
}

void PairedTensors::refresh_replica(size_t replica, bool share, const std::vector<bool>& elsewhere,
                                    const std::vector<bool>& changed) {
  std::vector<at::Tensor> from, to;
  std::vector<size_t> written;
  for (size_t i = 0; i < replicas_[replica].size(); ++i) {
    const auto& [tensor, original] = replicas_[replica][i];
    const at::Tensor& value = originals_[original];
    const bool is_shared = share && value.device() == devices_[replica];
    if (is_shared ? elsewhere[original] || tensor.const_data_ptr() != value.const_data_ptr()
                  : !fits(tensor, value, devices_[replica])) {
      const auto adapter = adapters::adapter_of(tensor);  // a mark of the memory, which is replaced
      tensor.set_data(is_shared ? value.detach() : at::empty_like(value, devices_[replica]));
      if (adapter) adapters::attach(tensor, adapter);
    }
    if (kind_ == Kind::Parameter && elsewhere[original]) share_counter(tensor, value);
    const bool is_replica_changed = kind_ == Kind::Buffer && replicas_seen_[replica][i].is_changed(tensor);
    if (is_shared || !(changed[original] || is_replica_changed)) continue;
    from.push_back(value);
    to.push_back(tensor.data());
    written.push_back(i);
  }
  copy_flat(from, to);
  for (const size_t i : written) replicas_seen_[replica][i].update(replicas_[replica][i].first);
}

std::vector<size_t> PairedTensors::changed_since_refresh(size_t replicas, bool statistics) const {
  std::vector<bool> changed(originals_.size());
  for (size_t i = 0; i < originals_.size(); ++i)
    changed[i] = (statistics && may_be_statistics(i)) || seen_[i].is_changed(originals_[i]);
  for (size_t r = 0; r < replicas; ++r)
    for (size_t i = 0; i < replicas_[r].size(); ++i)
      if (replicas_seen_[r][i].is_changed(replicas_[r][i].first)) changed[replicas_[r][i].second] = true;
  std::vector<size_t> indices;
  for (size_t i = 0; i < changed.size(); ++i)
    if (changed[i]) indices.push_back(i);
  return indices;
}

}  // namespace levin::parallel
