#pragma once
#include <levin/data/data_module.h>
#include <levin/modules/lightning_module.h>

#include <memory>
#include <optional>

namespace levin {

/// What a trial replaces, to see what it costs. `probe` values are no options of a run.
struct ProfileProbe {
  bool constant_batch = false;  ///< the first batch again and again, in place of the loader
  bool constant_hooks = false;  ///< and the batch that the data's batch hooks made of the first, in place of the hooks
  bool contiguous = false;      ///< with constant_hooks: its tensors made contiguous
  bool null_optimizer = false;  ///< steps of optimizers without parameters
  bool operator==(const ProfileProbe&) const = default;
};

/// The data of a trial: another data module's, or the module's own loaders, with training batches as `probe` says.
class ProbeData final : public data::DataModule {
 public:
  /// `inner` may be null. `module` must outlive the object.
  ProbeData(std::shared_ptr<data::DataModule> inner, LightningModule& module, ProfileProbe probe);

  /// Returns the data module with the overrides of `inner`, so that the run calls the same hooks.
  static data::DataModuleRef ref(const std::shared_ptr<ProbeData>& data);

  void prepare_data() override;
  void setup(Stage stage) override;
  void teardown(Stage stage) override;
  data::Loaders train_dataloader() override;
  data::Loaders val_dataloader() override;
  Batch on_before_batch_transfer(Batch batch, int64_t dataloader_idx) override;
  Batch transfer_batch_to_device(Batch batch, c10::Device device, int64_t dataloader_idx) override;
  Batch on_after_batch_transfer(Batch batch, int64_t dataloader_idx) override;

 private:
  std::shared_ptr<data::DataModule> inner_;
  LightningModule& module_;
  ProfileProbe probe_;
  std::optional<Batch> before_ = {}, after_ = {};
};

/// Returns whether a tensor of the batch is not contiguous, in its own memory format or another.
bool has_non_contiguous(const Batch& batch);
/// Returns the bytes of the batch's named tensors.
int64_t bytes_of(const Batch& batch);

}  // namespace levin
