#include <levin/modules/images/unet.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/one_hot.h>
#include <levin/core/run/run.h>
#include <levin/core/system/error.h>
#include <levin/data/ignored_target.h>
#include <levin/modules/nn/class_layout.h>
#include <levin/modules/nn/class_loss.h>
#include <levin/modules/nn/configured_optimizer.h>
#include <levin/modules/nn/metric_of_loader.h>
#include <levin/modules/transformers/data_classes.h>

#include <utility>

namespace levin::nn {
namespace {

constexpr const char* kMorePixelClasses = "set model.num_classes, or data.ignore_index to a class that does not count";

/// Returns 1 minus the mean over the classes of twice what probabilities and target share, divided by their sum, of the
/// pixels of all images that count. Source: Milletari et al. 2016, "V-Net", equation 3, with sums in place of sums of
/// squares and 1 added to both, which a class that does not occur needs.
at::Tensor dice_loss(const at::Tensor& logits, const at::Tensor& target) {
  constexpr double kSmooth = 1;
  const at::Tensor counts = target.ne(kIgnoredTarget);
  const at::Tensor classes = target.masked_fill(counts.logical_not(), 0);
  const at::Tensor counted = counts.unsqueeze(1).to(logits.scalar_type());
  const at::Tensor wanted =
      at::one_hot(classes, logits.size(1)).permute({0, 3, 1, 2}).to(logits.scalar_type()) * counted;
  const at::Tensor found = logits.softmax(1) * counted;
  const at::Tensor shared = (found * wanted).sum({0, 2, 3}), both = (found + wanted).sum({0, 2, 3});
  return 1 - ((2 * shared + kSmooth) / (both + kSmooth)).mean();
}

}  // namespace

UNet::UNet(Options options_) : options(std::move(options_)) {
  schema_of<Options>().check(&options, "model");
  save_hyperparameters(options);
  net = register_module("net", UNetNetwork(UNetShape{.in_channels = options.in_channels,
                                                     .num_classes = options.num_classes,
                                                     .base_channels = options.base_channels,
                                                     .depth = options.depth,
                                                     .batch_norm = options.batch_norm}));
  load_initial_weights(*this, options.initial);
  named_metrics_.set(*this, "UNet", options.measured, {"loss", "iou", "dice", "acc"});
  named_metrics_.use(
      {.learned = metrics::Learned::Segmentation, .columns = options.num_classes, .ignore_index = kIgnoredTarget});
}

at::Tensor UNet::forward(const at::Tensor& images) {
  const int64_t least = int64_t{1} << options.depth;
  const bool fits = images.dim() == 4 && images.size(1) == options.in_channels && images.is_floating_point();
  if (!fits)
    throw UsageError("UNet: takes images [batch, ", options.in_channels, ", height, width] of floating point, got ",
                     images.scalar_type(), " ", images.sizes(),
                     "; set model.in_channels to the channels of the images");
  if (images.size(2) < least || images.size(3) < least)
    throw UsageError("UNet: the images are ", images.size(3), " x ", images.size(2), " pixels, and halving them ",
                     options.depth, " times needs at least ", least, " x ", least, "; set model.depth to less");
  return net->forward(images);
}

at::Tensor UNet::loss(const at::Tensor& logits, const at::Tensor& target) const {
  const at::Tensor entropy = counted_cross_entropy_of(logits, target, kMorePixelClasses);
  return options.dice_weight > 0 ? entropy + options.dice_weight * dice_loss(logits, target) : entropy;
}

StepOutput UNet::training_step(const Batch& batch, int64_t /*batch_idx*/) {
  const at::Tensor logits = forward(batch.input());
  at::Tensor value = loss(logits, batch.target());
  log("train_loss", value, {.prog_bar = true});
  named_metrics_.log("train", logits, batch.target());
  return weighed_by_targets(*this, value, batch.target());
}

void UNet::validation_step(const Batch& batch, int64_t /*batch_idx*/) { evaluate(batch, "val", val_); }

void UNet::test_step(const Batch& batch, int64_t /*batch_idx*/) { evaluate(batch, "test", test_); }

void UNet::evaluate(const Batch& batch, const std::string& stage, Metrics& metrics) {
  const at::Tensor logits = forward(batch.input());
  const at::Tensor& target = batch.target();
  auto& iou = metric_of_loader(
      metrics.iou, dataloader_idx(),
      metrics::JaccardIndexOptions{
          .task = metrics::TaskKind::Multiclass, .num_classes = options.num_classes, .ignore_index = kIgnoredTarget});
  auto& dice = metric_of_loader(metrics.dice, dataloader_idx(),
                                metrics::DiceScoreOptions{.num_classes = options.num_classes,
                                                          .aggregation_level = metrics::AggregationLevel::Global,
                                                          .input_format = metrics::SegmentationFormat::Index});
  const at::Tensor found = logits.argmax(1);
  iou.update(found, target);
  // An index that is no class belongs to none.
  dice.update(found.masked_fill(target.eq(kIgnoredTarget), kIgnoredTarget), target);
  log(stage + "_iou", iou, {.prog_bar = true});
  log(stage + "_dice", dice);
  const ClassHits hits = count_class_hits(logits, target, /*has_ignored=*/true);
  if (hits.counted > 0) {
    log(stage + "_loss", loss(logits, target), {.batch_size = hits.counted});
    log(stage + "_acc", hits.share, {.batch_size = hits.counted});
  }
  named_metrics_.log(stage, logits, target);
}

Batch UNet::predict_step(const Batch& batch, int64_t /*batch_idx*/) { return Batch(forward(batch.input()).argmax(1)); }

std::map<std::string, BatchFunction> UNet::export_functions() {
  return {{"forward", [this](const Batch& batch) { return Batch(forward(batch.input())); }}};
}

OptimizerConfig UNet::configure_optimizers() {
  return configured_optimizer(options.optimizer, options.lr_scheduler, *this, options.groups);
}

void UNet::on_fit_start(Run& run) {
  const size_t named = classes_of_data(run.data_module()).size();
  if (named > 0 && static_cast<int64_t>(named) != options.num_classes)
    throw UsageError("model.num_classes: is ", options.num_classes, ", and the data have ", named,
                     " classes; set it to ", named);
}

}  // namespace levin::nn
