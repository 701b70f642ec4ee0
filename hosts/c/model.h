#pragma once
#include <levin/hosts/c/arrays.h>
#include <levin/hosts/c/handles.h>
#include <levin/hosts/c/signature.h>
#include <levin/modules/lightning_module.h>
#include <levin/modules/parallel/sharding/watched_memory.h>
#include <levin/modules/training_modes.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace levin::c {

/// What a module takes its inputs as. It keeps the module's first parameter, since a search takes longer than a small
/// step.
class ModuleInputs {
 public:
  explicit ModuleInputs(const LightningModule& module);
  InputDtypes dtypes() const;
  /// Returns the device of the module, also outside of a run.
  c10::Device device() const;
  /// Returns whether a rank has a part of the weights alone, as between the steps of fsdp. What uses the weights then
  /// does so in the scope of `gather_weights`.
  bool are_weights_divided() const;

 private:
  at::Tensor real_ = {};  ///< the first parameter of floating point; undefined: there is none
  bool long_indices_;
};

/// Returns a scope in which operations gather divided weights from the ranks, which all enter it; none for whole
/// weights, whose operations it would slow.
std::optional<parallel::WatchScope> gather_weights(bool are_divided);

/// A module for the host, and what its newest call left.
class Model {
 public:
  explicit Model(std::shared_ptr<LightningModule> module) : module_(std::move(module)), inputs_(*module_) {}

  const std::shared_ptr<LightningModule>& module() const { return module_; }
  const ModuleInputs& inputs() const { return inputs_; }
  /// Evaluates a function of the module without gradients; the modes of its parts are afterwards as before.
  void run(const char* function, const levin_array* inputs, size_t count);
  const Results& results() const { return results_; }
  /// What the module takes and returns: its example and what predict_step makes of it, else its signature. Throws
  /// levin::UsageError as signature_of.
  size_t input_count();
  size_t output_count();
  /// Throws levin::UsageError if there is no such place.
  void describe_input(size_t place, levin_array& array);
  void describe_output(size_t place, levin_array& array);
  /// The weights by the order of the state dict; this rank's parts of those that are divided.
  const Results& weights();

 private:
  void find_signature();
  /// Calls a function of the module in evaluation and without gradients.
  Batch evaluate(const BatchFunction& function, const Batch& batch);

  std::shared_ptr<LightningModule> module_;
  ModuleInputs inputs_;
  std::optional<TrainingModes> modes_ = {};  ///< kept between runs
  BatchMaker batches_ = {};
  Results results_ = {}, example_inputs_ = {}, example_outputs_ = {}, weights_ = {};
  std::string function_name_ = {};
  BatchFunction function_ = {};  ///< the newest one, of this name: a list of all costs allocations
  std::optional<Signature> signature_ = {};
};

using Models = Handles<levin_model, Model>;
Models& models();

/// Returns a function of a module by its name. Throws levin::UsageError with the names that there are.
BatchFunction function_of(LightningModule& module, const std::string& name);

}  // namespace levin::c
