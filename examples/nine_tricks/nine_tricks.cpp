// Nine ways to train faster, on one network and one data set. `measure.py` runs them all and draws the chart.
//
//   example_nine_tricks FOLDER             lists the ways and draws 2,048 images into FOLDER, once
//   example_nine_tricks FOLDER WAY [N]     trains with N samples (4,096); prints samples per second and peak memory
//
// It ends with 77 where the way needs GPUs that the machine lacks.
#include <levin/data/datasets/image_folder.h>
#include <levin/data/files/image_file.h>
#include <levin/levin.h>
#include <sys/resource.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>

namespace fs = std::filesystem;
namespace F = torch::nn::functional;
namespace parallel = levin::parallel;
using torch::nn::Conv2d, torch::nn::Conv2dOptions, torch::nn::Linear, torch::nn::MaxPool2d, torch::nn::ReLU;

constexpr int64_t kClasses = 4, kImages = 2048, kFileSide = 96, kSide = 32;

/// What a way changes. The rest is the same for all.
struct Setup {
  levin::TrainerOptions trainer = {};
  int64_t batch_size = 32, num_workers = 0;
  int gpus = 0;               ///< how many it needs
  int ranks = 1;              ///< processes of ddp
  bool by_hand = false;       ///< a loop without levin
  bool monitors = false;      ///< measures in each step how far noise changes the output, and keeps the values
  bool keeps_graphs = false;  ///< those values with the graphs behind them
  bool waits = false;         ///< makes tensors on the CPU and reads the loss in each step
  bool is_split = false;      ///< one half of the network on each of two GPUs
};

const std::map<std::string, std::function<void(Setup&)>> kWays = {
    {"1_loop_by_hand", [](Setup& s) { s.by_hand = true; }},
    {"1_loader", [](Setup&) {}},
    {"2_one_worker", [](Setup& s) { s.num_workers = 1; }},
    {"2_two_workers", [](Setup& s) { s.num_workers = 2; }},
    {"3_batches_of_8", [](Setup& s) { s.batch_size = 8; }},
    {"3_batches_of_128", [](Setup& s) { s.batch_size = 128; }},
    {"3_batches_of_512", [](Setup& s) { s.batch_size = 512; }},
    {"4_accumulated_4_of_128",
     [](Setup& s) {
       s.batch_size = 128;
       s.trainer.accumulate_grad_batches = 4;
     }},
    {"5_graphs_retained", [](Setup& s) { s.monitors = s.keeps_graphs = true; }},
    {"5_no_graphs", [](Setup& s) { s.monitors = true; }},
    {"6_bf16_on_cpu", [](Setup& s) { s.trainer.precision = "bf16-mixed"; }},
    {"6_one_gpu", [](Setup& s) { s.gpus = 1; }},
    {"6_one_gpu_fed",
     [](Setup& s) {
       s.gpus = 1;
       s.num_workers = 8;
     }},
    {"6_one_gpu_fed_16_bit",
     [](Setup& s) {
       s.gpus = 1;
       s.num_workers = 8;
       s.trainer.precision = "16-mixed";
     }},
    {"7_split_on_two_gpus",
     [](Setup& s) {
       s.gpus = 2;
       s.is_split = true;
     }},
    {"8_ddp_on_two_gpus", [](Setup& s) { s.gpus = s.ranks = 2; }},
    {"8_ddp_on_the_cpu",
     [](Setup& s) {
       s.ranks = 2;
       s.trainer.num_threads = 1;
     }},
    {"9_threads_oversubscribed",
     [](Setup& s) {
       s.ranks = 2;
       s.trainer.num_threads = 8;
     }},
    {"9_gpu_waited_for",
     [](Setup& s) {
       s.gpus = 1;
       s.num_workers = 8;
       s.waits = true;
     }},
};

