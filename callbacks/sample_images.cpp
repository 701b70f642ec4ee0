#include <levin/callbacks/sample_images.h>
#include <ATen/core/grad_mode.h>
#include <levin/core/device/rng_guard.h>
#include <levin/core/system/error.h>
#include <levin/data/files/contact_sheet.h>
#include <levin/data/files/image_file.h>
#include <levin/data/remote/output_place.h>
#include <levin/modules/lightning_module.h>

#include <algorithm>
#include <filesystem>
#include <vector>

namespace levin {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> labels_below(const Batch& batch, int64_t images) {
  std::vector<std::string> labels(static_cast<size_t>(images));
  if (batch.is_own() || !batch.contains("target") || batch.is_list("target")) return labels;
  const at::Tensor target = batch.target().cpu();
  if (target.dim() != 1 || target.size(0) < images) return labels;
  for (int64_t i = 0; i < images; ++i)
    labels[static_cast<size_t>(i)] =
        target.is_floating_point() ? c10::str(target[i].item<double>()) : c10::str(target[i].item<int64_t>());
  return labels;
}

}  // namespace

SampleImages::SampleImages(SampleImagesOptions options) : options_(std::move(options)) {
  schema_of<Options>().check(&options_, "SampleImages");
  require_local("SampleImages.output_dir", options_.output_dir);
}

void SampleImages::on_validation_batch_end(Run& run) {
  const bool is_first = run.batch_idx() == 0 && run.dataloader_idx() == 0;
  if (!is_first || !run.fitting() || run.state().stage != Stage::Validate || !run.comm().is_global_zero()) return;
  if (run.state().epoch % options_.every_n_epochs != 0) return;
  const fs::path folder = options_.output_dir.empty() ? run.folder() / "samples" : fs::path(options_.output_dir);
  if (options_.output_dir.empty() && run.folder().empty()) return;
  const at::NoGradGuard no_grad;
  const RngGuard random_numbers;
  const Batch& batch = run.batch();
  const Batch drawn = options_.source == ImageSource::Batch ? batch : run.module().predict_step(batch, 0);
  at::Tensor images = drawn[options_.name].detach().cpu();
  if (!data::can_be_drawn(images))
    throw UsageError("SampleImages: expected images [samples, 1 or 3, height, width], got ", images.scalar_type(), " ",
                     images.sizes(), " as '", options_.name, "' of the ", options_.source.word());
  images = images.narrow(0, 0, std::min(images.size(0), options_.num_samples)).contiguous();
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw UsageError("SampleImages.output_dir: ", folder.string(), ": ", error.message());
  const at::Tensor sheet = data::contact_sheet(images, labels_below(batch, images.size(0)), options_.num_samples);
  data::write_png(folder / ("epoch=" + std::to_string(run.state().epoch) + ".png"), sheet);
  run.log_image("samples", sheet);
}

}  // namespace levin
