#include <levin/data/torch_data.h>
#include <levin/data/data_loader.h>
#include <torch/data/dataloader.h>
#include <torch/data/datasets/map.h>
#include <torch/data/datasets/tensor.h>
#include <torch/data/samplers/sequential.h>
#include <torch/data/transforms/stack.h>

#include "tests/captured_stderr.h"
#include "tests/catch.h"
#include "tests/data/counting.h"

using levin::Batch;
using namespace levin::data;
using levin::testing::range;
using levin::testing::rest_of;
using levin::testing::values;

namespace {

/// A user's dataset of torch::data.
class Squares : public torch::data::datasets::Dataset<Squares> {
 public:
  torch::data::Example<> get(size_t index) override {
    const auto i = static_cast<int64_t>(index);
    return {at::full({1}, i * i), at::full({}, i, at::TensorOptions(at::kLong))};
  }
  std::optional<size_t> size() const override { return 10; }
};

}  // namespace

TEST_CASE("a dataset of torch::data serves a levin loader") {
  for (const int64_t workers : {0, 3}) {
    DataLoader loader(TorchDataset{Squares()}, {.batch_size = 4, .num_workers = workers});
    const Batch batch = loader.next()->batch;
    CHECK(values(batch.input()) == std::vector<int64_t>{0, 1, 4, 9});
    CHECK(values(batch.target()) == range(4));
    CHECK(rest_of(loader).size() == 6);
  }
  DataLoader stacked(TorchDataset(Squares().map(torch::data::transforms::Stack<>())), {.batch_size = 10});
  CHECK(values(stacked.next()->batch.target()) == range(10));
  DataLoader tensors(TorchDataset(torch::data::datasets::TensorDataset(at::arange(6, at::TensorOptions(at::kLong)))),
                     {.batch_size = 6});
  CHECK(values(tensors.next()->batch.input()) == range(6));
}

TEST_CASE("a loader of torch::data serves as a levin loader, which may be left early and started again") {
  for (const size_t workers : {0, 2}) {
    auto loader = from_torch(torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(
        Squares().map(torch::data::transforms::Stack<>()),
        torch::data::DataLoaderOptions().batch_size(4).workers(workers)));
    CHECK(rest_of(loader) == range(10));
    loader.set_epoch(1);
    CHECK(values(loader.next()->batch.target()) == range(4));
    loader.set_epoch(2);
    CHECK(rest_of(loader) == range(10));
    loader.set_epoch(3);
    loader.next();
    const levin::State state = loader.state_dict();
    loader.set_epoch(4);
    const CapturedStderr captured;
    loader.load_state_dict(state);
    CHECK(rest_of(loader).front() == 4);
    CHECK(occurrences(captured.text(), "data: 4 samples of a stream are read again") == 1);
  }
  auto lists = from_torch(torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(Squares(), 4));
  CHECK(values(lists.next()->batch.target()) == range(4));
}

TEST_CASE("a distributed sampler of torch::data, whose order is the same in all epochs, is named in a warning") {
  const auto said_with = [](auto sampler) {
    const CapturedStderr captured;
    auto loader = from_torch(torch::data::make_data_loader(Squares().map(torch::data::transforms::Stack<>()),
                                                           std::move(sampler), torch::data::DataLoaderOptions(4)));
    loader.next();
    return captured.text();
  };
  CHECK(said_with(torch::data::samplers::DistributedRandomSampler(10)).find("the same order in each epoch") !=
        std::string::npos);
  CHECK(said_with(torch::data::samplers::SequentialSampler(10)).empty());
}
