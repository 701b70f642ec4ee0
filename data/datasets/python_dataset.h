#pragma once
#include <levin/core/options/json_object.h>
#include <levin/data/data_module.h>
#include <levin/data/dataset_module.h>
#include <levin/data/loader_options.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace levin::data {

class PythonHost;
struct PythonCall;
struct PythonData;

struct PythonDatasetOptions {
  std::string file = LEVIN_OPTION(file, "", "Python file, which is run: give only files that you trust");
  std::string function =
      LEVIN_OPTION(function, "make_dataset",
                   "Function or class in it: returns a data set, a torch DataLoader or a LightningDataModule. With a "
                   "parameter `split` it is called for train, val, test and predict; with `rank` and `world_size` it "
                   "divides the data itself");
  std::string val_function =
      LEVIN_OPTION(val_function, "", "Function for validation; empty: `function`, if that says what is validated");
  std::string test_function = LEVIN_OPTION(test_function, "", "Function for test; empty: as for validation");
  std::string predict_function = LEVIN_OPTION(predict_function, "", "Function for predict; empty: as for validation");
  JsonObject arguments = LEVIN_OPTION(arguments, JsonObject(), "Arguments of the functions, by name");
  std::vector<std::string> fields =
      LEVIN_OPTION(fields, {}, "Names of the parts of samples that are tuples; empty: input, target");
  std::string python =
      LEVIN_OPTION(python, "", "Python interpreter; empty: the one whose torch has LibTorch, or python3");
  int64_t worker_restarts =
      LEVIN_OPTION(worker_restarts, 1, "How often a Python process that has died is replaced in a run", {.min = 0});
  LEVIN_LOADER_OPTIONS(32, true);
};

/// Data of a user's Python file: a data set with `__len__` and `__getitem__`, an iterable, a torch DataLoader, whose
/// batches are taken as they are, or a LightningDataModule.
///
/// Processes of the named interpreter load the data, and hand batches over in shared memory; levin itself contains no
/// Python. They run the user's file, with the user's rights. docs/python_data.md describes what the file may return and
/// what its samples become.
class PythonDataset : public DataModule {
 public:
  using Options = PythonDatasetOptions;
  /// Throws levin::UsageError for invalid options.
  explicit PythonDataset(Options options = {});

  /// Calls the function, which may download, and `prepare_data` of a LightningDataModule.
  void prepare_data() override;
  /// Throws levin::UsageError with Python's traceback for a function that raises, and for what levin cannot take.
  void setup(Stage stage) override;
  Loaders train_dataloader() override { return loader(Split::Train); }
  Loaders val_dataloader() override { return loader(Split::Val); }
  Loaders test_dataloader() override { return loader(Split::Test); }
  Loaders predict_dataloader() override { return loader(Split::Predict); }
  std::optional<int64_t> batch_size() const override { return options_.batch_size; }
  void set_batch_size(int64_t batch_size) override { options_.batch_size = checked_batch_size(batch_size); }

 private:
  PythonHost& host();
  PythonCall call_for(Split split) const;
  Loaders loader(Split split);
  std::unique_ptr<Loader> make_loader(Split split, const PythonData& data, std::optional<int64_t> rank) const;

  Options options_;
  std::shared_ptr<PythonHost> host_ = {};
  Stage stage_ = Stage::Fit;
  /// By split: what is there once the functions are called. Data that differ between ranks are made by their loader.
  std::array<std::shared_ptr<const PythonData>, 4> data_ = {};
};

}  // namespace levin::data
