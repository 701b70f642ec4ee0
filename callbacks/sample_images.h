#pragma once
#include <levin/callbacks/callback.h>
#include <levin/core/options/choice.h>
#include <levin/core/options/option.h>

#include <string>

namespace levin {

/// Where images come from: predict_step's output, or the batch.
enum class ImageSource : uint8_t { PredictStep, Batch };
template <>
inline constexpr auto kWords<ImageSource> =
    words_of<ImageSource>({{"predict_step", ImageSource::PredictStep}, {"batch", ImageSource::Batch}});

struct SampleImagesOptions {
  int64_t num_samples = LEVIN_OPTION(num_samples, 16, "Images of a picture", {.min = 1, .max = 1024});
  int64_t every_n_epochs = LEVIN_OPTION(every_n_epochs, 1, "Draw every n epochs", {.min = 1});
  Choice<ImageSource> source =
      LEVIN_OPTION(source, ImageSource::PredictStep,
                   "Draw what predict_step makes of the first validation batch, or that batch itself");
  std::string name = LEVIN_OPTION(name, "input", "Which tensor of the prediction or batch holds the images");
  std::string output_dir = LEVIN_OPTION(output_dir, "", "Folder of the pictures; empty: samples in the run's folder");
};

/// Draws the first validation batch of an epoch into the PNG file `epoch=<epoch>.png`, and logs it as the image
/// `samples` (TensorBoard). The target stands below each image if the batch has one number per sample.
///
/// The images are uint8, bool or floating point, [samples, 1 or 3, height, width]; of floating-point ones the least
/// value of all is black and the greatest white. Rank 0 draws. Random numbers that predict_step draws do not count for
/// the training.
class SampleImages : public Callback {
 public:
  using Options = SampleImagesOptions;

  SampleImages() = default;
  /// Throws UsageError for bad options.
  explicit SampleImages(SampleImagesOptions options);
  /// Throws UsageError if the tensor cannot be drawn, and if the file cannot be written.
  void on_validation_batch_end(Run& run) override;

 private:
  SampleImagesOptions options_ = {};
};

}  // namespace levin
