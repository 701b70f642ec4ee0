#pragma once
#include <levin/core/run/hiding.h>
#include <levin/core/run/module_access.h>
#include <levin/core/run/stage.h>
#include <levin/core/state/state.h>
#include <levin/data/batch.h>
#include <levin/data/data_module_ref.h>
#include <levin/data/loader.h>

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <typeinfo>

namespace levin::data {

/// Returns `batch_size`. Throws levin::UsageError if it is not valid.
int64_t checked_batch_size(int64_t batch_size);

/// The methods of DataModule whose override the trainer must know about.
#define LEVIN_FOR_EACH_DATA_METHOD(X) \
  X(prepare_data)                     \
  X(train_dataloader)                 \
  X(val_dataloader)                   \
  X(test_dataloader)                  \
  X(predict_dataloader)               \
  X(on_before_batch_transfer)         \
  X(transfer_batch_to_device)         \
  X(on_after_batch_transfer)

/// All methods that a data module may override, with their signatures.
#define LEVIN_FOR_EACH_DATA_SIGNATURE(X)                                                     \
  X(prepare_data, "void prepare_data()")                                                     \
  X(setup, "void setup(Stage)")                                                              \
  X(teardown, "void teardown(Stage)")                                                        \
  X(train_dataloader, "data::Loaders train_dataloader()")                                    \
  X(val_dataloader, "data::Loaders val_dataloader()")                                        \
  X(test_dataloader, "data::Loaders test_dataloader()")                                      \
  X(predict_dataloader, "data::Loaders predict_dataloader()")                                \
  X(on_before_batch_transfer, "Batch on_before_batch_transfer(Batch, int64_t)")              \
  X(transfer_batch_to_device, "Batch transfer_batch_to_device(Batch, c10::Device, int64_t)") \
  X(on_after_batch_transfer, "Batch on_after_batch_transfer(Batch, int64_t)")                \
  X(batch_size, "std::optional<int64_t> batch_size() const")                                 \
  X(set_batch_size, "void set_batch_size(int64_t)")                                          \
  X(learned_state, "State learned_state()")                                                  \
  X(load_learned_state, "void load_learned_state(const State&)")                             \
  X(raw_input, "std::optional<data::RawInput> raw_input()")                                  \
  X(state_dict, "State state_dict() const")                                                  \
  X(load_state_dict, "void load_state_dict(const State&)")

enum class DataMethod : int {
#define X(method) method,
  LEVIN_FOR_EACH_DATA_METHOD(X)
#undef X
};

/// Samples as files hold them, and how they become what a module takes: for exported models, which get such samples.
struct RawInput {
  Batch example = {};  ///< two samples, with any values that may occur
  /// Computes a module's batch by tensor operations alone, so that a tracer can record them.
  std::function<Batch(const Batch&)> prepare = {};
  std::string meaning = {};  ///< what the samples hold, as one line for a reader
};

/// The data of a training: download, splits and loaders. Names and meaning follow PyTorch Lightning's
/// LightningDataModule.
class DataModule {
 public:
  virtual ~DataModule() = default;

  /// Downloads and writes files; called once per machine, so it must not set members.
  virtual void prepare_data() {}
  /// Reads and divides the data; called by every rank, with Stage::Fit, Validate, Test or Predict.
  virtual void setup(Stage /*stage*/) {}
  virtual void teardown(Stage /*stage*/) {}

  virtual Loaders train_dataloader() { return {}; }
  virtual Loaders val_dataloader() { return {}; }
  virtual Loaders test_dataloader() { return {}; }
  virtual Loaders predict_dataloader() { return {}; }

  /// Changes a batch before it moves to the device; the default returns the batch unchanged.
  virtual Batch on_before_batch_transfer(Batch batch, int64_t dataloader_idx);
  /// Moves a batch to the device; the default is `batch.to(device)`, which does not wait for the copy.
  virtual Batch transfer_batch_to_device(Batch batch, c10::Device device, int64_t dataloader_idx);
  /// Changes a batch on the device; the default returns the batch unchanged.
  virtual Batch on_after_batch_transfer(Batch batch, int64_t dataloader_idx);

  /// Returns the samples per batch if `set_batch_size` can change them; unset by default.
  virtual std::optional<int64_t> batch_size() const { return {}; }
  /// Sets the batch size of loaders made from now on; used by levin::tune. The default throws levin::UsageError.
  virtual void set_batch_size(int64_t batch_size);

  /// Returns what the training data teach, by which all other data are read: means, class names, a vocabulary. It is in
  /// checkpoints and beside weights, so it holds values that JSON has; none by default. It may read the training data,
  /// and throws levin::UsageError if they are not there.
  virtual State learned_state() { return {}; }
  /// Takes the place of what the training data teach. Called before `setup`, with the learned_state of the run whose
  /// weights are used.
  virtual void load_learned_state(const State& /*state*/) {}
  /// Returns how raw samples become what a module takes; unset if samples are taken as they are. Throws as
  /// learned_state.
  virtual std::optional<RawInput> raw_input() { return {}; }

  /// Returns this data module's state for a checkpoint, besides its loaders' positions; none by default.
  virtual State state_dict() const { return {}; }
  virtual void load_state_dict(const State& /*state*/) {}

 private:
  friend class levin::ModuleAccess;

  std::optional<DataOverrides> known_overrides_ = {};
};

/// Returns the methods that `D` overrides, found at compile time; a name that is private, overloaded or ambiguous
/// counts as overridden. Fails to compile if a function hides a method of DataModule.
template <std::derived_from<DataModule> D>
constexpr DataOverrides overridden_by() {
  DataOverrides overrides{0};
#define X(method, signature) LEVIN_REFUSE_HIDING(D, DataModule, method, signature)
  LEVIN_FOR_EACH_DATA_SIGNATURE(X)
#undef X
#define X(method)                                                                                     \
  if constexpr (requires { &D::method; }) {                                                           \
    constexpr bool overridden = !std::is_same_v<decltype(&D::method), decltype(&DataModule::method)>; \
    overrides.methods |= uint64_t{overridden} << static_cast<int>(DataMethod::method);                \
  } else {                                                                                            \
    overrides.methods |= uint64_t{1} << static_cast<int>(DataMethod::method);                         \
  }
  LEVIN_FOR_EACH_DATA_METHOD(X)
#undef X
  return overrides;
}

/// Returns the overrides of an object. If its class is derived from `D`, they are those that the registry remembered,
/// or else all.
template <std::derived_from<DataModule> D>
DataOverrides overrides_of(const D& data_module) {
  const DataModule& base = data_module;
  return typeid(base) == typeid(D) ? overridden_by<D>() : ModuleAccess::known_overrides(base).value_or(DataOverrides{});
}

}  // namespace levin::data
