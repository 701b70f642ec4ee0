// Measures steps on a GPU under Trainer::fit in several variants, on batches in memory; prints Markdown tables.
//
//   benchmark_gpu [--short] SECTION...
//
// SECTION: graphs (a hand-written loop, normal steps, and captured steps), layouts (contiguous and channels_last),
// precisions (time and peak memory), copies (batches that stay on the GPU, and batches from page-locked and from
// pageable memory), ranks (one rank of ddp, over NCCL). Without a GPU, layouts and precisions run on the CPU at a small
// size, and the other sections are skipped; the exit status is 77 if nothing was measured.
#include <algorithm>
#include <cstdio>

#include "benchmarks/gpu_ways.h"

namespace {

/// The amount of measurement.
struct Effort {
  int rounds;
  double steps;  ///< a factor
  int64_t of(int64_t usual) const {
    return std::max<int64_t>(5, static_cast<int64_t>(static_cast<double>(usual) * steps));
  }
};

TrainingCase sized(const std::string& name, int64_t batch_size, int64_t batches = 1) {
  TrainingCase which = training_case(name);
  which.batch_size = batch_size;
  which.samples = batches * batch_size;
  return which;
}

/// Returns the case's batches, on the device or in main memory.
Batches batches_of(const TrainingCase& which, torch::Device where) {
  torch::manual_seed(1);
  const TrainingData data(which);
  Batches batches;
  for (int64_t i = 0; i < which.steps_per_epoch(); ++i)
    batches.emplace_back(data.input.narrow(0, i * which.batch_size, which.batch_size).to(where),
                         data.target.narrow(0, i * which.batch_size, which.batch_size).to(where));
  return batches;
}

std::string title_of(const TrainingCase& which) {
  return which.name + ", batches of " + std::to_string(which.batch_size);
}

void graphs(const Effort& effort) {
  for (const TrainingCase& which : {sized("mlp_adam", 32), sized("lenet", 64), sized("gpt", 8)}) {
    const Batches batches = batches_of(which, device());
    const int64_t steps = effort.of(1000);
    compare("graphs: " + title_of(which), effort.rounds,
            {{"by hand", [&] { return hand(which, batches, steps); }},
             {"fit", [&] { return fit(which, batches, steps, {}); }},
             {"fit, cuda_graphs", [&] { return fit(which, batches, steps, {.cuda_graphs = true}); }},
             {"fit, cuda_graphs, bf16-mixed",
              [&] { return fit(which, batches, steps, {.precision = "bf16-mixed", .cuda_graphs = true}); }}});
  }
}

void layouts(const Effort& effort) {
  const TrainingCase which = has_gpu() ? sized("resnet18", 256) : sized("lenet", 16);
  const Batches batches = batches_of(which, device());
  const auto way = [&](const std::string& name, const How& how) {
    return Way{name, [&, how] { return fit(which, batches, effort.of(40), how); }};
  };
  compare("layouts: " + title_of(which), effort.rounds,
          {way("32-true", {}), way("32-true, channels_last", {.memory_format = "channels_last"}),
           way("bf16-mixed", {.precision = "bf16-mixed"}),
           way("bf16-mixed, channels_last", {.precision = "bf16-mixed", .memory_format = "channels_last"})});
}

void precisions(const Effort& effort) {
  const std::vector<TrainingCase> on_gpu = {sized("resnet18", 512), sized("mlp_1024", 16384)};
  const std::vector<TrainingCase> on_cpu = {sized("mlp_1024", 16)};
  for (const TrainingCase& which : has_gpu() ? on_gpu : on_cpu) {
    const Batches batches = batches_of(which, device());
    std::vector<Way> ways;
    for (const char* precision : {"32-true", "bf16-mixed", "16-mixed", "bf16-true"})
      ways.push_back(
          {precision, [&, precision] { return fit(which, batches, effort.of(40), {.precision = precision}); }});
    if (has_gpu())
      ways.push_back({"32-true, float32_matmul_precision high",
                      [&] { return fit(which, batches, effort.of(40), {.float32_matmul_precision = "high"}); }});
    compare("precisions: " + title_of(which), effort.rounds, ways);
  }
}

void copies(const Effort& effort) {
  const TrainingCase which = sized("mlp_wide", 1024, /*batches=*/4);
  const Batches pageable = batches_of(which, torch::kCPU), there = batches_of(which, device());
  Batches locked;
  for (const levin::Batch& batch : pageable) locked.push_back(batch.pin_memory());
  const int64_t steps = effort.of(100);
  const std::vector<double> us =
      compare("copies: " + title_of(which), effort.rounds,
              {{"batches that stay on the GPU", [&] { return fit(which, there, steps, {}); }},
               {"copies alone, from page-locked memory", [&] { return copies_alone(locked, steps); }},
               {"from page-locked memory", [&] { return fit(which, locked, steps, {}); }},
               {"from pageable memory", [&] { return fit(which, pageable, steps, {}); }}});
  std::printf("\n%.0f %% of what could overlap, copies or computing, does.\n",
              100 * (us[0] + us[1] - us[2]) / std::min(us[0], us[1]));
}

void ranks(const Effort& effort) {
  for (const TrainingCase& which : {sized("mlp_adam", 32), sized("resnet18", 256)}) {
    const Batches batches = batches_of(which, device());
    const int64_t steps = effort.of(which.name == "resnet18" ? 40 : 500);
    compare("ranks: " + title_of(which), effort.rounds,
            {{"no ranks", [&] { return fit(which, batches, steps, {}); }},
             {"one rank of ddp", [&] { return fit(which, batches, steps, {.strategy = "ddp"}); }},
             {"one rank of zero1", [&] { return fit(which, batches, steps, {.strategy = "zero1"}); }}});
  }
}

struct Section {
  const char* name;
  bool needs_gpu;
  void (*run)(const Effort& effort);
};

constexpr Section kSections[] = {{"graphs", true, graphs},
                                 {"layouts", false, layouts},
                                 {"precisions", false, precisions},
                                 {"copies", true, copies},
                                 {"ranks", true, ranks}};

}  // namespace

int main(int argc, char** argv) try {
  constexpr int kSkipped = 77;
  std::vector<std::string> words(argv + 1, argv + argc);
  const bool is_short = std::erase(words, "--short") > 0;
  int measured = 0;
  for (const std::string& word : words) {
    const auto* const section =
        std::find_if(std::begin(kSections), std::end(kSections), [&](const Section& one) { return one.name == word; });
    if (section == std::end(kSections)) throw levin::UsageError("no section ", word);
    if (section->needs_gpu && !has_gpu()) {
      std::printf("SKIPPED: %s needs a GPU\n", section->name);
      continue;
    }
    section->run(is_short ? Effort{1, 0.25} : Effort{3, 1.0});
    ++measured;
  }
  if (words.empty())
    throw levin::UsageError("usage: benchmark_gpu [--short] graphs|layouts|precisions|copies|ranks...");
  return measured > 0 ? 0 : kSkipped;
} catch (const levin::UsageError& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
