#include <levin/modules/parallel/replicas/collectives.h>
#include <levin/modules/parallel/replicas/replica_devices.h>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/modules/parallel/parallel_nets.h"

using levin::ReduceOp;
using levin::parallel::all_reduce;
using levin::parallel::broadcast;

TEST_CASE("broadcast gives each device its own memory", "[parallel]") {
  const auto weight = torch::randn({3, 2}, torch::requires_grad());
  const auto copies = broadcast(weight, cpus(3));
  REQUIRE(copies.size() == 3);
  for (const auto& copy : copies) {
    CHECK(torch::equal(copy, weight));
    CHECK_FALSE(copy.requires_grad());
    CHECK_FALSE(copy.is_alias_of(weight));
  }
  const auto lists = broadcast(std::vector<torch::Tensor>{weight, torch::arange(4)}, cpus(2));
  CHECK(torch::equal(lists[1][1], torch::arange(4)));
}

TEST_CASE("all_reduce leaves the reduction on each device", "[parallel]") {
  const auto reduced = [](ReduceOp op) {
    const std::vector<torch::Tensor> tensors{torch::tensor({1.0, 5.0}), torch::tensor({2.0, 3.0}),
                                             torch::tensor({6.0, 1.0})};
    all_reduce(tensors, op);
    CHECK(torch::equal(tensors[0], tensors[1]));
    CHECK(torch::equal(tensors[0], tensors[2]));
    return std::pair(tensors[2][0].item<double>(), tensors[2][1].item<double>());
  };
  CHECK(reduced(ReduceOp::Sum) == std::pair(9.0, 9.0));
  CHECK(reduced(ReduceOp::Mean) == std::pair(3.0, 3.0));
  CHECK(reduced(ReduceOp::Min) == std::pair(1.0, 1.0));
  CHECK(reduced(ReduceOp::Max) == std::pair(6.0, 5.0));
  all_reduce(std::vector<torch::Tensor>{});
}

TEST_CASE("all_reduce refuses tensors that do not belong together", "[parallel]") {
  const auto error = [](std::vector<std::vector<torch::Tensor>> lists) {
    return error_text<levin::UsageError>([&] { all_reduce(lists); });
  };
  CHECK(contains(error({{torch::ones({2})}, {torch::ones({3})}}), "Float [2] on the first device, Float [3]"));
  CHECK(contains(error({{torch::ones({2})}, {torch::ones({2}, torch::kLong)}}), "Long [2] on device 1"));
  CHECK(contains(error({{torch::ones({2})}, {}}), "0 on device 1"));
  CHECK(contains(error({{torch::ones({2})}, {torch::Tensor()}}), "undefined"));
  CHECK(contains(error({{torch::ones({2}), torch::ones({2}, torch::kMeta)}}), "are on cpu and meta"));
}

TEST_CASE("Devices that do not exist are refused by name", "[parallel]") {
  const auto error = [](const char* device) {
    return error_text<levin::UsageError>([&] { levin::parallel::checked_devices({torch::Device(device)}, "scatter"); });
  };
  CHECK(contains(error("mps:0"), "scatter: the device mps:0 was asked for, and this LibTorch has no mps"));
  CHECK(contains(error("meta:7"), "there is no meta:7"));
  CHECK(contains(
      error_text<levin::UsageError>([&] { levin::parallel::checked_devices({torch::kMeta, torch::kMeta}, "scatter"); }),
      "stands twice"));
  CHECK(levin::parallel::checked_devices({torch::Device("cpu:0"), torch::kCPU}, "scatter") == cpus(2));
}
