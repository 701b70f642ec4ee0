// Classes of images, each a folder: trains a ResNet-18 and says what it sees. Without a folder it draws its own images.
//
//   example_image_folder [FOLDER [EPOCHS]]       FOLDER/CLASS/*.png and *.jpg
#include <levin/data/datasets/image_folder.h>
#include <levin/data/image_file.h>
#include <levin/levin.h>

#include <filesystem>
#include <iostream>

namespace fs = std::filesystem;

const std::vector<std::string> kShapes = {"cross", "disc", "square"};
constexpr int64_t kSide = 16;

/// A shape of any colour at any place, uint8 [3, kSide, kSide].
torch::Tensor draw(const std::string& shape) {
  const auto place = torch::randint(5, kSide - 5, {2});
  const auto y = (torch::arange(kSide) - place[0]).abs().unsqueeze(1), x = (torch::arange(kSide) - place[1]).abs();
  auto inside = torch::maximum(x, y) <= 4;
  if (shape == "disc") inside = x * x + y * y <= 20;
  if (shape == "cross") inside = inside & (torch::minimum(x, y) <= 1);
  const auto background = torch::randint(0, 100, {3, kSide, kSide}), colour = torch::randint(130, 256, {3, 1, 1});
  return torch::where(inside, colour, background).to(torch::kUInt8);
}

void write_images(const fs::path& folder, int64_t of_each) {
  for (const std::string& shape : kShapes) {
    fs::create_directories(folder / shape);
    for (int64_t i = 0; i < of_each; ++i)
      levin::data::write_png(folder / shape / (std::to_string(i) + ".png"), draw(shape));
  }
}

int main(int argc, char** argv) {
  torch::manual_seed(0);
  const fs::path folder = argc > 1 ? argv[1] : "shapes";
  if (argc == 1) write_images(folder, 60);

  levin::data::ImageFolder data({.root = folder.string(),
                                 .image_size = kSide,
                                 .transforms = {"RandomHorizontalFlip"},
                                 .val_fraction = 0.2,
                                 .batch_size = 8,
                                 .num_workers = 1});
  data.setup(levin::Stage::Fit);  // to know the classes; the trainer does it otherwise
  const auto classes = data.dataset(levin::data::Split::Train)->class_names();

  const levin::nn::ImageClassifier::Options options{
      .net = "resnet18",
      .num_classes = static_cast<int64_t>(classes.size()),
      .image_shape = {3, kSide, kSide},
      .small_input = true,
      .optimizer = {"SGD", levin::optim::SGDOptions{.lr = 0.02, .momentum = 0.9}}};
  const auto model = levin::make_module<levin::nn::ImageClassifier>(options);
  levin::Trainer trainer({.max_epochs = argc > 2 ? std::stoi(argv[2]) : 3, .name = "example_image_folder"});
  const auto result = trainer.fit(*model, data);

  levin::Batch images;
  data.dataset(levin::data::Split::Val)->get_batch(levin::data::Indices(0, 4), images);
  model->eval();
  const auto seen = model->predict_step(images, 0, 0).input().argmax(1);
  for (int64_t i = 0; i < images.size(); ++i) {
    std::cout << "a " << classes.at(images.target()[i].item<int64_t>()) << " looks like a "
              << classes.at(seen[i].item<int64_t>()) << "\n";
  }
  const double accuracy = result.metrics.at("val_acc");
  std::cout << "val_acc " << accuracy << "\n";
  return accuracy > 0.5 ? 0 : 1;
}
