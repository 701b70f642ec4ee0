#pragma once
#include <levin/data/dataset_module.h>
#include <levin/data/rng.h>
#include <levin/lightning.h>

#include <memory>
#include <string>
#include <vector>

/// Windows of a text in bytes.
class Windows : public levin::data::Dataset {
 public:
  Windows(std::string text, int64_t block_size) : text_(std::move(text)), block_size_(block_size) {}

  int64_t size() const override { return (static_cast<int64_t>(text_.size()) - 1) / block_size_; }
  levin::Batch get(int64_t index, levin::data::Rng& /*rng*/) const override {
    const torch::Tensor bytes = torch::empty({block_size_ + 1}, torch::kLong);
    int64_t* out = bytes.mutable_data_ptr<int64_t>();
    for (int64_t i = 0; i <= block_size_; ++i)
      out[i] = static_cast<unsigned char>(text_[static_cast<size_t>(index * block_size_ + i)]);
    return {bytes.narrow(0, 0, block_size_), bytes.narrow(0, 1, block_size_)};
  }

 private:
  std::string text_;
  int64_t block_size_;
};

/// Sentences of a few dozen words.
class Sentences : public levin::data::DatasetModule {
 public:
  struct Options {
    int64_t sentences = LEVIN_OPTION(sentences, 2000, "Sentences to train on", {.min = 10});
    int64_t block_size = LEVIN_OPTION(block_size, 48, "Bytes of one sample", {.min = 1, .max = 200});
    LEVIN_LOADER_OPTIONS(32, true);
  };
  explicit Sentences(Options given)
      : DatasetModule("Sentences", levin::data::loader_options(given)), options(std::move(given)) {}

  Options options;

 protected:
  levin::data::DatasetPtr make_dataset(levin::data::Split split) override {
    const bool trains = split == levin::data::Split::Train;
    const int64_t count = trains ? options.sentences : std::max<int64_t>(10, options.sentences / 10);
    return std::make_shared<const Windows>(made_up(count, /*part=*/trains ? 0 : 1), options.block_size);
  }

 private:
  static std::string made_up(int64_t count, int64_t part) {
    static const std::vector<std::string> kParts[] = {
        {"The cat", "A dog", "My neighbour", "The old captain", "Nobody"},
        {" sees", " follows", " paints", " forgets"},
        {" the moon", " a red boat", " the train to the coast", " every word", " a bird"},
        {" at night.\n", " in winter.\n", " before noon.\n", " again and again.\n"}};
    levin::data::Rng random(/*seed=*/7, part, /*index=*/0);
    std::string text;
    for (int64_t i = 0; i < count; ++i)
      for (const auto& words : kParts)
        text += words[static_cast<size_t>(random.randint(0, static_cast<int64_t>(words.size())))];
    return text;
  }
};
