#pragma once
#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "benchmarks/training_cases.h"

// Ways to train on a GPU, and what they cost.

using Batches = std::vector<levin::Batch>;

bool has_gpu();
/// The first GPU; the CPU where there is none.
torch::Device device();
void wait_for_device();
/// The first steps of each way, which are not measured: libraries choose, and graphs are captured.
int64_t warm_up();

struct Figures {
  double us_per_step = 0;
  double peak_mb = 0;  ///< of the GPU's memory, by tensors
};

struct How {
  const char* precision = "32-true";
  const char* memory_format = "preserve";
  bool cuda_graphs = false;
  const char* strategy = "auto";
  const char* float32_matmul_precision = nullptr;
};

/// Under fit; `batches` go round.
Figures fit(const TrainingCase& which, const Batches& batches, int64_t steps, const How& how);
/// The loop as one writes it with LibTorch's optimizer, the loss read now and then.
Figures hand(const TrainingCase& which, const Batches& batches, int64_t steps);
/// Copies to the GPU, one after the other, and nothing else.
Figures copies_alone(const Batches& batches, int64_t steps);

struct Way {
  std::string name;
  std::function<Figures()> run;
};

/// All ways in turn, round by round, as a table; returns the medians of their microseconds. Ratios are to the first.
std::vector<double> compare(const std::string& title, int rounds, const std::vector<Way>& ways);
