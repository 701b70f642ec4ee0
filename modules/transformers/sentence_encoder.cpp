#include <levin/modules/transformers/sentence_encoder.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cosine_similarity.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mse_loss.h>
#include <levin/core/system/error.h>
#include <levin/data/remote/local_path.h>

#include <utility>

namespace levin::nn {
namespace {

at::Tensor of_length_one(const at::Tensor& vectors) {
  return vectors / at::linalg_vector_norm(vectors, 2, at::IntArrayRef({1}), /*keepdim=*/true).clamp_min(1e-12);
}

}  // namespace

SentenceEncoder::SentenceEncoder(Options options_) : EncoderModule("SentenceEncoder"), options(std::move(options_)) {
  schema_of<Options>().check(&options, "model");
  save_hyperparameters(options);
  const Folder folder = open(options.encoder);
  pooling_ = read_pooling(local_folder(options.encoder.folder));
  if (options.pooling != PoolingKind::Auto) pooling_.kind = options.pooling;
  if (options.normalize) pooling_.normalizes = *options.normalize;
  load(folder, {.keeps_rest = true});
}

at::Tensor SentenceEncoder::forward(const at::Tensor& tokens, const EncoderInputs& inputs) {
  return pooled(encoder->forward(tokens, inputs), inputs.attention_mask, pooling_);
}

at::Tensor SentenceEncoder::vectors_of(const Batch& batch, const std::string& prefix) {
  const std::string mask = prefix + "attention_mask";
  return pooled(hidden_of(batch, prefix), batch.contains(mask) ? batch[mask] : at::Tensor(), pooling_);
}

SentenceEncoder::Result SentenceEncoder::result_of(const Batch& batch) {
  if (!batch.contains("second_input"))
    throw UsageError(
        "data: SentenceEncoder learns from pairs of texts, and the batch has no second_input; the data "
        "module TextPairs makes such batches");
  const bool has_scores = batch.contains("target");
  const bool is_cosine = options.loss == SentenceLoss::Cosine || (options.loss == SentenceLoss::Auto && has_scores);
  if (is_cosine && !has_scores)
    throw UsageError(
        "model.loss: cosine needs scores, and the batch has none; set data.score_field, or the loss to "
        "in_batch_negatives");
  const at::Tensor first = vectors_of(batch), second = vectors_of(batch, "second_");
  if (is_cosine) {
    const at::Tensor cosine = at::cosine_similarity(first, second, 1, 1e-8);
    const at::Tensor wide = cosine.scalar_type() == at::kDouble ? cosine : cosine.to(at::kFloat);
    if (batch.target().sizes() != wide.sizes())
      throw UsageError("data: expected a score for each pair, ", wide.sizes(), ", got ", batch.target().sizes());
    return {.loss = at::mse_loss(wide, batch.target().to(wide.scalar_type()))};
  }
  const at::Tensor scores = at::matmul(of_length_one(first), of_length_one(second).t()) * options.scale;
  const at::Tensor wide = scores.scalar_type() == at::kDouble ? scores : scores.to(at::kFloat);
  const at::Tensor own = at::arange(wide.size(0), at::TensorOptions().dtype(at::kLong).device(wide.device()));
  return {.loss = at::cross_entropy_loss(wide, own), .accuracy = wide.detach().argmax(1).eq(own).to(at::kFloat).mean()};
}

at::Tensor SentenceEncoder::loss(const Batch& batch) { return result_of(batch).loss; }

StepOutput SentenceEncoder::training_step(const Batch& batch, int64_t /*batch_idx*/) {
  at::Tensor value = loss(batch);
  log("train_loss", value, {.prog_bar = true});
  return value;
}

void SentenceEncoder::validation_step(const Batch& batch, int64_t /*batch_idx*/) { evaluate(batch, "val"); }

void SentenceEncoder::test_step(const Batch& batch, int64_t /*batch_idx*/) { evaluate(batch, "test"); }

void SentenceEncoder::evaluate(const Batch& batch, const std::string& stage) {
  const Result result = result_of(batch);
  log(stage + "_loss", result.loss, {.prog_bar = true});
  if (result.accuracy.defined()) log(stage + "_acc", result.accuracy, {.prog_bar = true});
}

Batch SentenceEncoder::predict_step(const Batch& batch, int64_t /*batch_idx*/) {
  Batch vectors(vectors_of(batch).to(at::kFloat));
  if (batch.contains("second_input")) vectors.set("second", vectors_of(batch, "second_").to(at::kFloat));
  return vectors;
}

std::map<std::string, BatchFunction> SentenceEncoder::export_functions() {
  return {{"forward", [this](const Batch& batch) { return Batch(vectors_of(batch)); }}};
}

void SentenceEncoder::add_files(PretrainedFiles& files) const {
  files.texts = pooling_files(pooling_, config().hidden);
}

}  // namespace levin::nn
