#pragma once
#include <levin/data/dataset_module.h>
#include <levin/data/datasets/normalized_images.h>
#include <levin/data/download/public_file.h>
#include <levin/data/loader_options.h>
#include <levin/data/transforms/registry.h>

#include <array>
#include <string>
#include <vector>

namespace levin::data {

struct MNISTOptions {
  std::string root = LEVIN_OPTION(root, "mnist", "Folder with the four idx files, plain or gzip");
  bool download = LEVIN_OPTION(download, false, "Download files that are missing into root");
  std::string url = LEVIN_OPTION(url, "https://ossci-datasets.s3.amazonaws.com/mnist/", "Where the gzip files are");
  std::vector<ClassChoice<TransformKind>> transforms =
      LEVIN_OPTION(transforms, {}, "Changes to training images, uint8, before they are normalised");
  std::vector<ClassChoice<TransformKind>> batch_transforms =
      LEVIN_OPTION(batch_transforms, {}, "Changes to whole training batches after that, such as mixup");
  LEVIN_LOADER_OPTIONS(32, true);
};

struct FashionMNISTOptions {
  std::string root = LEVIN_OPTION(root, "fashion_mnist", "Folder with the four idx files, plain or gzip");
  bool download = LEVIN_OPTION(download, false, "Download files that are missing into root");
  std::string url =
      LEVIN_OPTION(url, "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/", "Where the gzip files are");
  std::vector<ClassChoice<TransformKind>> transforms =
      LEVIN_OPTION(transforms, {}, "Changes to training images, uint8, before they are normalised");
  std::vector<ClassChoice<TransformKind>> batch_transforms =
      LEVIN_OPTION(batch_transforms, {}, "Changes to whole training batches after that, such as mixup");
  LEVIN_LOADER_OPTIONS(32, true);
};

/// The base of MNIST and FashionMNIST: images and labels from MNIST's four files.
///
/// Inputs are float32 [samples, 1, height, width], `((x / 255) - mean) / stddev`; targets int64 [samples]. Training
/// uses the train files; validation, test and prediction use the t10k files. Each file is read once. With transforms,
/// the training images are kept as bytes; floating-point images that transforms return are normalised as from 0 to 1.
/// Throws levin::UsageError that names the missing or broken file.
class IdxImages : public DatasetModule {
 public:
  /// Downloads files that are in neither root nor the cache folder, if `download` is set. Throws levin::Error.
  void prepare_data() override;

  State learned_state() override { return learned().state_dict(); }
  void load_learned_state(const State& state) override;
  std::optional<RawInput> raw_input() override { return learned().raw_input(1, 28, 28); }

 protected:
  /// The properties of one set of images.
  struct Source {
    std::string class_name;  ///< class name of the data module
    std::string cache_name;  ///< name of the subfolder in the cache folder, which is also searched
    double mean, stddev;
    std::vector<std::string> class_names;
    /// Images and labels of train, then of t10k: -images-idx3-ubyte.gz and -labels-idx1-ubyte.gz.
    std::array<PublicFile, 4> files;
  };
  template <class Options>
  IdxImages(const Options& options, Source source)
      : IdxImages(std::move(source), options.root, options.download ? options.url : "", loader_options(options),
                  make_transforms(options.transforms, "data.transforms"),
                  make_transforms(options.batch_transforms, "data.batch_transforms")) {
    schema_of<Options>().check(&options, "data");
    refuse_normalizing(options.transforms, "data.transforms", source_.class_name);
  }

  DatasetPtr make_dataset(Split split) override;

 private:
  /// An empty `url`: no download.
  IdxImages(Source source, std::string root, std::string url, DataLoaderOptions train, TransformPtr transform,
            TransformPtr batch_transform);
  DatasetPtr read(const std::string& prefix, bool training) const;
  LearnedImages learned() const;

  Source source_;
  std::string root_, url_;
  TransformPtr transform_, batch_transform_;
  DatasetPtr evaluation_ = {};
};

/// Handwritten digits (LeCun, Cortes, Burges), mean 0.1307 and standard deviation 0.3081.
class MNIST : public IdxImages {
 public:
  using Options = MNISTOptions;
  explicit MNIST(Options options = {});
};

/// Articles of clothing (Xiao, Rasul, Vollgraf 2017), mean 0.2860 and standard deviation 0.3530.
class FashionMNIST : public IdxImages {
 public:
  using Options = FashionMNISTOptions;
  explicit FashionMNIST(Options options = {});
};

}  // namespace levin::data
