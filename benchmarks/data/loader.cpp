// levin's loader against a bare index_select loop and torch::data, over 60,000 images in memory, in one process and in
// alternation; benchmarks/data/loader.py measures Python's DataLoader over the same data.
//
//   benchmark_data_loader [ROUNDS]            thousand samples a second, and the ratios of the medians
//   benchmark_data_loader skip                going to sample 10 million of 20 million shuffled ones: time and memory
//   benchmark_data_loader step [ROUNDS]       a training step of an MLP fed by each, against one constant batch
#include <levin/data/torch_data.h>
#include <levin/levin.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <string>

namespace {

constexpr int64_t kSamples = 60000;

using Clock = std::chrono::steady_clock;

double seconds_of(const std::function<void()>& work) {
  const auto begin = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// The least that a loop does with a batch: it reads one value.
struct Sink {
  float sum = 0;
  void see(const torch::Tensor& images) { sum += *images.const_data_ptr<float>(); }
};

struct Images {
  torch::Tensor inputs = torch::randn({kSamples, 1, 28, 28});
  torch::Tensor targets = torch::randint(10, {kSamples});
};

using Use = std::function<void(const torch::Tensor& inputs, const torch::Tensor& targets)>;

void bare_epoch(const Images& data, int64_t batch_size, int64_t /*epoch*/, const Use& use) {
  const torch::Tensor order = torch::randperm(kSamples);
  for (int64_t i = 0; i < kSamples; i += batch_size) {
    const torch::Tensor index = order.narrow(0, i, std::min(batch_size, kSamples - i));
    use(data.inputs.index_select(0, index), data.targets.index_select(0, index));
  }
}

/// A dataset like torch::data's MNIST: one tensor per sample, to be stacked.
class TorchImages : public torch::data::datasets::Dataset<TorchImages> {
 public:
  explicit TorchImages(Images data) : data_(std::move(data)) {}
  torch::data::Example<> get(size_t index) override {
    return {data_.inputs[static_cast<int64_t>(index)], data_.targets[static_cast<int64_t>(index)]};
  }
  std::optional<size_t> size() const override { return kSamples; }

 private:
  Images data_;
};

/// One variant of loading; `epoch` runs an epoch.
struct Way {
  std::string name;
  std::function<void(int64_t epoch, const Use&)> epoch;
};

Way levin_way(const Images& data, int64_t batch_size, int64_t workers) {
  const auto loader = std::make_shared<levin::data::DataLoader>(
      levin::data::TensorDataset(data.inputs, data.targets),
      levin::data::DataLoaderOptions{.batch_size = batch_size, .shuffle = true, .num_workers = workers});
  return {"levin, " + std::to_string(workers) + " workers", [loader](int64_t epoch, const Use& use) {
            loader->set_epoch(epoch);
            while (auto loaded = loader->next()) use(loaded->batch.input(), loaded->batch.target());
          }};
}

Way torch_way(const Images& data, int64_t batch_size, size_t workers) {
  std::shared_ptr loader = torch::data::make_data_loader(
      TorchImages(data).map(torch::data::transforms::Stack<>()),
      torch::data::DataLoaderOptions().batch_size(static_cast<size_t>(batch_size)).workers(workers));
  return {"torch::data, " + std::to_string(workers) + " workers", [loader](int64_t, const Use& use) {
            for (const auto& batch : *loader) use(batch.data, batch.target);
          }};
}

Way bare_way(const Images& data, int64_t batch_size) {
  return {"index_select by hand",
          [&data, batch_size](int64_t epoch, const Use& use) { bare_epoch(data, batch_size, epoch, use); }};
}

/// Returns the median thousand samples per second by name; each round runs all variants in alternation.
std::map<std::string, double> compare(const std::vector<Way>& ways, int rounds, const Use& use) {
  std::map<std::string, std::vector<double>> speeds;
  for (int round = -1; round < rounds; ++round) {  // the first one warms up
    for (const Way& way : ways) {
      const double seconds = seconds_of([&] { way.epoch(round + 1, use); });
      if (round >= 0) speeds[way.name].push_back(kSamples / seconds / 1000);
    }
  }
  std::map<std::string, double> medians;
  for (const auto& [name, all] : speeds) medians[name] = median(all);
  return medians;
}

void loading(int rounds) {
  const Images data;
  for (const int64_t batch_size : {64, 256}) {
    std::vector<Way> ways = {bare_way(data, batch_size)};
    for (const int64_t workers : {0, 1, 2}) {
      ways.push_back(levin_way(data, batch_size, workers));
      ways.push_back(torch_way(data, batch_size, static_cast<size_t>(workers)));
    }
    Sink sink;
    const auto medians =
        compare(ways, rounds, [&](const torch::Tensor& inputs, const torch::Tensor&) { sink.see(inputs); });
    for (const auto& [name, speed] : medians) {
      std::printf("batch %3ld  %-24s %8.0f thousand samples/s\n", batch_size, name.c_str(), speed);
    }
    const auto ratio = [&](const std::string& a, const std::string& b) { return medians.at(a) / medians.at(b); };
    std::printf(
        "batch %3ld  levin with 0 workers: %.2fx of index_select by hand; of torch::data %.2fx with 0 workers, "
        "%.2fx with 2\n",
        batch_size, ratio("levin, 0 workers", "index_select by hand"),
        ratio("levin, 0 workers", "torch::data, 0 workers"), ratio("levin, 2 workers", "torch::data, 2 workers"));
  }
}

/// Training of the 784-64-10 network with SGD and momentum, fed by a loop.
struct Training {
  torch::nn::Sequential net{torch::nn::Flatten(), torch::nn::Linear(784, 64), torch::nn::ReLU(),
                            torch::nn::Linear(64, 10)};
  torch::optim::SGD optimizer{net->parameters(), torch::optim::SGDOptions(0.01).momentum(0.9)};
  void step(const torch::Tensor& inputs, const torch::Tensor& targets) {
    optimizer.zero_grad();
    torch::nn::functional::cross_entropy(net->forward(inputs), targets).backward();
    optimizer.step();
  }
};

void training(int rounds) {
  torch::set_num_threads(1);
  const Images data;
  const int64_t batch_size = 32;
  const torch::Tensor inputs = data.inputs.narrow(0, 0, batch_size).clone(),
                      targets = data.targets.narrow(0, 0, batch_size).clone();
  const Way constant{"one constant batch", [&](int64_t, const Use& use) {
                       for (int64_t i = 0; i < kSamples; i += batch_size) use(inputs, targets);
                     }};
  Training training;
  const auto medians = compare({constant, bare_way(data, batch_size), levin_way(data, batch_size, 0),
                                levin_way(data, batch_size, 1), torch_way(data, batch_size, 1)},
                               rounds, [&](const auto& x, const auto& y) { training.step(x, y); });
  const double steps = kSamples / static_cast<double>(batch_size);
  for (const auto& [name, speed] : medians) {
    std::printf("%-24s %8.1f us a step, %.3fx of one constant batch, %.3fx of index_select by hand\n", name.c_str(),
                kSamples / speed / 1000 / steps * 1e6, medians.at(constant.name) / speed,
                medians.at("index_select by hand") / speed);
  }
}

/// A dataset of 20 million samples without data.
class Numbers : public levin::data::Dataset {
 public:
  int64_t size() const override { return 20'000'000; }
  void get_batch(const levin::data::Indices& indices, levin::Batch& out) const override {
    out = levin::Batch(indices.tensor());
  }
};

double resident_megabytes() {
  std::ifstream status("/proc/self/statm");
  int64_t pages = 0, resident = 0;
  status >> pages >> resident;
  return static_cast<double>(resident) * 4096 / 1e6;
}

void skipping() {
  const levin::data::DataLoaderOptions options{.batch_size = 64, .shuffle = true};
  levin::data::DataLoader warm{Numbers(), options};
  warm.next();
  levin::State state = warm.state_dict();
  state["position"] = 10'000'000;
  warm.load_state_dict(state);  // warms up, so that the measurement below excludes paging in code
  warm.next()->batch.input()[0].item<int64_t>();
  const double before = resident_megabytes();
  levin::data::DataLoader loader{Numbers(), options};
  int64_t first = 0;
  const double seconds = seconds_of([&] {
    loader.load_state_dict(state);
    first = loader.next()->batch.input()[0].item<int64_t>();
  });
  std::printf("to sample 10 million of 20 million shuffled ones (it is number %ld): %.6f s, %.2f MB more\n", first,
              seconds, resident_megabytes() - before);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "skip") {
    skipping();
  } else if (what == "step") {
    training(argc > 2 ? std::stoi(argv[2]) : 9);
  } else {
    loading(what.empty() ? 7 : std::stoi(what));
  }
}
