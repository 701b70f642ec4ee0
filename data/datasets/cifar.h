#pragma once
#include <levin/data/dataset_module.h>
#include <levin/data/datasets/normalized_images.h>
#include <levin/data/datasets/readers/cifar_dataset.h>
#include <levin/data/download/public_file.h>
#include <levin/data/loader_options.h>
#include <levin/data/transforms/registry.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace levin::data {

struct CIFAR10Options {
  std::string root = LEVIN_OPTION(root, "cifar10", "Folder with the binary files, or with cifar-10-batches-bin");
  bool download = LEVIN_OPTION(download, false, "Download files that are missing into root");
  std::string url = LEVIN_OPTION(url, "https://www.cs.toronto.edu/~kriz/", "Where cifar-10-binary.tar.gz is");
  std::vector<ClassChoice<TransformKind>> transforms =
      LEVIN_OPTION(transforms, {}, "Changes to training images, uint8, before they are normalised");
  std::vector<ClassChoice<TransformKind>> batch_transforms =
      LEVIN_OPTION(batch_transforms, {}, "Changes to whole training batches after that, such as mixup");
  LEVIN_LOADER_OPTIONS(128, true);
};

struct CIFAR100Options {
  std::string root = LEVIN_OPTION(root, "cifar100", "Folder with the binary files, or with cifar-100-binary");
  bool coarse = LEVIN_OPTION(coarse, false, "Targets are the 20 coarse classes instead of the 100 fine ones");
  bool download = LEVIN_OPTION(download, false, "Download files that are missing into root");
  std::string url = LEVIN_OPTION(url, "https://www.cs.toronto.edu/~kriz/", "Where cifar-100-binary.tar.gz is");
  std::vector<ClassChoice<TransformKind>> transforms =
      LEVIN_OPTION(transforms, {}, "Changes to training images, uint8, before they are normalised");
  std::vector<ClassChoice<TransformKind>> batch_transforms =
      LEVIN_OPTION(batch_transforms, {}, "Changes to whole training batches after that, such as mixup");
  LEVIN_LOADER_OPTIONS(128, true);
};

/// The base of the CIFAR data modules. Inputs are float32 [samples, 3, 32, 32], `((x / 255) - mean) / stddev`.
///
/// Validation, test and prediction use the test images. Images are kept as bytes. Floating-point images that transforms
/// return are normalised as from 0 to 1. Files are searched in root, then in the cache folder; in each also in a
/// subfolder named like the archive's folder.
class CIFARModule : public DatasetModule {
 public:
  /// Downloads and unpacks missing files if `download` is set. Throws levin::Error.
  void prepare_data() override;

  /// Throws levin::UsageError if the files are not there, which name the classes.
  State learned_state() override;
  void load_learned_state(const State& state) override;
  std::optional<RawInput> raw_input() override;

 protected:
  /// The properties of one CIFAR set.
  struct Source {
    std::string class_name;  ///< class name of the data module
    std::string cache_name;  ///< name of the subfolder in the cache folder
    std::string folder;      ///< name of the folder in the archive
    std::vector<std::string> files;
    std::string names_file;  ///< lists the classes; a folder may lack it
    std::vector<double> mean, stddev;
    PublicFile archive;
  };
  template <class Options>
  CIFARModule(const Options& options, Source source)
      : CIFARModule(std::move(source), options.root, options.download ? options.url : "", loader_options(options),
                    make_transforms(options.transforms, "data.transforms"),
                    make_transforms(options.batch_transforms, "data.batch_transforms")) {
    schema_of<Options>().check(&options, "data");
    refuse_normalizing(options.transforms, "data.transforms", source_.class_name);
  }

  virtual std::unique_ptr<const CIFARDataset> read(const std::filesystem::path& folder, bool train) const = 0;
  DatasetPtr make_dataset(Split split) override;

 private:
  /// An empty `url`: no download.
  CIFARModule(Source source, const std::string& root, std::string url, DataLoaderOptions train, TransformPtr transform,
              TransformPtr batch_transform);
  /// Returns the first folder that has all files; empty if there is none.
  std::filesystem::path find_folder() const;
  /// Throws levin::UsageError if there is none.
  std::filesystem::path folder() const;
  DatasetPtr training_images(const CIFARDataset& bytes) const;

  Source source_;
  std::filesystem::path root_;
  std::string url_;
  TransformPtr transform_, batch_transform_;
  DatasetPtr evaluation_ = {};
  std::optional<std::vector<std::string>> loaded_names_ = {};
};

/// Colour images of 10 classes, 50,000 for training and 10,000 for test (Krizhevsky 2009).
class CIFAR10 : public CIFARModule {
 public:
  using Options = CIFAR10Options;
  explicit CIFAR10(Options options = {});

 protected:
  std::unique_ptr<const CIFARDataset> read(const std::filesystem::path& folder, bool train) const override;
};

/// Colour images of 100 classes in 20 groups, 50,000 for training and 10,000 for test (Krizhevsky 2009).
class CIFAR100 : public CIFARModule {
 public:
  using Options = CIFAR100Options;
  explicit CIFAR100(Options options = {});

 protected:
  std::unique_ptr<const CIFARDataset> read(const std::filesystem::path& folder, bool train) const override;

 private:
  bool coarse_;
};

}  // namespace levin::data
