// A training loop by hand with LibTorch: device, accumulation, clipping, a schedule, validation, a log, checkpoints,
// and a resume after an epoch. with_levin.cpp trains the same network to the same bits.
//
//     by_hand FOLDER [--max-epochs N] [--resume]
#include "problem.h"

#include <torch/cuda.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/adamw.h>
#include <torch/serialize.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>

namespace F = torch::nn::functional;
namespace fs = std::filesystem;

struct Settings {
  fs::path folder = {};
  int64_t max_epochs = 6;
  bool resume = false;
  int64_t batch_size = 32;
  int64_t accumulate = 4;  // batches per optimizer step
  double lr = 3e-3, weight_decay = 0.01;
  double max_norm = 1.0;
  int64_t warmup = 8, total_steps = 48;
  int64_t log_every = 8;  // batches
};

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--resume") {
      settings.resume = true;
    } else if (argument == "--max-epochs" && i + 1 < argc) {
      settings.max_epochs = std::stoll(argv[++i]);
    } else if (settings.folder.empty() && argument[0] != '-') {
      settings.folder = argument;
    } else {
      throw std::runtime_error("unknown argument " + argument);
    }
  }
  if (settings.folder.empty()) throw std::runtime_error("usage: by_hand FOLDER [--max-epochs N] [--resume]");
  return settings;
}

/// Where the training is; saved with the weights.
struct Progress {
  int64_t epoch = 0;
  int64_t step = 0;  // of the optimizer
  double best_accuracy = -1;
};

void set_lr(torch::optim::Optimizer& optimizer, double lr) {
  for (auto& group : optimizer.param_groups()) group.options().set_lr(lr);
}

/// Writes to a temporary name first: a run that is killed while it saves leaves the old file.
void write(torch::serialize::OutputArchive& archive, const fs::path& file) {
  const fs::path temporary = file.string() + ".tmp";
  archive.save_to(temporary.string());
  fs::rename(temporary, file);
}

void save_checkpoint(const fs::path& file, Net& net, torch::optim::AdamW& optimizer, const Progress& progress) {
  torch::serialize::OutputArchive archive, weights, moments;
  net->save(weights);
  optimizer.save(moments);
  archive.write("net", weights);
  archive.write("optimizer", moments);
  archive.write("epoch", torch::tensor(progress.epoch));
  archive.write("step", torch::tensor(progress.step));
  archive.write("best_accuracy", torch::tensor(progress.best_accuracy, torch::kDouble));
  archive.write("random", at::globalContext().defaultGenerator(torch::kCPU).get_state());
  write(archive, file);
}

torch::Tensor read(torch::serialize::InputArchive& archive, const std::string& key) {
  torch::Tensor value;
  archive.read(key, value);
  return value;
}

void load_checkpoint(const fs::path& file, Net& net, torch::optim::AdamW& optimizer, Progress& progress,
                     torch::Device device) {
  if (!fs::exists(file)) throw std::runtime_error("there is no checkpoint " + file.string());
  torch::serialize::InputArchive archive, weights, moments;
  archive.load_from(file.string(), device);
  archive.read("net", weights);
  archive.read("optimizer", moments);
  net->load(weights);
  optimizer.load(moments);
  progress.epoch = read(archive, "epoch").item<int64_t>();
  progress.step = read(archive, "step").item<int64_t>();
  progress.best_accuracy = read(archive, "best_accuracy").item<double>();
  at::Generator random = at::globalContext().defaultGenerator(torch::kCPU);
  random.set_state(read(archive, "random").cpu());
}

/// The log: a CSV file with a row for each value.
class Log {
 public:
  Log(const fs::path& file, bool append) : out_(file, append ? std::ios::app : std::ios::trunc) {
    if (!out_) throw std::runtime_error("cannot write to " + file.string());
    if (!append) out_ << "step,name,value\n";
  }
  void write(int64_t step, const std::string& name, double value) {
    out_ << step << "," << name << "," << value << std::endl;
  }

 private:
  std::ofstream out_;
};

struct Evaluation {
  double loss = 0, accuracy = 0;
};

