#pragma once
#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "benchmarks/training_cases.h"

// Variants of training on a GPU, with their time and memory.

using Batches = std::vector<levin::Batch>;

bool has_gpu();
/// Returns the first GPU, or the CPU without one.
torch::Device device();
void wait_for_device();
/// Returns the number of first steps that are not measured: libraries choose kernels, and graphs are captured.
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

/// Measures Trainer::fit on `batches`, repeated cyclically.
Figures fit(const TrainingCase& which, const Batches& batches, int64_t steps, const How& how);
/// Measures a hand-written loop with LibTorch's optimizer, which reads the loss every 50 steps.
Figures hand(const TrainingCase& which, const Batches& batches, int64_t steps);
/// Measures only the copies to the GPU, one after the other.
Figures copies_alone(const Batches& batches, int64_t steps);

struct Way {
  std::string name;
  std::function<Figures()> run;
};

/// Runs all ways in alternation, prints a table and returns the median microseconds. Ratios are to the first way.
std::vector<double> compare(const std::string& title, int rounds, const std::vector<Way>& ways);
