/// Computes, trains and saves with image networks that transformers and timm have saved, for images_parity_test.py.
///
/// usage: image_folder_program FOLDER...
///
/// Each FOLDER has a model in `model` and its inputs in `inputs.safetensors`. The results come into
/// `results.safetensors`, and the model as levin saves it into `saved`. Where there is `photos` in place of a model,
/// the results are its images, as `preprocessor_config.json` in FOLDER says.
#include <levin/core/state/safetensors.h>
#include <levin/data/datasets/image_folder.h>
#include <levin/modules/channels_last.h>
#include <levin/modules/images/pretrained_image_classifier.h>
#include <levin/modules/optim/optimizers/sgd.h>
#include <torch/nn/functional/loss.h>

#include <filesystem>
#include <iostream>

namespace {

namespace fs = std::filesystem;
using levin::State;
using levin::nn::PretrainedImageClassifier;

class Cases {
 public:
  explicit Cases(const fs::path& folder)
      : folder_(folder), inputs_(levin::load_safetensors(folder / "inputs.safetensors")) {}

  void run() {
    PretrainedImageClassifier model({.folder = (folder_ / "model").string()});
    model.save_pretrained(folder_ / "saved");
    compute(model);
    if (inputs_.contains("train_images")) train();
    if (inputs_.contains("larger_images")) resize();
    levin::save_safetensors(results_, folder_ / "results.safetensors");
  }

 private:
  at::Tensor input(const std::string& name) const { return inputs_.at(name).to_tensor(); }
  void add(const std::string& name, const at::Tensor& value) { results_[name] = value.detach().contiguous().clone(); }

  static at::Tensor loss_of(PretrainedImageClassifier& model, const at::Tensor& images, const at::Tensor& target) {
    return torch::nn::functional::cross_entropy(model.forward(images), target);
  }

  void compute(PretrainedImageClassifier& model) {
    model.eval();
    {
      const at::NoGradGuard no_grad;
      add("logits", model.forward(input("images")));
    }
    loss_of(model, input("images"), input("target")).backward();
    for (const auto& item : model.named_parameters()) add("gradient." + item.key(), item.value().grad());
    levin::to_channels_last(model);
    const at::NoGradGuard no_grad;
    add("channels_last_logits", model.forward(input("images").contiguous(at::MemoryFormat::ChannelsLast)));
  }

  void train() {
    PretrainedImageClassifier model({.folder = (folder_ / "model").string()});
    model.to(at::kDouble);
    model.train();
    levin::optim::SGD optimizer(model.parameters(), {.lr = 0.01, .momentum = 0.9});
    const at::Tensor images = input("train_images").to(at::kDouble), target = input("train_target");
    std::vector<double> losses;
    for (int64_t step = 0; step < images.size(0); ++step) {
      optimizer.zero_grad();
      const at::Tensor loss = loss_of(model, images[step], target[step]);
      loss.backward();
      optimizer.step();
      losses.push_back(loss.item<double>());
    }
    add("losses", torch::tensor(losses, torch::kDouble));
    for (const auto& item : model.named_parameters()) add("trained." + item.key(), item.value());
    for (const auto& item : model.named_buffers()) add("trained." + item.key(), item.value());
  }

  /// Takes images of other sizes than the network's.
  void resize() {
    PretrainedImageClassifier model({.folder = (folder_ / "model").string(), .interpolate_positions = true});
    model.eval();
    const at::NoGradGuard no_grad;
    for (const std::string size : {"larger", "smaller"}) add(size + "_logits", model.forward(input(size + "_images")));
    add("same_logits", model.forward(input("images")));
  }

  fs::path folder_;
  State inputs_, results_ = State::dict();
};

void prepare_photos(const fs::path& folder) {
  levin::data::ImageFolder data(
      {.root = (folder / "photos").string(), .preprocessor = folder.string(), .val_fraction = 0});
  data.setup(levin::Stage::Fit);
  const levin::data::DatasetPtr images = data.dataset(levin::data::Split::Train);
  std::vector<at::Tensor> all;
  for (int64_t i = 0; i < images->size(); ++i) {
    levin::data::Rng rng(0, 0, 0);
    all.push_back(images->get(i, rng).input());
  }
  State results = State::dict();
  results["photos"] = at::stack(all);
  levin::save_safetensors(results, folder / "results.safetensors");
}

}  // namespace

int main(int count, char** arguments) {
  at::set_num_threads(1);
  int failures = 0;
  for (int i = 1; i < count; ++i) {
    try {
      if (fs::exists(fs::path(arguments[i]) / "photos"))
        prepare_photos(arguments[i]);
      else
        Cases(arguments[i]).run();
    } catch (const std::exception& error) {
      std::cerr << arguments[i] << ": " << error.what() << "\n";
      ++failures;
    }
  }
  return failures == 0 ? 0 : 1;
}