Evaluation validate(Net& net, const Split& split, int64_t batch_size, torch::Device device) {
  torch::NoGradGuard no_grad;
  net->eval();
  Evaluation sum;
  for (int64_t start = 0; start < split.x.size(0); start += batch_size) {
    const int64_t end = std::min(start + batch_size, split.x.size(0));
    const auto x = split.x.slice(0, start, end).to(device);
    const auto y = split.y.slice(0, start, end).to(device);
    const auto output = net->forward(x);
    sum.loss += F::cross_entropy(output, y).item<double>() * double(end - start);
    sum.accuracy += (output.argmax(1) == y).sum().item<double>();
  }
  net->train();
  const auto samples = double(split.x.size(0));
  return {sum.loss / samples, sum.accuracy / samples};
}

void train_epoch(Net& net, torch::optim::AdamW& optimizer, const Split& train, const Settings& settings,
                 torch::Device device, Progress& progress, Log& log) {
  const auto order = order_of_epoch(train.x.size(0), progress.epoch);
  const int64_t batches = train.x.size(0) / settings.batch_size;
  for (int64_t batch = 0; batch < batches; ++batch) {
    const auto indices = order.slice(0, batch * settings.batch_size, (batch + 1) * settings.batch_size);
    const auto x = train.x.index_select(0, indices).to(device);
    const auto y = train.y.index_select(0, indices).to(device);

    if (batch % settings.accumulate == 0) optimizer.zero_grad();
    const auto loss = F::cross_entropy(net->forward(x), y);
    (loss / settings.accumulate).backward();
    if ((batch + 1) % settings.accumulate == 0) {
      torch::nn::utils::clip_grad_norm_(net->parameters(), settings.max_norm);
      set_lr(optimizer, settings.lr * lr_factor(progress.step, settings.warmup, settings.total_steps));
      optimizer.step();
      ++progress.step;
    }
    if ((batch + 1) % settings.log_every == 0) {
      log.write(progress.step, "train_loss", loss.item<double>());
      std::printf("\repoch %lld  %lld/%lld  train_loss %.4f", static_cast<long long>(progress.epoch),
                  static_cast<long long>(batch + 1), static_cast<long long>(batches), loss.item<double>());
      std::fflush(stdout);
    }
  }
}

int run(const Settings& settings) {
  torch::manual_seed(1);
  const torch::Device device(torch::cuda::is_available() ? torch::kCUDA : torch::kCPU);
  fs::create_directories(settings.folder);
  const Split train = make_split(1024, 2), validation = make_split(250, 3);

  Net net;
  net->to(device);
  torch::optim::AdamW optimizer(net->parameters(),
                                torch::optim::AdamWOptions(settings.lr).weight_decay(settings.weight_decay));
  Progress progress;
  if (settings.resume) load_checkpoint(settings.folder / "last.pt", net, optimizer, progress, device);
  Log log(settings.folder / "log.csv", settings.resume);

  net->train();
  while (progress.epoch < settings.max_epochs) {
    train_epoch(net, optimizer, train, settings, device, progress, log);
    const Evaluation result = validate(net, validation, settings.batch_size, device);
    log.write(progress.step, "val_loss", result.loss);
    log.write(progress.step, "val_acc", result.accuracy);
    std::printf("  val_loss %.4f  val_acc %.4f\n", result.loss, result.accuracy);

    ++progress.epoch;
    const bool is_best = result.accuracy > progress.best_accuracy;
    if (is_best) progress.best_accuracy = result.accuracy;
    save_checkpoint(settings.folder / "last.pt", net, optimizer, progress);
    if (is_best)
      fs::copy_file(settings.folder / "last.pt", settings.folder / "best.pt", fs::copy_options::overwrite_existing);
  }
  net->to(torch::kCPU);
  torch::serialize::OutputArchive weights;
  net->save(weights);
  write(weights, settings.folder / "weights.pt");
  return 0;
}

int main(int argc, char** argv) {
  try {
    return run(parse(argc, argv));
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << "\n";
    return 1;
  }
}
