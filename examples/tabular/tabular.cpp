// A table with numbers, categories and missing values: predicts the price of flats, with an embedding for each category
// column. The data is synthetic.
#include <levin/data/datasets/csv.h>
#include <levin/levin.h>

#include <fstream>
#include <iostream>
#include <random>

namespace F = torch::nn::functional;
namespace nn = torch::nn;

struct PriceModel : levin::LightningModule {
  struct Options {
    int64_t embedding = LEVIN_OPTION(embedding, 4, "Numbers that stand for a category", {.min = 1});
    int64_t hidden = LEVIN_OPTION(hidden, 32, "Units of the hidden layer", {.min = 1});
    double lr = LEVIN_OPTION(lr, 1e-2, "Learning rate", {.min = 0});
  };
  /// `sizes`: the number of distinct values in each category column.
  PriceModel(Options options_, int64_t features, const std::vector<int64_t>& sizes) : options(options_) {
    for (const int64_t size : sizes) embeddings->push_back(nn::Embedding(size, options.embedding));
    const auto inputs = features + static_cast<int64_t>(sizes.size()) * options.embedding;
    net = nn::Sequential(nn::Linear(inputs, options.hidden), nn::ReLU(), nn::Linear(options.hidden, 1));
    register_module("embeddings", embeddings);
    register_module("net", net);
  }

  torch::Tensor forward(const levin::Batch& batch) {
    std::vector<torch::Tensor> columns = {batch.input()};
    for (size_t i = 0; i < embeddings->size(); ++i) {
      const auto codes = batch["category"].select(1, static_cast<int64_t>(i));
      columns.push_back(embeddings[i]->as<nn::Embedding>()->forward(codes));
    }
    return net->forward(torch::cat(columns, 1)).squeeze(1);
  }
  levin::StepOutput training_step(const levin::Batch& batch, int64_t /*batch_idx*/) override {
    const auto loss = F::mse_loss(forward(batch), batch.target());
    log("train_loss", loss, {.prog_bar = true});
    return loss;
  }
  void validation_step(const levin::Batch& batch, int64_t /*batch_idx*/) override {
    val_r2.update(forward(batch), batch.target());
    log("val_r2", val_r2, {.prog_bar = true});
  }
  levin::OptimizerConfig configure_optimizers() override {
    return levin::optim::Adam(parameters(), {.lr = options.lr});
  }

  Options options;
  nn::ModuleList embeddings;
  nn::Sequential net;
  levin::metrics::R2Score val_r2;
};

/// Writes flats with their price in hundred thousands; some ages and heatings are missing.
void write_table(const std::string& file, int rows) {
  std::mt19937 random(0);
  const auto one_of = [&](int count) { return static_cast<int>(random() % static_cast<uint32_t>(count)); };
  const std::vector<std::string> districts = {"Harbour", "Hill", "Market", "Old Town", "Station"};
  const std::vector<std::string> heatings = {"electric", "gas", "heat pump"};
  std::ofstream out(file);
  out << "area,rooms,age,district,heating,price\n";
  for (int i = 0; i < rows; ++i) {
    const int area = 25 + one_of(120), age = one_of(90), district = one_of(5), heating = one_of(3);
    const double price = 0.03 * area * (1 + 0.25 * district) - 0.01 * age + 0.3 * heating;
    out << area << "," << 1 + area / 30 << "," << (one_of(10) == 0 ? "" : std::to_string(age)) << ","
        << districts[static_cast<size_t>(district)] << ","
        << (one_of(10) == 0 ? "NA" : heatings[static_cast<size_t>(heating)]) << "," << price << "\n";
  }
}

int main() {
  torch::manual_seed(0);
  write_table("flats.csv", 1000);
  const auto [train, val] = levin::data::CsvDataset::split("flats.csv",
                                                           {.categories = {"district", "heating"},
                                                            .target = "price",
                                                            .target_type = "number",
                                                            .missing = "mean",
                                                            .standardize = true},
                                                           /*val_fraction=*/0.2);
  const auto features = static_cast<int64_t>(train.encoding().features.size());
  const auto model = levin::make_module<PriceModel>(PriceModel::Options{}, features, train.category_sizes());

  levin::Trainer trainer({.max_epochs = 10, .name = "example_tabular"});
  const auto result = trainer.fit(*model, levin::data::DataLoader(train, {.batch_size = 32, .shuffle = true}),
                                  levin::data::DataLoader(val, {.batch_size = 100}));
  const double r2 = result.metrics.at("val_r2");
  std::cout << "val_r2 " << r2 << "\n";
  return r2 > 0.8 ? 0 : 1;
}
