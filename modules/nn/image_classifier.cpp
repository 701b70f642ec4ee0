#include <levin/modules/nn/image_classifier.h>
#include <ATen/ops/cross_entropy_loss.h>

namespace levin::nn {

ImageClassifier::ImageClassifier(Options options_) : options(std::move(options_)) {
  schema_of<Options>().check(&options, "model");
  save_hyperparameters(options);
  net = make_net(options.net, {.hidden = options.hidden,
                               .image_shape = options.image_shape,
                               .num_classes = options.num_classes,
                               .small_input = options.small_input});
  register_module("net", net.module);
  load_initial_weights(*this, options.initial);
}

StepOutput ImageClassifier::training_step(const Batch& batch, int64_t /*batch_idx*/) {
  at::Tensor loss = at::cross_entropy_loss(forward(batch.input()), batch.target());
  log("train_loss", loss, {.prog_bar = true});
  return loss;
}

void ImageClassifier::validation_step(const Batch& batch, int64_t /*batch_idx*/, int64_t /*dataloader_idx*/) {
  evaluate(batch, "val");
}

void ImageClassifier::test_step(const Batch& batch, int64_t /*batch_idx*/, int64_t /*dataloader_idx*/) {
  evaluate(batch, "test");
}

void ImageClassifier::evaluate(const Batch& batch, const std::string& stage) {
  const at::Tensor logits = forward(batch.input());
  log(stage + "_loss", at::cross_entropy_loss(logits, batch.target()));
  log(stage + "_acc", logits.argmax(1).eq(batch.target()).to(at::kFloat).mean(), {.prog_bar = true});
}

Batch ImageClassifier::predict_step(const Batch& batch, int64_t /*batch_idx*/, int64_t /*dataloader_idx*/) {
  return Batch(forward(batch.input()).softmax(1));
}

OptimizerConfig ImageClassifier::configure_optimizers() {
  auto optimizer = optim::make_optimizer(options.optimizer, "model.optimizer", parameters());
  if (!options.lr_scheduler) return optimizer;
  return {std::move(optimizer), options.lr_scheduler.make("model.lr_scheduler")};
}

}  // namespace levin::nn
