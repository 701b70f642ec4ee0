#pragma once
#include <levin/data/data_module.h>
#include <levin/data/datasets/readers/field_options.h>
#include <levin/data/datasets/readers/shard_options.h>
#include <levin/data/datasets/readers/tar_decoder.h>
#include <levin/data/iterable_dataset.h>
#include <levin/data/loader_options.h>
#include <levin/data/transforms/registry.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace levin::data {

class ShardList;

struct TarDatasetOptions {
  /// How the members of a sample are decoded; these options appear beside the others, without a prefix.
  TarDecoderOptions members = {};
  /// What becomes of the fields in batches, in the same way.
  FieldOptions field_options = {};
  /// How shards are divided and fetched, in the same way.
  ShardOptions shard_options = {};
  int64_t shuffle_buffer =
      LEVIN_OPTION(shuffle_buffer, 0,
                   "With shuffle, draw from a buffer of n samples; 0: draw only the order of the files", {.min = 0});
  std::vector<std::string> class_names = LEVIN_OPTION(class_names, {}, "What the numbers in `target` mean");
  /// Changes each sample alone, as a batch of one, before samples are batched; in C++ only.
  TransformPtr transform = {};
};

/// Samples in tar files (shards), plain or gzip, read sequentially: for data larger than memory. Consecutive members
/// `key.ext` with the same key make a sample: `7.jpg`, `7.cls`.
///
/// TarDecoder describes how members are decoded; masks become `target`, int64 [samples, height, width], after the
/// transform has moved them with their images. Files are mapped into memory; an uncompressed file is read without a
/// copy except the one into the batch. Files at URLs are fetched ahead into a cache that the processes of a machine
/// share, and give the same samples in the same order. Ranks take whole files or, if there are fewer files than ranks
/// or `ranks_take` says so, single samples. A resumed loader continues at its byte offset; a gzip file is read again up
/// to there. Broken data throws levin::UsageError that names file, byte and member. Source: the WebDataset convention,
/// https://github.com/webdataset/webdataset.
class TarDataset final : public IterableDataset {
 public:
  using Options = TarDatasetOptions;
  /// `shards` are names, patterns, URLs or indices; see find_tar_shards, also for the errors and for `option`.
  explicit TarDataset(const std::vector<std::string>& shards, Options options = {},
                      const std::string& option = "data.shards");

  std::unique_ptr<SampleStream> open(const StreamOptions& options) const override;
  bool divides_among_ranks() const override;
  void make_batch(std::vector<Batch> samples, std::vector<Rng>& rngs, Batch& out) const override;
  std::vector<std::string> class_names() const override { return options_.class_names; }
  /// Returns the length of a field of a sample that a stream gave; see TarDecoder::length_of.
  int64_t length_of(const Batch& sample, const std::string& field, const std::string& option) const {
    return decoder_.length_of(sample.as<TarSample>(), field, option);
  }

 private:
  TarDecoder::Values values_of(const TarSample& sample, Rng& rng) const;
  TarDecoder::Values transformed(const TarDecoder::Values& values, Rng& rng) const;
  at::Tensor batch_of(const std::vector<TarDecoder::Values>& values, size_t item,
                      const std::vector<const MappedFile*>& files, Batch& out) const;
  void convert(Batch& batch) const;

  std::shared_ptr<ShardList> shards_;
  Options options_;
  TarDecoder decoder_;
  std::map<std::string, at::ScalarType> types_;
};

struct TarOptions {
  std::vector<std::string> shards =
      LEVIN_OPTION(shards, {},
                   "Training files, by name or pattern: train-{000..009}.tar, train/*.tar.gz; also URLs "
                   "(https, s3, gs), and an index of names (.txt, .json)");
  std::vector<std::string> val_shards = LEVIN_OPTION(val_shards, {}, "Validation files; empty: none");
  std::vector<std::string> test_shards = LEVIN_OPTION(test_shards, {}, "Files for test and predict; empty: none");
  TarDatasetOptions samples = {};
  std::string group_by_length = LEVIN_OPTION(
      group_by_length, "",
      "Field whose rows have different lengths: training batches are of samples of similar length; needs shuffle");
  std::vector<ClassChoice<TransformKind>> transforms =
      LEVIN_OPTION(transforms, {}, "Changes to each training sample before samples are put together");
  std::vector<ClassChoice<TransformKind>> val_transforms =
      LEVIN_OPTION(val_transforms, {}, "Changes to each sample for validation, test and predict");
  LEVIN_LOADER_OPTIONS(32, true);
};

/// Data in tar files.
class Tar : public DataModule {
 public:
  using Options = TarOptions;
  /// Throws levin::UsageError for invalid options.
  explicit Tar(Options options = {});

  void setup(Stage stage) override;
  Loaders train_dataloader() override;
  Loaders val_dataloader() override;
  Loaders test_dataloader() override;
  Loaders predict_dataloader() override;
  std::optional<int64_t> batch_size() const override { return options_.batch_size; }
  void set_batch_size(int64_t batch_size) override { options_.batch_size = checked_batch_size(batch_size); }

  const std::vector<std::string>& class_names() const { return options_.samples.class_names; }

 private:
  using DatasetPointer = std::shared_ptr<const TarDataset>;
  DatasetPointer make(const std::vector<std::string>& shards, const char* option, const TransformPtr& transform,
                      bool needs_target = true) const;
  Loaders evaluation_loader(const DatasetPointer& dataset) const;

  Options options_;
  TransformPtr transform_, val_transform_;
  DatasetPointer train_ = {}, val_ = {}, test_ = {}, predict_ = {};
};

}  // namespace levin::data
