#include <levin/modules/nn/tabular.h>
#include <ATen/ops/cat.h>
#include <levin/core/run/run.h>
#include <levin/core/system/error.h>
#include <levin/data/data_module.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>

#include <algorithm>

namespace levin::nn {
namespace {

using torch::nn::BatchNorm1d;
using torch::nn::Dropout;
using torch::nn::Embedding;
using torch::nn::EmbeddingImpl;
using torch::nn::Linear;
using torch::nn::ReLU;

constexpr int64_t kWidestEmbedding = 50;

int64_t embedding_width(const TabularNetOptions& options, int64_t size) {
  return options.embedding > 0 ? options.embedding : std::min(kWidestEmbedding, (size + 1) / 2);
}

std::string found_in(const Batch& batch, const char* name) {
  return batch.contains(name) ? c10::str("it is ", batch[name].sizes()) : "there is none";
}

}  // namespace

TabularNet::TabularNet(const TabularNetOptions& options, int64_t outputs)
    : features_(*options.features), categories_(static_cast<int64_t>(options.category_sizes.size())) {
  int64_t width = features_;
  for (const int64_t size : options.category_sizes) {
    embeddings_->push_back(Embedding(size, embedding_width(options, size)));
    width += embedding_width(options, size);
  }
  if (width == 0) throw UsageError("model.features: 0, and category_sizes is empty: there is nothing to predict from");
  for (const int64_t units : options.hidden) {
    layers_->push_back(Linear(width, units));
    if (options.batch_norm) layers_->push_back(BatchNorm1d(units));
    layers_->push_back(ReLU());
    if (options.dropout > 0) layers_->push_back(Dropout(options.dropout));
    width = units;
  }
  layers_->push_back(Linear(width, outputs));
  register_module("embeddings", embeddings_);
  register_module("layers", layers_);
}

void TabularNet::check(const Batch& batch) const {
  const auto has_columns = [&](const char* name, int64_t columns) {
    return batch.contains(name) && batch[name].dim() == 2 && batch[name].size(1) == columns;
  };
  if (features_ > 0 ? !has_columns("input", features_) : batch.contains("input"))
    throw UsageError("model.features: the model takes `input` with ", features_, " numbers of each sample; ",
                     found_in(batch, "input"), "; set model.features to what the data have, or leave it unset");
  if (categories_ > 0 ? !has_columns("category", categories_) : batch.contains("category"))
    throw UsageError("model.category_sizes: the model takes `category` with ", categories_, " columns; ",
                     found_in(batch, "category"), "; name the number of values of each column");
}

at::Tensor TabularNet::forward(const Batch& batch) {
  check(batch);
  std::vector<at::Tensor> columns;
  if (features_ > 0) columns.push_back(batch.input());
  for (int64_t i = 0; i < categories_; ++i)
    columns.push_back(
        embeddings_[static_cast<size_t>(i)]->as<EmbeddingImpl>()->forward(batch["category"].select(1, i)));
  return layers_->forward(columns.size() == 1 ? columns.front() : at::cat(columns, 1));
}

void TabularModule::setup(Run& run) {
  if (net_) return;
  if (!unknown_size().empty() && run.data_module() != nullptr) take_sizes(*run.data_module());
  if (!unknown_size().empty())
    throw UsageError(unknown_size(),
                     ": not set, and the run has no table (Csv) to take the model's sizes from; set them");
  make_net();
}

at::Tensor TabularModule::forward(const Batch& batch) {
  if (!net_) throw UsageError(unknown_size(), ": not set; set the model's sizes, or call setup with the data first");
  return net_->forward(batch);
}

StepOutput TabularModule::training_step(const Batch& batch, int64_t /*batch_idx*/) {
  const at::Tensor output = forward(batch);
  const at::Tensor loss = loss_of(output, batch.target());
  log("train_loss", loss, {.prog_bar = true});
  log_metrics("train", output, batch.target());
  return loss;
}

void TabularModule::validation_step(const Batch& batch, int64_t /*batch_idx*/) { evaluate(batch, "val"); }

void TabularModule::test_step(const Batch& batch, int64_t /*batch_idx*/) { evaluate(batch, "test"); }

std::map<std::string, BatchFunction> TabularModule::export_functions() {
  return {{"forward", [this](const Batch& batch) { return Batch(forward(batch)); }}};
}

void TabularModule::evaluate(const Batch& batch, const std::string& stage) {
  const at::Tensor output = forward(batch);
  log(stage + "_loss", loss_of(output, batch.target()));
  log_score(stage, output, batch.target());
  log_metrics(stage, output, batch.target());
}

/// Numbers may come as [samples] where [samples, 1] is predicted.
void TabularModule::log_metrics(const std::string& stage, const at::Tensor& output, const at::Tensor& target) {
  named_metrics_.log(stage, output, target.is_floating_point() ? target.reshape_as(output) : target);
}

void TabularModule::make_net(const TabularNetOptions& options, int64_t outputs, const InitialWeights& weights) {
  net_ = register_module("net", std::make_shared<TabularNet>(options, outputs));
  load_initial_weights(*this, weights);
}

}  // namespace levin::nn
