#pragma once
#include <levin/data/dataset_module.h>
#include <levin/data/rng.h>
#include <levin/lightning.h>

#include <memory>

/// Flats and their prices in hundred thousands. The columns, each between -1 and 1: area, rooms, age, distance to the
/// centre. They are drawn from the row's number alone.
class Flats : public levin::data::DatasetModule {
 public:
  struct Options {
    int64_t train_size = LEVIN_OPTION(train_size, 1000, "Rows to train on", {.min = 1});
    int64_t val_size = LEVIN_OPTION(val_size, 200, "Rows for validation, test and predict", {.min = 1});
    LEVIN_LOADER_OPTIONS(32, true);
  };
  explicit Flats(Options given)
      : DatasetModule("Flats", levin::data::loader_options(given)), options(std::move(given)) {}

  Options options;

 protected:
  levin::data::DatasetPtr make_dataset(levin::data::Split split) override {
    const bool trains = split == levin::data::Split::Train;
    const int64_t rows = trains ? options.train_size : options.val_size;
    const torch::Tensor input = torch::empty({rows, 4}), price = torch::empty({rows});
    float* columns = input.mutable_data_ptr<float>();
    float* prices = price.mutable_data_ptr<float>();
    for (int64_t row = 0; row < rows; ++row) {
      levin::data::Rng random(/*seed=*/7, /*epoch=*/trains ? 0 : 1, row);
      const double area = random.uniform(-1, 1), age = random.uniform(-1, 1), distance = random.uniform(-1, 1);
      const double rooms = 0.7 * area + random.uniform(-0.3, 0.3);
      for (const double value : {area, rooms, age, distance}) *columns++ = static_cast<float>(value);
      const double noise = random.normal(0, 0.1);
      *prices++ =
          static_cast<float>(4 + 2.5 * area - 0.8 * age * age + 0.4 * rooms - 1.5 * distance * (1 + area) + noise);
    }
    return std::make_shared<const levin::data::TensorDataset>(input, price);
  }
};
