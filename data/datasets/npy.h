#pragma once
#include <levin/core/options/choice.h>
#include <levin/core/options/text_table.h>
#include <levin/data/dataset.h>
#include <levin/data/dataset_module.h>
#include <levin/data/datasets/readers/field_dataset.h>
#include <levin/data/loader_options.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace levin {
namespace data {

/// Samples that are rows of NumPy arrays: of .npy files, mapped into memory and read on access, or of .npz files, of
/// which those arrays are mapped that are stored without compression at a place that suits their type.
///
/// Fields have the files' dtypes, except that 1-dimensional integer targets become int64, since losses need class
/// numbers. A batch copies its rows, so a write to it does not change the dataset.
class NpyDataset final : public Dataset {
 public:
  /// Maps .npy files; no target if its name is empty. Throws levin::UsageError as map_npy, and if the counts differ.
  explicit NpyDataset(const std::filesystem::path& input, const std::filesystem::path& target = {},
                      const FieldOptions& options = {});
  /// Opens two arrays of a .npz file; no target if its key is empty. Throws levin::UsageError that lists the existing
  /// keys.
  static NpyDataset from_npz(const std::filesystem::path& file, const std::string& input_key,
                             const std::string& target_key = "", const FieldOptions& options = {});
  /// Opens any number of arrays by the names of their fields: see NpyOptions::arrays. `option` names the option in
  /// messages. Throws levin::UsageError as the others do.
  static NpyDataset from_arrays(const TextTable& files, const FieldOptions& options = {},
                                const std::string& option = "data.arrays");

  int64_t size() const override { return rows_.size(); }
  Batch get(int64_t index, Rng& rng) const override { return rows_.get(index, rng); }
  void get_batch(const Indices& indices, Batch& out) const override { rows_.get_batch(indices, out); }
  /// Returns the whole arrays of fields whose rows have one length, as the files have them.
  const Batch& tensors() const { return rows_.tensors(); }
  /// Returns the length of each sample in a field whose rows have different ones. Throws levin::UsageError, which names
  /// `option`, for another field.
  std::vector<int64_t> lengths(const std::string& field, const std::string& option) const {
    return rows_.lengths(field, option);
  }

 private:
  struct Array {
    at::Tensor values = {};
    std::string name = {};
  };
  explicit NpyDataset(FieldDataset rows) : rows_(std::move(rows)) {}
  static FieldDataset rows_of(const Array& input, const Array& target, const FieldOptions& options);

  FieldDataset rows_;
};

/// The type of the arrays that a data module gives: that of the files, or float32.
enum class NpyType : uint8_t { Saved, Float32 };

}  // namespace data

template <>
inline constexpr auto kWords<data::NpyType> =
    words_of<data::NpyType>({{"saved", data::NpyType::Saved}, {"float32", data::NpyType::Float32}});

namespace data {

struct NpyOptions {
  std::string input = LEVIN_OPTION(input, "", "Training inputs: a .npy file, or a .npz file with inputs and targets");
  std::string target =
      LEVIN_OPTION(target, "", "Training targets, a .npy file; empty: none, or those of the .npz file");
  std::string val_input =
      LEVIN_OPTION(val_input, "", "Validation inputs; empty: none, or a share of the training data");
  std::string val_target = LEVIN_OPTION(val_target, "", "Validation targets");
  std::string test_input = LEVIN_OPTION(test_input, "", "Inputs for test and predict; empty: none");
  std::string test_target = LEVIN_OPTION(test_target, "", "Targets for test and predict");
  TextTable arrays = LEVIN_OPTION(
      arrays, {},
      "Training arrays by the names of their fields, in place of input and target: {\"input_ids\": \"ids.npy\", "
      "\"target\": \"train.npz:labels\"}; \"*\": all arrays of a .npz file; `x_lengths` has the lengths of rows of "
      "`x`");
  TextTable val_arrays =
      LEVIN_OPTION(val_arrays, {}, "Validation arrays; empty: none, or a share of the training data");
  TextTable test_arrays = LEVIN_OPTION(test_arrays, {}, "Arrays for test and predict; empty: none");
  std::string input_key = LEVIN_OPTION(input_key, "input", "Name of the inputs in a .npz file");
  std::string target_key = LEVIN_OPTION(target_key, "target", "Name of the targets in a .npz file; empty: none");
  Choice<NpyType> dtype = LEVIN_OPTION(dtype, NpyType::Saved,
                                       "Type of inputs, and of targets that are no class numbers: as saved, or "
                                       "float32, which levin's modules take");
  double divide_by = LEVIN_OPTION(
      divide_by, 0, "With dtype float32, inputs are divided by it; 0: bytes by 255, others by 1", {.min = 0});
  double val_fraction = LEVIN_OPTION(val_fraction, 0, "Share of the training data that is drawn for validation",
                                     {.min = 0, .exclusive_max = 1});
  int64_t split_seed = LEVIN_OPTION(split_seed, 0, "Seed of the samples that val_fraction draws");
  FieldOptions field_options = {};  // its options appear beside these
  std::string group_by_length = LEVIN_OPTION(
      group_by_length, "",
      "Field whose rows have different lengths: training batches are of samples of similar length; needs shuffle");
  LEVIN_LOADER_OPTIONS(32, true);
};

/// Data in .npy and .npz files. Throws levin::UsageError for options that contradict each other.
class Npy : public DatasetModule {
 public:
  using Options = NpyOptions;
  explicit Npy(Options options = {});

  Loaders train_dataloader() override;
  State learned_state() override;
  void load_learned_state(const State& state) override;
  std::optional<RawInput> raw_input() override;

 protected:
  DatasetPtr make_dataset(Split split) override;

 private:
  /// What the training inputs are.
  struct Inputs {
    std::vector<int64_t> sizes = {};  ///< of one sample
    at::ScalarType type = at::kFloat;
    double divisor = 1;
  };
  Inputs describe(const Dataset& saved) const;
  const Inputs& learned();
  /// Returns null if `input` is empty; with `dtype` Float32, its batches are converted. `option` names the option in
  /// messages.
  DatasetPtr open(const std::string& option, const std::string& input, const std::string& target) const;
  DatasetPtr read(const std::string& option, const std::string& input, const std::string& target) const;
  void check_options() const;
  bool has_named_arrays() const;
  DatasetPtr open_named(const TextTable& files, const std::string& option) const;
  DatasetPtr training_part(Split split);

  Options options_;
  DatasetPtr train_ = {};
  std::optional<Inputs> learned_ = {};
};

}  // namespace data
}  // namespace levin
