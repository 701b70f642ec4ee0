#pragma once
#include <c10/core/Device.h>
#include <levin/modules/parallel/replicas/gather.h>
#include <levin/modules/parallel/replicas/replica_devices.h>
#include <levin/modules/parallel/replicas/replica_set.h>
#include <levin/modules/parallel/replicas/replica_threads.h>
#include <levin/modules/parallel/replicas/replicate.h>
#include <levin/modules/parallel/replicas/scatter.h>
#include <levin/modules/parallel/wrapper_module.h>
#include <torch/nn/pimpl.h>

#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace levin::parallel {

struct DataParallelOptions {
  std::vector<c10::Device> devices = {};          ///< the first is the module's device; empty: a plain call
  std::optional<c10::Device> output_device = {};  ///< where outputs are gathered; unset: the first device
  int64_t dim = 0;                                ///< dimension along which inputs are split and outputs gathered
  bool in_order = false;                          ///< run the replicas one after another on the calling thread
  bool share_memory = true;  ///< replicas on the CPU share the module's parameters instead of copying them
};

/// See DataParallel. `module()` is replica 0.
template <class Impl>
class DataParallelImpl : public WrapperModule<Impl> {
 public:
  /// The result type of forward for these arguments.
  template <class... Args>
  using Output = std::decay_t<decltype(std::declval<Impl&>().forward(std::declval<std::decay_t<Args>&>()...))>;

  DataParallelImpl(std::shared_ptr<Impl> module, DataParallelOptions options)
      : WrapperModule<Impl>("DataParallel", std::move(module)),
        options_(std::move(options)),
        replicas_(this->module(), options_.devices, options_.share_memory) {
    if (options_.output_device) options_.output_device = checked_devices({*options_.output_device}, "DataParallel")[0];
  }

  /// Runs the module's forward on chunks of the arguments and gathers the results; see `scatter` for the arguments that
  /// are split and `gather` for supported results. Exceptions of replicas are thrown as by run_replicas.
  template <class... Args>
  Output<Args...> forward(Args&&... args) {
    if (replicas_.devices().empty()) return this->module()->forward(args...);
    const Chunks chunks = chunks_of(args...);
    const size_t count = chunks.sizes.size();
    typename ReplicaSet::Forward step(replicas_, count);
    auto columns = std::tuple<std::vector<std::decay_t<Args>>...>(split<std::decay_t<Args>>(args, chunks)...);
    std::vector<std::optional<Output<Args...>>> outputs(count);
    run_replicas(
        chunks.devices,
        [&](size_t i) {
          auto& replica = static_cast<Impl&>(replicas_[i]);
          outputs[i].emplace(std::apply([&](auto&... column) { return replica.forward(column[i]...); }, columns));
        },
        options_.in_order);
    step.finish(chunks.sizes);
    chunk_sizes_ = chunks.sizes;
    return gathered(outputs);
  }

  const DataParallelOptions& options() const { return options_; }
  /// Returns the number of samples of each replica in the last forward: the weights for `weighted_mean`. Empty without
  /// devices.
  const std::vector<int64_t>& chunk_sizes() const { return chunk_sizes_; }

  void to(torch::Device device, torch::Dtype dtype, bool non_blocking = false) override {
    this->module()->to(device, dtype, non_blocking);
  }
  void to(torch::Dtype dtype, bool non_blocking = false) override { this->module()->to(dtype, non_blocking); }
  void to(torch::Device device, bool non_blocking = false) override { this->module()->to(device, non_blocking); }

 private:
  template <class... Args>
  Chunks chunks_of(const Args&... args) const {
    if (replicas_.devices().size() == 1) return {{1}, replicas_.devices(), options_.dim};
    RowCount rows(options_.dim);
    (rows.add(args), ...);
    return rows.chunks(replicas_.devices());
  }

  template <class T>
  T gathered(std::vector<std::optional<T>>& outputs) const {
    const c10::Device device = options_.output_device.value_or(replicas_.devices()[0]);
    if (replicas_.devices().size() == 1) return std::move(split<T>(*outputs[0], {{1}, {device}, options_.dim})[0]);
    std::vector<T> parts;
    for (std::optional<T>& output : outputs) parts.push_back(std::move(*output));
    return gather(parts, device, options_.dim);
  }

  DataParallelOptions options_;
  ReplicaSet replicas_;
  std::vector<int64_t> chunk_sizes_ = {};
};

/// A module, or a part of one, whose forward runs on several devices of this process, each on a chunk of the batch:
/// `DataParallel<LeNet> net(LeNet(), {.devices = {{torch::kCUDA, 0}, {torch::kCUDA, 1}}})`.
///
/// `M` is a module holder (LeNet) or its class (LeNetImpl); it must be cloneable and on the first device. Its
/// parameters, buffers and children are registered directly: names in a state dict have no prefix `module.`. The
/// replicas are kept between calls, and changed parameters are copied to them; gradients accumulate in the module's own
/// parameters; buffers (BatchNorm's statistics) become the mean over the replicas, weighted by their samples.
/// docs/parallel.md describes the costs. Source: torch.nn.DataParallel.
template <class M>
class DataParallel : public torch::nn::ModuleHolder<DataParallelImpl<ImplOf<M>>> {
 public:
  using Impl = DataParallelImpl<ImplOf<M>>;
  using Holder = torch::nn::ModuleHolder<Impl>;

  DataParallel(std::nullptr_t) : Holder(nullptr) {}
  DataParallel(std::shared_ptr<Impl> impl) : Holder(std::move(impl)) {}
  /// Throws levin::UsageError for devices that do not exist or are duplicates.
  explicit DataParallel(const M& module, DataParallelOptions options = {})
    requires requires { typename M::ContainedType; }
      : DataParallel(module.ptr(), std::move(options)) {}
  explicit DataParallel(std::shared_ptr<ImplOf<M>> module, DataParallelOptions options = {})
      : Holder(std::make_shared<Impl>(std::move(module), std::move(options))) {}

  /// Calls forward; the operator() of LibTorch's holders does not support a template forward.
  template <class... Args>
  auto operator()(Args&&... args) {
    return (*this)->forward(std::forward<Args>(args)...);
  }
};

/// Runs one forward over several devices with temporary replicas. For more than one forward, DataParallel is faster.
/// Source: torch.nn.parallel.data_parallel.
template <class M, class... Args>
auto data_parallel(const M& module, DataParallelOptions options, Args&&... args) {
  return DataParallelImpl<ImplOf<M>>(pointer_to(module), std::move(options)).forward(std::forward<Args>(args)...);
}

}  // namespace levin::parallel
