#include <levin/modules/nn/image_classifier.h>
#include <levin/core/system/error.h>
#include <levin/modules/nn/configured_optimizer.h>

#include <c10/util/accumulate.h>

namespace levin::nn {
namespace {

constexpr const char* kMoreImageClasses = "set model.num_classes";

/// Returns whether the net accepts the images: resnet18 any height and width, mlp any shape with the same number of
/// elements.
bool fits(const at::Tensor& images, const ImageClassifierOptions& options) {
  const at::IntArrayRef wanted = options.image_shape;
  if (images.dim() < 2) return false;
  const at::IntArrayRef given = images.sizes().slice(1);
  if (options.net == NamedNet::ResNet18) return given.size() == 3 && given[0] == wanted[0];
  if (options.net == NamedNet::LeNet) return given == wanted;
  return c10::multiply_integers(given) == c10::multiply_integers(wanted);
}

}  // namespace

ImageClassifier::ImageClassifier(Options options_) : options(std::move(options_)) {
  schema_of<Options>().check(&options, "model");
  save_hyperparameters(options);
  net = make_net(options.net, {.hidden = options.hidden,
                               .image_shape = options.image_shape,
                               .num_classes = options.num_classes,
                               .small_input = options.small_input});
  register_module("net", net.module);
  load_initial_weights(*this, options.initial);
  named_metrics_.set(*this, "ImageClassifier", options.measured, {"loss", "acc", "mae"});
  named_metrics_.use(options.problem.task(options.num_classes));
}

at::Tensor ImageClassifier::forward(const at::Tensor& images) {
  if (!fits(images, options))
    throw UsageError("model.image_shape: the model takes images of ", at::IntArrayRef(options.image_shape),
                     ", the batch has ", images.sizes(), "; set model.image_shape to the shape of one image");
  return net.forward(images);
}

StepOutput ImageClassifier::training_step(const Batch& batch, int64_t /*batch_idx*/) {
  const at::Tensor logits = forward(batch.input());
  at::Tensor loss = options.problem.loss(logits, batch.target(), kMoreImageClasses);
  log("train_loss", loss, {.prog_bar = true});
  options.problem.log_named(named_metrics_, "train", logits, batch.target());
  return loss;
}

void ImageClassifier::validation_step(const Batch& batch, int64_t /*batch_idx*/) { evaluate(batch, "val"); }

void ImageClassifier::test_step(const Batch& batch, int64_t /*batch_idx*/) { evaluate(batch, "test"); }

void ImageClassifier::evaluate(const Batch& batch, const std::string& stage) {
  const at::Tensor logits = forward(batch.input());
  log(stage + "_loss", options.problem.loss(logits, batch.target(), kMoreImageClasses));
  options.problem.log_scores(*this, named_metrics_, stage, logits, batch.target());
}

Batch ImageClassifier::predict_step(const Batch& batch, int64_t /*batch_idx*/) {
  return Batch(options.problem.predicted(forward(batch.input())));
}

std::map<std::string, BatchFunction> ImageClassifier::export_functions() {
  return {{"forward", [this](const Batch& batch) { return Batch(forward(batch.input())); }}};
}

OptimizerConfig ImageClassifier::configure_optimizers() {
  return configured_optimizer(options.optimizer, options.lr_scheduler, *this, options.groups);
}

}  // namespace levin::nn
