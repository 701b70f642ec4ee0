// Epochs of an ImageFolder: JPEGs of 500 x 375 pixels, resized to 224, cropped, normalised, in batches of 32.
// image_folder.py runs this program and Pillow with Python's DataLoader in alternation.
//
//   benchmark_data_image_folder make FOLDER [COUNT]    writes COUNT pictures (2000) of ten classes
//   benchmark_data_image_folder run FOLDER WORKERS     for each line of stdin: an epoch, then its images per second
#include <levin/levin.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <levin/data/datasets/image_folder.h>
#include <levin/data/files/image_file.h>

namespace data = levin::data;

namespace {

constexpr int64_t kHeight = 375, kWidth = 500, kTexture = 1200;

/// Returns smooth noise in [-1, 1] whose amplitude falls with frequency, as in photographs: [side, side] float32.
torch::Tensor texture(int64_t side) {
  torch::Tensor sum = torch::zeros({1, 1, side, side});
  double amplitude = 1;
  for (int64_t cells = 4; cells <= side; cells *= 2, amplitude *= 0.78) {
    const auto size = std::vector<int64_t>{side, side};
    sum += amplitude * torch::upsample_bicubic2d(torch::rand({1, 1, cells, cells}) * 2 - 1, size, false);
  }
  return (sum / sum.abs().max())[0][0];
}

/// Returns a random crop of the textures with a few flat shapes: brightness, and two much weaker colours.
torch::Tensor picture(const std::vector<torch::Tensor>& textures, data::Rng& rng) {
  const auto piece = [&](const torch::Tensor& all) {
    const int64_t top = rng.randint(0, kTexture - kHeight), left = rng.randint(0, kTexture - kWidth);
    return all.narrow(0, top, kHeight).narrow(1, left, kWidth);
  };
  torch::Tensor light = piece(textures[0]) * 220 + rng.uniform(90, 150);
  for (int i = 0; i < 6; ++i) {
    const int64_t height = rng.randint(10, 200), width = rng.randint(10, 200);
    light.narrow(0, rng.randint(0, kHeight - height), height).narrow(1, rng.randint(0, kWidth - width), width) +=
        rng.uniform(-60, 60);
  }
  const torch::Tensor warm = piece(textures[1]) * 60, green = piece(textures[2]) * 40;
  return torch::stack({light + warm, light + green, light - warm}).clamp_(0, 255).to(torch::kByte);
}

void make(const std::filesystem::path& folder, int64_t count) {
  torch::manual_seed(1);
  const std::vector<torch::Tensor> textures = {texture(kTexture), texture(kTexture), texture(kTexture)};
  int64_t bytes = 0;
  for (int64_t i = 0; i < count; ++i) {
    data::Rng rng(1, 0, i);
    const auto class_folder = folder / ("class_" + std::to_string(i % 10));
    std::filesystem::create_directories(class_folder);
    const auto path = class_folder / (std::to_string(100000 + i) + ".jpg");
    data::write_jpeg(path, picture(textures, rng), 90);
    bytes += static_cast<int64_t>(std::filesystem::file_size(path));
  }
  std::printf("%ld pictures of %ld x %ld, %.1f kB each\n", count, kWidth, kHeight,
              static_cast<double>(bytes) / 1000 / static_cast<double>(count));
}

void run(const std::string& folder, int64_t workers) {
  data::ImageFolder module({.root = folder, .val_fraction = 0, .batch_size = 32, .num_workers = workers});
  module.setup(levin::Stage::Fit);
  data::Loaders loaders = module.train_dataloader();
  int64_t epoch = 0;
  for (std::string line; std::getline(std::cin, line); ++epoch) {
    const auto begin = std::chrono::steady_clock::now();
    loaders[0].set_epoch(epoch);
    int64_t images = 0;
    while (auto loaded = loaders[0].next()) images += loaded->batch.input().size(0);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    std::cout << static_cast<double>(images) / seconds.count() << std::endl;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 2 ? argv[1] : "";
  if (what == "make") {
    make(argv[2], argc > 3 ? std::stoll(argv[3]) : 2000);
  } else if (what == "run" && argc > 3) {
    run(argv[2], std::stoll(argv[3]));
  } else {
    std::cerr << "usage: benchmark_data_image_folder make FOLDER [COUNT] | run FOLDER WORKERS\n";
    return 2;
  }
}
