#pragma once
#include <levin/levin.h>

#include <functional>
#include <source_location>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/modules/parallel/ranks/rank_threads.h"
#include "tests/modules/parallel/seeded_numbers.h"

using levin::parallel::TensorGroup;
using torch::Tensor;

/// Throws if the condition does not hold: what Catch checks must be in one thread.
inline void holds(bool condition, const std::source_location& here = std::source_location::current()) {
  if (!condition) throw std::runtime_error("line " + std::to_string(here.line()) + " does not hold");
}

/// Calls `body` in as many threads, each a rank of a tensor group.
inline void start_ranks(int64_t ranks, const std::function<void(const TensorGroup&)>& body) {
  run_rank_threads(ranks, [&](levin::ProcessGroup& group) {
    std::vector<int64_t> all;
    for (int64_t rank = 0; rank < ranks; ++rank) all.push_back(rank);
    body(group.subgroup("tensor", all));
  });
}

/// Gives a module's parameters values in double precision, the same on all ranks.
template <class M>
M filled(M module) {
  module->to(torch::kDouble);
  uint64_t seed = 100;
  for (auto& parameter : module->parameters()) parameter.set_data(numbers(++seed, parameter.sizes()));
  return module;
}

/// Checks that `body`, in which `holds` is called, ends without an error on as many ranks.
inline void on_ranks(int64_t ranks, const std::function<void(const TensorGroup&)>& body) {
  INFO(ranks << " ranks");
  CHECK(error_text<std::exception>([&] { start_ranks(ranks, body); }) == "no error");
}

inline double difference(const Tensor& a, const Tensor& b) {
  holds(a.sizes() == b.sizes());
  return a.numel() == 0 ? 0 : (a - b).abs().max().item<double>();
}

/// This rank's part of a whole tensor.
inline Tensor part_of(const Tensor& whole, const torch::nn::Module& module, const std::string& name) {
  return levin::parallel::partitions_of(module).at(name).part_of(whole);
}

/// Checks that all ranks have the same bits.
inline void same_on_ranks(const Tensor& tensor, const TensorGroup& group) {
  for (const Tensor& one : group->all_gather(tensor.detach())) holds(one.equal(tensor));
}

constexpr double kClose = 1e-12;
