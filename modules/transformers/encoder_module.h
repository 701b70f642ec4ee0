#pragma once
#include <levin/modules/lightning_module.h>
#include <levin/modules/lr_schedulers/registry.h>
#include <levin/modules/nn/grouped_parameters.h>
#include <levin/modules/nn/initial_weights.h>
#include <levin/modules/optim/registry.h>
#include <levin/modules/transformers/encoder.h>
#include <levin/modules/transformers/load_tensors.h>
#include <levin/modules/transformers/pretrained_dtype.h>
#include <levin/modules/transformers/save_pretrained.h>
#include <levin/modules/transformers/saves_pretrained.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace levin::nn {

/// The options of a module that has an encoder from a folder. As a member without LEVIN_OPTION they are flattened into
/// the module's own options.
struct EncoderModuleOptions {
  std::string folder =
      LEVIN_OPTION(folder, "", "Folder with config.json and *.safetensors, as transformers' save_pretrained writes it");
  Choice<PretrainedDtype> dtype =
      LEVIN_OPTION(dtype, PretrainedDtype::Float32, "Dtype of the weights; file: that of the files");
  std::vector<std::string> ignored_fields = LEVIN_OPTION(
      ignored_fields, {}, "Fields of config.json that levin does not know and that change nothing that is computed");
  std::string save_to =
      LEVIN_OPTION(save_to, "", "Folder that gets the trained model, for transformers too, when fit ends; empty: none");
  InitialWeights initial = {};  // its options are flattened into this struct
  ClassChoice<optim::OptimizerKind> optimizer = LEVIN_OPTION(optimizer, {"AdamW"}, "Optimizer");
  ClassChoice<LRSchedulerKind> lr_scheduler = LEVIN_OPTION(lr_scheduler, {}, "Learning rate schedule; unset: none");
  ParameterGroups groups = {};  // its options are flattened into this struct
};

/// A module with an encoder from a folder of Hugging Face, and a head: the base of SequenceClassifier and its like. A
/// batch has `input` [batch, time], the tokens, and may have `attention_mask` and `token_type_ids` (see EncoderInputs).
/// Parameters have the names that they have in transformers: `bert.encoder.layer.0.attention.self.query.weight`.
class EncoderModule : public LightningModule, public SavesPretrained {
 public:
  void save_pretrained(const std::filesystem::path& folder, uint64_t most_bytes = kMostShardBytes) override;
  OptimizerConfig configure_optimizers() override;
  /// Writes `save_to`.
  void on_fit_end(Run& run) override;

  const EncoderConfig& config() const { return encoder->config; }

  std::shared_ptr<Encoder> encoder = {};

 protected:
  /// What is read of the folder before the head is made.
  struct Folder {
    EncoderConfig config = {};
    PretrainedTensors tensors = {};
  };
  /// How the weights of the folder come into the module.
  struct Loading {
    /// Layers that are not in each folder; they are made as transformers makes them, and trained whole beside adapters.
    std::vector<std::string> head = {};
    bool replaces_head = false;  ///< a head of another size is made again
    bool keeps_rest = false;     ///< tensors of the encoder that it does not use are written again
  };

  explicit EncoderModule(std::string name) : LightningModule(std::move(name)) {}
  /// Reads config.json and maps the weights; makes the encoder. Throws levin::UsageError for a folder that lacks files,
  /// for a config that encoder_config refuses, and for weights of other sizes than it says.
  Folder open(const EncoderModuleOptions& options);
  /// Copies the weights into the module, whose head is registered, and then loads model.weights, freezes and adapts.
  /// Says which weights are new and which were left.
  void load(const Folder& folder, const Loading& loading);

  at::Tensor hidden_of(const Batch& batch, const std::string& prefix = {});
  /// Returns the text of config.json that is written.
  virtual std::string config_text() const = 0;
  /// Returns what else is in the written folder: see PretrainedFiles. By default nothing.
  virtual void add_files(PretrainedFiles& /*files*/) const {}
  const std::string& read_config_text() const { return config_text_; }

 private:
  EncoderModuleOptions base_options_ = {};
  std::string config_text_ = {};
  bool is_bare_ = false;  ///< the files have no name of the encoder
  bool keeps_bare_ = false;
  NamedWeights kept_ = {};
};

}  // namespace levin::nn
