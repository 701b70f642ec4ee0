#include <levin/data/datasets/synthetic_digits.h>
#include <levin/data/datasets/digit_glyphs.h>
#include <levin/data/datasets/normalized_images.h>
#include <levin/data/datasets/readers/idx_file.h>

#include <string>
#include <utility>

namespace levin::data {
namespace {

/// Returns the number of a split's images; prediction uses the images of test.
int64_t drawing_of(Split split) {
  switch (split) {
    case Split::Train:
      return 0;
    case Split::Val:
      return 1;
    case Split::Test:
    case Split::Predict:
      return 2;
  }
  return 0;
}

}  // namespace

SyntheticDigits::SyntheticDigits(Options options)
    : DatasetModule("SyntheticDigits", loader_options(options)), options_(std::move(options)) {
  schema_of<Options>().check(&options_, "data");
}

DatasetPtr SyntheticDigits::make_dataset(Split split) {
  const int64_t size = split == Split::Train ? options_.train_size
                       : split == Split::Val ? options_.val_size
                                             : options_.test_size;
  const DrawnDigits digits = draw_digits(size, options_.image_seed, drawing_of(split));
  const at::Tensor images = normalize_bytes(digits.images, learned_.mean.at(0), learned_.stddev.at(0)).unsqueeze_(1);
  return std::make_shared<const TensorDataset>(Batch(images, digits.labels.to(at::kLong)), learned_.class_names);
}

void write_synthetic_mnist(const std::filesystem::path& folder, int64_t train_size, int64_t test_size, bool compressed,
                           int64_t image_seed) {
  std::filesystem::create_directories(folder);
  const std::string ending = compressed ? ".gz" : "";
  const auto write = [&](const std::string& prefix, const DrawnDigits& digits) {
    write_idx(folder / (prefix + "-images-idx3-ubyte" + ending), digits.images);
    write_idx(folder / (prefix + "-labels-idx1-ubyte" + ending), digits.labels);
  };
  write("train", draw_digits(train_size, image_seed, drawing_of(Split::Train)));
  write("t10k", draw_digits(test_size, image_seed, drawing_of(Split::Test)));
}

}  // namespace levin::data
