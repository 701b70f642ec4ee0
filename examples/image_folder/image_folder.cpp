// Image classification, one folder per class: trains a ResNet-18 and prints predictions. Without a folder it draws
// images.
//
//   example_image_folder [FOLDER [EPOCHS]]       FOLDER/CLASS/*.png and *.jpg
#include <levin/data/datasets/image_folder.h>
#include <levin/data/files/image_file.h>
#include <levin/levin.h>

#include <filesystem>
#include <iostream>

namespace fs = std::filesystem;

const std::vector<std::string> kShapes = {"blue_cross", "green_disc", "red_square"};
constexpr int64_t kSide = 16;

/// Draws a shape at a random place on noise, uint8 [3, kSide, kSide].
torch::Tensor draw(const std::string& shape) {
  const auto place = torch::randint(5, kSide - 5, {2});
  const auto y = (torch::arange(kSide) - place[0]).abs().unsqueeze(1), x = (torch::arange(kSide) - place[1]).abs();
  auto inside = torch::maximum(x, y) <= 4;
  auto colour = torch::tensor({220, 50, 50});
  if (shape == "green_disc") {
    inside = x * x + y * y <= 20;
    colour = torch::tensor({50, 200, 50});
  } else if (shape == "blue_cross") {
    inside = inside & (torch::minimum(x, y) <= 1);
    colour = torch::tensor({50, 50, 220});
  }
  const auto noise = torch::randint(0, 150, {3, kSide, kSide});
  return torch::where(inside, colour.view({3, 1, 1}), noise).to(torch::kUInt8);
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
  if (argc == 1) write_images(folder, 40);

  levin::data::ImageFolder data({.root = folder.string(),
                                 .image_size = kSide,
                                 .transforms = {"RandomHorizontalFlip"},
                                 .val_fraction = 0.2,
                                 .batch_size = 16,
                                 .num_workers = 1});
  data.setup(levin::Stage::Fit);  // to know the classes; otherwise the trainer calls it
  const auto classes = data.dataset(levin::data::Split::Train)->class_names();

  const levin::nn::ImageClassifierOptions options{.net = "resnet18",
                                                  .num_classes = static_cast<int64_t>(classes.size()),
                                                  .image_shape = {3, kSide, kSide},
                                                  .small_input = true,
                                                  .optimizer = {"Adam", levin::optim::AdamOptions{.lr = 3e-4}}};
  const auto model = levin::make_module<levin::nn::ImageClassifier>(options);
  levin::Trainer trainer({.max_epochs = argc > 2 ? std::stoi(argv[2]) : 2, .name = "example_image_folder"});
  const auto result = trainer.fit(*model, data);

  levin::Batch images;
  data.dataset(levin::data::Split::Val)->get_batch(levin::data::Indices(0, 4), images);
  model->eval();
  const auto seen = model->predict_step(images, 0).input().argmax(1);
  for (int64_t i = 0; i < images.size(); ++i) {
    std::cout << classes.at(images.target()[i].item<int64_t>()) << " is seen as " << classes.at(seen[i].item<int64_t>())
              << "\n";
  }
  const double accuracy = result.metrics.at("val_acc");
  std::cout << "val_acc " << accuracy << "\n";
  return accuracy > 0.5 ? 0 : 1;
}