void draw_images(const fs::path& folder) {
  if (fs::exists(folder / "complete")) return;
  torch::manual_seed(0);
  for (int64_t i = 0; i < kImages; ++i) {
    const int64_t kind = i % kClasses;
    const auto row = torch::arange(kFileSide), wave = (row * (kind + 1) * 0.1).sin() * 60 + 128;
    const auto image = (kind % 2 ? wave.unsqueeze(0) : wave.unsqueeze(1)).expand({3, kFileSide, kFileSide});
    const fs::path of_class = folder / ("class_" + std::to_string(kind));
    fs::create_directories(of_class);
    levin::data::write_jpeg(of_class / (std::to_string(i) + ".jpg"),
                            (image + 30 * torch::randn(image.sizes())).clamp(0, 255).to(torch::kUInt8).contiguous());
  }
  std::ofstream(folder / "complete") << kImages << " images\n";
}

struct Classifier : levin::LightningModule {
  explicit Classifier(const Setup& made_for) : setup(made_for) {
    if (!setup.is_split) return;
    first->to(torch::Device("cuda:0"));
    second->to(torch::Device("cuda:1"));
  }
  torch::Tensor forward(const torch::Tensor& images) {
    const auto features = first->forward(images);
    return second->forward(features.to(second->parameters()[0].device()));
  }
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    auto images = batch.input();
    if (setup.waits) images = images + torch::zeros_like(images, torch::kCPU).to(images.device());
    const auto logits = forward(images);
    const auto loss = F::cross_entropy(logits, batch.target().to(logits.device()));
    if (setup.monitors) {
      const torch::AutoGradMode graphs(setup.keeps_graphs);  // a backward would free them; this value has none
      changes.push_back((forward(images + 0.1 * torch::randn_like(images)) - logits).square().mean());
    }
    if (setup.waits) last = loss.item<double>();
    log("loss", loss);
    return loss;
  }
  levin::OptimizerConfig configure_optimizers() override {
    return levin::optim::SGD(parameters(), {.lr = 0.01, .momentum = 0.9});
  }

  torch::nn::Sequential first =
      register_module("first", torch::nn::Sequential(Conv2d(Conv2dOptions(3, 16, 3).padding(1)), ReLU(), MaxPool2d(2)));
  torch::nn::Sequential second = register_module(
      "second", torch::nn::Sequential(Conv2d(Conv2dOptions(16, 32, 3).padding(1)), ReLU(), MaxPool2d(2),
                                      torch::nn::Flatten(), Linear(32 * 8 * 8, 128), ReLU(), Linear(128, kClasses)));
  Setup setup;
  std::vector<torch::Tensor> changes = {};
  double last = 0;
};

using Clock = std::chrono::steady_clock;

/// Measures from the third optimizer step on.
struct Stopwatch : levin::Callback {
  void on_train_batch_end(levin::Run& run) override {
    if (run.state().global_step < 2) return;
    if (begin == Clock::time_point())
      begin = Clock::now();
    else
      samples += run.batch().size() * run.comm().world_size();
    end = Clock::now();
  }
  Clock::time_point begin = {}, end = {};
  int64_t samples = 0;
};

void print(int64_t samples, Clock::duration time, double weights) {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  std::cout << "{\"samples_per_second\": " << static_cast<double>(samples) / std::chrono::duration<double>(time).count()
            << ", \"peak_mib\": " << static_cast<double>(usage.ru_maxrss) / 1024 << ", \"weights\": " << weights << "}"
            << std::endl;
}

double sum_of(const torch::nn::Module& module) {
  double sum = 0;
  for (const auto& parameter : module.parameters()) sum += parameter.detach().abs().sum().item<double>();
  return sum;
}

/// Returns the files of all classes in a random order, each with its class.
std::vector<std::pair<fs::path, int64_t>> shuffled_files(const fs::path& folder) {
  std::vector<std::pair<fs::path, int64_t>> files;
  for (int64_t kind = 0; kind < kClasses; ++kind)
    for (const auto& entry : fs::directory_iterator(folder / ("class_" + std::to_string(kind))))
      files.emplace_back(entry.path(), kind);
  std::sort(files.begin(), files.end());
  const auto order = torch::randperm(static_cast<int64_t>(files.size()));
  std::vector<std::pair<fs::path, int64_t>> shuffled;
  for (size_t i = 0; i < files.size(); ++i)
    shuffled.push_back(files[static_cast<size_t>(order[static_cast<int64_t>(i)].item<int64_t>())]);
  return shuffled;
}

