#pragma once
#include <levin/data/dataset.h>
#include <levin/data/loader.h>
#include <torch/data/dataloader/base.h>
#include <torch/data/dataloader/stateless.h>
#include <torch/data/datasets/base.h>
#include <torch/data/example.h>
#include <torch/data/samplers/distributed.h>

#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

/// Adapters from LibTorch's own torch::data datasets and loaders to levin:
///
///     trainer.fit(module, data::from_torch(torch::data::make_data_loader(std::move(dataset), 64)));
///     data::DataLoader loader(data::TorchDataset(torch::data::datasets::MNIST("mnist")), {.num_workers = 2});
namespace levin::data {

/// Converts a tensor, an Example, or a std::vector of them to a batch. For other types, overload this function.
template <class Data, class Target>
Batch to_batch(const torch::data::Example<Data, Target>& example) {
  if constexpr (std::is_void_v<Target>)
    return Batch(example.data);
  else
    return Batch(example.data, example.target);
}
inline Batch to_batch(const at::Tensor& tensor) { return Batch(tensor); }
template <class Sample>
Batch to_batch(const std::vector<Sample>& samples) {
  std::vector<Batch> batches;
  for (const Sample& sample : samples) batches.push_back(to_batch(sample));
  return Batch::stack(batches);
}

/// A map-style torch::data dataset, stacked or not. Each thread has its own copy, as in torch::data's loader.
template <class D>
class TorchDataset final : public Dataset {
 public:
  explicit TorchDataset(D dataset) : shared_(std::make_shared<Shared>(std::move(dataset))) {}

  int64_t size() const override { return static_cast<int64_t>(shared_->original.size().value()); }

  void get_batch(const Indices& indices, Batch& out) const override {
    std::vector<size_t> wanted;
    for (const int64_t index : indices) wanted.push_back(static_cast<size_t>(index));
    std::unique_ptr<D> copy = shared_->take();
    out = to_batch(copy->get_batch(wanted));
    shared_->give_back(std::move(copy));
  }

 private:
  struct Shared {
    explicit Shared(D dataset) : original(std::move(dataset)) {}
    std::unique_ptr<D> take() {
      const std::lock_guard lock(mutex);
      if (copies.empty()) return std::make_unique<D>(original);
      std::unique_ptr<D> copy = std::move(copies.back());
      copies.pop_back();
      return copy;
    }
    void give_back(std::unique_ptr<D> copy) {
      const std::lock_guard lock(mutex);
      copies.push_back(std::move(copy));
    }
    D original;
    std::mutex mutex = {};
    std::vector<std::unique_ptr<D>> copies = {};
  };

  std::shared_ptr<Shared> shared_;
};

namespace detail {

/// The sampler of a torch::data loader; void if it has none of its own.
template <class L>
struct SamplerOf {
  using type = void;
};
template <class D, class S>
struct SamplerOf<torch::data::StatelessDataLoader<D, S>> {
  using type = S;
};

/// Warns of a distributed sampler, whose epoch nobody can set behind its loader.
void warn_of_one_order();

}  // namespace detail

/// Wraps a torch::data loader, stateless or stateful, with its own workers, sampler and order.
///
/// The order comes from its sampler: it does not depend on the run's seed, and a resumed run reads the epoch again up
/// to its position, in a new order if the sampler is random. A DataLoader of a TorchDataset has neither limit.
template <class L>
StreamLoader from_torch(std::unique_ptr<L> loader) {
  using Value = typename L::BatchType;
  using OwnSampler = typename detail::SamplerOf<L>::type;
  if constexpr (std::is_base_of_v<torch::data::samplers::DistributedSampler<>, OwnSampler>) detail::warn_of_one_order();
  struct Reader {
    explicit Reader(std::unique_ptr<L> from) : loader(std::move(from)) {}
    /// torch::data refuses to start an epoch before the last one was read to its end.
    void begin() {
      while (read()) {
      }
      at.emplace(loader->begin());
    }
    std::optional<Batch> read() {
      if (!at) return {};
      if (*at == loader->end()) {
        at.reset();
        return {};
      }
      Batch batch = to_batch(**at);
      ++*at;
      return batch;
    }
    std::unique_ptr<L> loader;
    std::optional<torch::data::Iterator<Value>> at = {};
  };
  auto reader = std::make_shared<Reader>(std::move(loader));
  return StreamLoader([reader](int64_t /*epoch*/) {
    reader->begin();
    return [reader] { return reader->read(); };
  });
}

}  // namespace levin::data
