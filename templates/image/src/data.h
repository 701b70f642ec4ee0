#pragma once
#include <levin/data/dataset_module.h>
#include <levin/data/rng.h>
#include <levin/lightning.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

/// Squares, discs and crosses on noise. Picture i depends on (part, i) alone: it is the same in each epoch.
class DrawnPictures : public levin::data::Dataset {
 public:
  DrawnPictures(int64_t count, int64_t side, int64_t part) : count_(count), side_(side), part_(part) {}

  int64_t size() const override { return count_; }
  std::vector<std::string> class_names() const override { return {"cross", "disc", "square"}; }

  levin::Batch get(int64_t index, levin::data::Rng& /*rng*/) const override {
    levin::data::Rng random(/*seed=*/7, part_, index);
    const int64_t shape = index % 3, reach = side_ / 4;
    const int64_t x = random.randint(reach, side_ - reach), y = random.randint(reach, side_ - reach);
    const torch::Tensor picture = torch::empty({3, side_, side_});
    float* out = picture.mutable_data_ptr<float>();
    for (int64_t channel = 0; channel < 3; ++channel) {
      const double brightness = random.uniform(0.5, 1);
      for (int64_t row = 0; row < side_; ++row)
        for (int64_t column = 0; column < side_; ++column) {
          const int64_t right = std::abs(column - x), down = std::abs(row - y);
          const bool in_square = right < reach && down < reach;
          const bool in_disc = right * right + down * down < reach * reach;
          const bool in_cross = in_square && (right <= reach / 4 || down <= reach / 4);
          const bool inside = shape == 0 ? in_cross : shape == 1 ? in_disc : in_square;
          *out++ = static_cast<float>(random.uniform(0, 0.5) + (inside ? brightness : 0));
        }
    }
    return {picture, torch::tensor(shape)};
  }

 private:
  int64_t count_, side_, part_;
};

class Pictures : public levin::data::DatasetModule {
 public:
  struct Options {
    int64_t train_size = LEVIN_OPTION(train_size, 1500, "Pictures to train on", {.min = 1});
    int64_t val_size = LEVIN_OPTION(val_size, 300, "Pictures for validation, test and predict", {.min = 1});
    int64_t side = LEVIN_OPTION(side, 24, "Height and width of a picture", {.min = 8});
    LEVIN_LOADER_OPTIONS(32, true);
  };
  explicit Pictures(Options given)
      : DatasetModule("Pictures", levin::data::loader_options(given)), options(std::move(given)) {}

  Options options;

 protected:
  levin::data::DatasetPtr make_dataset(levin::data::Split split) override {
    const bool trains = split == levin::data::Split::Train;
    return std::make_shared<const DrawnPictures>(trains ? options.train_size : options.val_size, options.side,
                                                 /*part=*/trains ? 0 : 1);
  }
};