/// The loop that one writes first: a file at a time, then the step.
void train_by_hand(const fs::path& folder, const Setup& setup, int64_t samples) {
  Classifier model(setup);
  torch::optim::SGD optimizer(model.parameters(), torch::optim::SGDOptions(0.01).momentum(0.9));
  const auto files = shuffled_files(folder);
  const auto mean = torch::tensor({0.485, 0.456, 0.406}).view({3, 1, 1});
  const auto deviation = torch::tensor({0.229, 0.224, 0.225}).view({3, 1, 1});
  const auto size = F::InterpolateFuncOptions()
                        .size(std::vector<int64_t>{kSide, kSide})
                        .mode(torch::kBilinear)
                        .align_corners(false)
                        .antialias(true);
  Clock::time_point begin = {};
  int64_t seen = 0;
  for (int64_t step = 0; step < samples / setup.batch_size; ++step) {
    std::vector<torch::Tensor> images, labels;
    for (int64_t i = 0; i < setup.batch_size; ++i) {
      const auto& [file, label] = files[static_cast<size_t>((step * setup.batch_size + i) % kImages)];
      const auto pixels = levin::data::read_image(file).to(torch::kFloat).div(255);
      images.push_back((F::interpolate(pixels.unsqueeze(0), size)[0] - mean) / deviation);
      labels.push_back(torch::tensor(label));
    }
    optimizer.zero_grad();
    F::cross_entropy(model.forward(torch::stack(images)), torch::stack(labels)).backward();
    optimizer.step();
    if (step == 2) begin = Clock::now();
    if (step > 2) seen += setup.batch_size;
  }
  print(seen, Clock::now() - begin, sum_of(model));
}

int train(const fs::path& folder, Setup setup, int64_t samples) {
  setup.batch_size /= setup.trainer.accumulate_grad_batches;  // parts of a batch
  setup.trainer.accelerator = setup.gpus > 0 && !setup.is_split ? "gpu" : "cpu";
  setup.trainer.devices = setup.ranks;
  const auto stopwatch = std::make_shared<Stopwatch>();
  setup.trainer.callbacks = {stopwatch};
  setup.trainer.max_steps = samples / (setup.batch_size * setup.trainer.accumulate_grad_batches * setup.ranks);
  setup.trainer.enable_progress_bar = false;
  setup.trainer.enable_model_summary = false;
  setup.trainer.enable_checkpointing = false;
  setup.trainer.logger = false;
  setup.trainer.quiet = true;
  setup.trainer.seed = 1;
  if (const auto code = levin::launch(setup.trainer)) return *code;
  levin::Trainer trainer(setup.trainer);
  torch::manual_seed(1);
  Classifier model(setup);
  levin::data::ImageFolder data({.root = folder.string(),
                                 .image_size = kSide,
                                 .val_fraction = 0,
                                 .batch_size = setup.batch_size,
                                 .num_workers = setup.num_workers});
  trainer.fit(model, data);
  if (trainer.is_global_zero()) print(stopwatch->samples, stopwatch->end - stopwatch->begin, sum_of(model));
  return 0;
}

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: example_nine_tricks FOLDER [WAY [SAMPLES]]\n";
    return 2;
  }
  const fs::path folder = argv[1];
  draw_images(folder);
  if (argc == 2) {
    for (const auto& [name, change] : kWays) std::cout << name << "\n";
    return 0;
  }
  const auto way = kWays.find(argv[2]);
  if (way == kWays.end()) {
    std::cerr << argv[2] << " is none of the ways; without WAY the program lists them\n";
    return 2;
  }
  Setup setup;
  way->second(setup);
  if (static_cast<int>(torch::cuda::device_count()) < setup.gpus) {
    std::cerr << argv[2] << " needs " << setup.gpus << (setup.gpus == 1 ? " GPU\n" : " GPUs\n");
    return 77;
  }
  const int64_t samples = argc > 3 ? std::stoll(argv[3]) : 4096;
  if (!setup.by_hand) return train(folder, setup, samples);
  train_by_hand(folder, setup, samples);
  return 0;
}
