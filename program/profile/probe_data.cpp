#include <levin/program/profile/probe_data.h>
#include <levin/data/loader.h>

#include <utility>

namespace levin {
namespace {

template <class Function>
void for_each_tensor(const Batch& batch, const Function& function) {
  for (const std::string& name : batch.names())
    if (!batch.is_list(name)) function(name, batch[name]);
}

Batch contiguous(Batch batch) {
  Batch changed = batch;
  for_each_tensor(batch, [&](const std::string& name, const at::Tensor& tensor) {
    if (!tensor.is_contiguous()) changed.set(name, tensor.contiguous());
  });
  return changed;
}

/// Gives the first batch of another loader again and again, as many to an epoch as that loader has.
class ConstantLoader final : public data::Loader {
 public:
  explicit ConstantLoader(std::shared_ptr<data::Loader> inner) : inner_(std::move(inner)) {}

  std::optional<data::LoadedBatch> next() override {
    if (!first_) {
      first_ = inner_->next();
      if (!first_) return {};
    }
    const std::optional<int64_t> batches = size();
    if (batches && given_ == *batches) return {};
    given_ += 1;
    first_->last = batches && given_ == *batches;
    return first_;
  }
  std::optional<int64_t> size() const override { return inner_->size(); }
  void set_epoch(int64_t /*epoch*/) override { given_ = 0; }
  void set_default_seed(uint64_t seed) override { inner_->set_default_seed(seed); }
  bool use_sequential_order() override { return inner_->use_sequential_order(); }
  void shard(int64_t rank, int64_t world) override { inner_->shard(rank, world); }
  bool in_step() const override { return inner_->in_step(); }
  State state_dict() const override { return inner_->state_dict(); }
  void load_state_dict(const State& state) override { inner_->load_state_dict(state); }

 private:
  std::shared_ptr<data::Loader> inner_;
  std::optional<data::LoadedBatch> first_ = {};
  int64_t given_ = 0;
};

constexpr uint64_t bit(data::DataMethod method) { return uint64_t{1} << static_cast<int>(method); }

}  // namespace

ProbeData::ProbeData(std::shared_ptr<data::DataModule> inner, LightningModule& module, ProfileProbe probe)
    : inner_(std::move(inner)), module_(module), probe_(probe) {}

data::DataModuleRef ProbeData::ref(const std::shared_ptr<ProbeData>& data) {
  data::DataModuleRef ref(data);
  const uint64_t loaders = bit(data::DataMethod::train_dataloader) | bit(data::DataMethod::val_dataloader);
  ref.overrides.methods = loaders | (data->inner_ ? data::DataModuleRef(data->inner_).overrides.methods : 0);
  if (data->probe_.constant_hooks)
    ref.overrides.methods |=
        bit(data::DataMethod::on_before_batch_transfer) | bit(data::DataMethod::on_after_batch_transfer);
  return ref;
}

void ProbeData::prepare_data() {
  if (inner_) inner_->prepare_data();
}

void ProbeData::setup(Stage stage) {
  if (inner_) inner_->setup(stage);
}

void ProbeData::teardown(Stage stage) {
  if (inner_) inner_->teardown(stage);
}

data::Loaders ProbeData::train_dataloader() {
  const data::Loaders given = inner_ ? inner_->train_dataloader() : module_.train_dataloader();
  if (!probe_.constant_batch) return given;
  data::Loaders constant;
  for (const auto& loader : given) constant.add(data::LoaderEntry(std::make_shared<ConstantLoader>(loader)));
  return constant;
}

data::Loaders ProbeData::val_dataloader() { return inner_ ? inner_->val_dataloader() : module_.val_dataloader(); }

// Under constant_hooks the hooks of the first train batch run once; validation batches have their own.
Batch ProbeData::on_before_batch_transfer(Batch batch, int64_t dataloader_idx) {
  const bool keeps = probe_.constant_hooks && module_.is_training();
  if (keeps && before_) return *before_;
  Batch changed = inner_ ? inner_->on_before_batch_transfer(std::move(batch), dataloader_idx)
                         : module_.on_before_batch_transfer(std::move(batch), dataloader_idx);
  if (keeps) before_ = changed;
  return changed;
}

Batch ProbeData::transfer_batch_to_device(Batch batch, c10::Device device, int64_t dataloader_idx) {
  return inner_ ? inner_->transfer_batch_to_device(std::move(batch), device, dataloader_idx)
                : module_.transfer_batch_to_device(std::move(batch), device, dataloader_idx);
}

Batch ProbeData::on_after_batch_transfer(Batch batch, int64_t dataloader_idx) {
  const bool keeps = probe_.constant_hooks && module_.is_training();
  if (keeps && after_) return *after_;
  Batch changed = inner_ ? inner_->on_after_batch_transfer(std::move(batch), dataloader_idx)
                         : module_.on_after_batch_transfer(std::move(batch), dataloader_idx);
  if (keeps && probe_.contiguous) changed = contiguous(std::move(changed));
  if (keeps) after_ = changed;
  return changed;
}

bool has_non_contiguous(const Batch& batch) {
  bool found = false;
  for_each_tensor(batch, [&](const std::string&, const at::Tensor& tensor) {
    found |= !tensor.is_contiguous() && !tensor.is_contiguous(at::MemoryFormat::ChannelsLast);
  });
  return found;
}

int64_t bytes_of(const Batch& batch) {
  int64_t bytes = 0;
  for_each_tensor(batch, [&](const std::string&, const at::Tensor& tensor) { bytes += tensor.nbytes(); });
  return bytes;
}

}  // namespace levin
