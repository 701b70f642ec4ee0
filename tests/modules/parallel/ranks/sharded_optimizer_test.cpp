// Optimizers whose state is divided among ranks step like those with the whole state.
#include <levin/core/ranks/torch_compat/flat_collectives.h>
#include <levin/levin.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include <limits>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/modules/parallel/ranks/rank_threads.h"
#include "tests/modules/parallel/seeded_numbers.h"

using levin::State;
using levin::parallel::GradientReducer;
using levin::parallel::ShardedOptimizer;
using torch::Tensor;

namespace {

/// Images whose memory is channels_last, a number without dimensions, a layer that is frozen; sizes that no number of
/// ranks divides.
struct NetImpl : torch::nn::Module {
  NetImpl() {
    to(torch::kDouble);
    uint64_t seed = 0;
    for (auto& parameter : parameters()) parameter.set_data(numbers(++seed, parameter.sizes()) / 2);
    for (auto& parameter : frozen->parameters()) parameter.set_requires_grad(false);
    conv->weight.set_data(conv->weight.detach().contiguous(at::MemoryFormat::ChannelsLast));
  }
  Tensor forward(const Tensor& images) { return last(frozen(torch::tanh(conv(images)).mean({2, 3}))) * scale; }
  torch::nn::Conv2d conv = register_module("conv", torch::nn::Conv2d(3, 5, 3));
  torch::nn::Linear frozen = register_module("frozen", torch::nn::Linear(5, 7));
  torch::nn::Linear last = register_module("last", torch::nn::Linear(7, 3));
  Tensor scale = register_parameter("scale", torch::ones({}));
};

Tensor images(int64_t step) { return numbers(static_cast<uint64_t>(100 + step), {12, 3, 5, 5}); }

using Make = std::function<std::unique_ptr<torch::optim::Optimizer>(NetImpl&)>;

template <class Optimizer, class Options>
Make make(Options options) {
  return [options](NetImpl& net) {
    std::vector<Tensor> trained;
    for (const Tensor& parameter : net.parameters())
      if (parameter.requires_grad()) trained.push_back(parameter);
    return std::make_unique<Optimizer>(trained, options);
  };
}

/// Every optimizer that steps elements, with all of their state.
const std::vector<std::pair<const char*, Make>>& elementwise_optimizers() {
  using namespace levin::optim;
  static const std::vector<std::pair<const char*, Make>> all = {
      {"SGD", make<SGD>(SGDOptions{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01})},
      {"Adam", make<Adam>(AdamOptions{.lr = 0.01, .amsgrad = true})},
      {"AdamW", make<AdamW>(AdamWOptions{.lr = 0.01})},
      {"SGD, fused", make<SGD>(SGDOptions{.lr = 0.1, .momentum = 0.9, .fused = true})},
      {"AdamW, fused", make<AdamW>(AdamWOptions{.lr = 0.01, .fused = true})},
      {"Adagrad, fused", make<Adagrad>(AdagradOptions{.lr = 0.1, .fused = true})},
      {"RMSprop", make<RMSprop>(RMSpropOptions{.lr = 0.01, .momentum = 0.5, .centered = true})},
      {"Adagrad", make<Adagrad>(AdagradOptions{.lr = 0.1})},
      {"Adadelta", make<Adadelta>(AdadeltaOptions{})},
      {"Adamax", make<Adamax>(AdamaxOptions{})},
      {"NAdam", make<NAdam>(NAdamOptions{})},
      {"RAdam", make<RAdam>(RAdamOptions{})},
      {"Rprop", make<Rprop>(RpropOptions{})},
      {"ASGD", make<ASGD>(ASGDOptions{})},
      {"Lion", make<Lion>(LionOptions{})},
      {"ScheduleFreeAdamW", make<ScheduleFreeAdamW>(ScheduleFreeAdamWOptions{.lr = 0.01})},
      {"torch::optim::SGD", make<torch::optim::SGD>(torch::optim::SGDOptions(0.1).momentum(0.9))},
      {"torch::optim::AdamW", make<torch::optim::AdamW>(torch::optim::AdamWOptions(0.01))},
      {"torch::optim::Adagrad", make<torch::optim::Adagrad>(torch::optim::AdagradOptions(0.1))},
  };
  return all;
}

/// Trains on all samples, without ranks.
struct Alone {
  explicit Alone(const Make& make_optimizer) : optimizer(make_optimizer(*net)) {}
  void step(int64_t number) {
    optimizer->zero_grad();
    net->forward(images(number)).square().mean().backward();
    optimizer->step();
  }
  std::shared_ptr<NetImpl> net = std::make_shared<NetImpl>();
  std::unique_ptr<torch::optim::Optimizer> optimizer;
};

/// Trains on this rank's part of the samples.
struct Rank {
  Rank(levin::ProcessGroup& ranks, const Make& make_optimizer)
      : group(ranks), inner(make_optimizer(*net)), optimizer(*inner, reducer) {}
  void step(int64_t number) {
    const int64_t samples = 12 / group.world_size();
    optimizer.zero_grad();
    reducer.backward(net->forward(images(number).narrow(0, group.rank() * samples, samples)).square().mean());
    optimizer.take_gradients();
    optimizer.step();
  }
  levin::ProcessGroup& group;
  std::shared_ptr<NetImpl> net = std::make_shared<NetImpl>();
  GradientReducer reducer{*net, group, {.bucket_cap_mb = 1e-4, .first_bucket_mb = 1e-4, .shard_gradients = true}};
  std::unique_ptr<torch::optim::Optimizer> inner;
  ShardedOptimizer optimizer;
};

double difference_of_nets(const NetImpl& a, const NetImpl& b) {
  double largest = 0;
  const auto theirs = b.named_parameters();
  for (const auto& item : a.named_parameters())
    largest = std::max(largest, (item.value() - theirs[item.key()]).abs().max().item<double>());
  return largest;
}

/// Returns the largest difference between two states in Python's layout, which must have the same keys and shapes.
double difference_of_states(const State& a, const State& b) {
  double largest = 0;
  REQUIRE(a.at("state").size() == b.at("state").size());
  for (const auto& [index, values] : a.at("state").to_dict()) {
    const State& theirs = b.at("state").at(index);
    REQUIRE(values.size() == theirs.size());
    for (const auto& [name, value] : values.to_dict()) {
      INFO(levin::to_text(index) << " " << levin::to_text(name));
      const Tensor own = value.to_tensor(), other = theirs.at(name).to_tensor();
      REQUIRE(own.sizes() == other.sizes());
      REQUIRE(own.strides() == other.strides());
      largest = std::max(largest, (own.to(at::kDouble) - other.to(at::kDouble)).abs().max().item<double>());
    }
  }
  return largest;
}

}  // namespace

TEST_CASE("each elementwise optimizer steps in shares as it does whole, and gives its whole state") {
  for (const auto& [name, make_optimizer] : elementwise_optimizers()) {
    INFO(name);
    Alone alone(make_optimizer);
    for (int64_t step = 0; step < 4; ++step) alone.step(step);
    const State expected = levin::optim::optimizer_state_dict(*alone.optimizer);
    for (const int64_t world_size : {2, 3}) {
      INFO(world_size << " ranks");
      std::vector<std::shared_ptr<NetImpl>> nets(static_cast<size_t>(world_size));
      State whole;
      int64_t elements = 0;
      std::mutex mutex;
      run_rank_threads(world_size, [&, &make_optimizer = make_optimizer](levin::ProcessGroup& group) {
        Rank rank(group, make_optimizer);
        for (int64_t step = 0; step < 4; ++step) rank.step(step);
        const State state = rank.optimizer.state_dict();
        const std::lock_guard lock(mutex);
        nets[static_cast<size_t>(group.rank())] = rank.net;
        for (const auto& part : rank.inner->param_groups()[0].params()) elements += part.numel();
        if (group.rank() == 0) whole = state;
        if (group.rank() != 0 && !state.is_none()) throw std::runtime_error("the state is rank 0's");
      });
      CHECK(elements == 3 * 5 * 9 + 5 + 7 * 3 + 3 + 1);  // each trained element on one rank
      for (const auto& net : nets) CHECK(difference_of_nets(*net, *alone.net) < 1e-12);
      CHECK(difference_of_states(whole, expected) < 1e-12);
    }
  }
}

TEST_CASE("a state goes from shares to another number of ranks, to none, and back") {
  const Make adam = make<levin::optim::Adam>(levin::optim::AdamOptions{.lr = 0.01});
  Alone alone(adam);
  for (int64_t step = 0; step < 4; ++step) alone.step(step);
  State after_two;
  Alone first(adam);
  for (int64_t step = 0; step < 2; ++step) first.step(step);
  const State whole = levin::optim::optimizer_state_dict(*first.optimizer);
  for (const int64_t world_size : {2, 4}) {
    run_rank_threads(world_size, [&](levin::ProcessGroup& group) {
      Rank rank(group, adam);
      const at::NoGradGuard no_grad;
      const auto trained = first.net->named_parameters();
      for (auto& item : rank.net->named_parameters()) item.value().copy_(trained[item.key()]);
      rank.optimizer.load_state_dict(whole);
      const at::AutoGradMode with_gradients(true);
      for (int64_t step = 2; step < 4; ++step) rank.step(step);
      if (difference_of_nets(*rank.net, *alone.net) > 1e-12)
        throw std::runtime_error("does not end as the unbroken run");
    });
  }
}

TEST_CASE("a hook changes gradients in parts as it changes whole ones, and sees their norms") {
  const Make sgd = make<levin::optim::SGD>(levin::optim::SGDOptions{.lr = 0.1});
  const auto mask_of = [](const Tensor& parameter) {
    return torch::arange(parameter.numel(), torch::kDouble).reshape(parameter.sizes()).remainder(3);
  };
  const auto change = [&](torch::nn::Module& module, torch::optim::Optimizer& optimizer) {
    for (const levin::ParameterGradient& one : levin::gradients_of(module, optimizer))
      one.gradient.mul_(one.part_of(mask_of(one.parameter)));
  };
  Alone alone(sgd);
  alone.net->forward(images(0)).square().mean().backward();
  change(*alone.net, *alone.optimizer);
  std::map<std::string, double> norms;
  for (const auto& item : alone.net->named_parameters())
    if (item.value().grad().defined()) norms[item.key()] = item.value().grad().norm().item<double>();
  alone.optimizer->step();
  run_rank_threads(3, [&](levin::ProcessGroup& group) {
    Rank rank(group, sgd);
    rank.reducer.backward(rank.net->forward(images(0).narrow(0, group.rank() * 4, 4)).square().mean());
    rank.optimizer.take_gradients();
    change(*rank.net, *rank.inner);
    const auto found = levin::gradient_norms(*rank.net, *rank.inner, 2);
    RANK_CHECK(group, found.size() == norms.size());
    for (const auto& [name, norm] : found) RANK_CHECK(group, std::abs(norm.item<double>() - norms.at(name)) < 1e-12);
    RANK_CHECK(group, levin::whole_groups(*rank.inner)[0].size() == norms.size());
    rank.optimizer.step();
    RANK_CHECK(group, difference_of_nets(*rank.net, *alone.net) < 1e-12);
  });
}

TEST_CASE("state that an optimizer already has is divided too") {
  const Make warm = [](NetImpl& net) {
    auto optimizer = std::make_unique<levin::optim::Adam>(net.parameters(), levin::optim::AdamOptions{.lr = 0.01});
    net.forward(images(9)).square().mean().backward();
    optimizer->step();
    return optimizer;
  };
  Alone alone(warm);
  alone.step(0);
  run_rank_threads(2, [&](levin::ProcessGroup& group) {
    Rank rank(group, warm);
    rank.step(0);
    if (difference_of_nets(*rank.net, *alone.net) > 1e-12) throw std::runtime_error("the state was lost");
  });
}

TEST_CASE("if a backend can only reduce shares, each rank has the mean of its share") {
  using levin::parallel::Compression;
  // A stub group for rank 0: a reduction gives this rank's values divided by the number of ranks. Two do not divide
  // the 165 numbers.
  for (const int64_t world_size : {2, 3})
    for (const auto compression : {Compression::None, Compression::BFloat16}) {
      const auto group = levin::ProcessGroup::of_absent_ranks(world_size, torch::kCPU);
      NetImpl net, plain;
      GradientReducer reducer(net, *group, {.compression = compression, .shard_gradients = true});
      levin::optim::SGD sgd(net.parameters(), {.lr = 1});
      ShardedOptimizer optimizer(sgd, reducer);
      reducer.backward(net.forward(images(0)).square().mean());
      optimizer.take_gradients();
      plain.forward(images(0)).square().mean().backward();
      // The first share starts with the parameter whose gradient is ready first: the module's last.
      const Tensor part = sgd.param_groups()[0].params().back().grad();
      const Tensor expected = plain.last->bias.grad() / static_cast<double>(world_size);
      REQUIRE(part.sizes() == expected.sizes());
      CHECK((part - expected).abs().max().item<double>() < (compression == Compression::None ? 1e-15 : 1e-2));
      int64_t elements = 0;
      for (const Tensor& one : sgd.param_groups()[0].params()) elements += one.numel();
      CHECK(elements == (165 + world_size - 1) / world_size);
    }
}

TEST_CASE("in a dry run the parts of absent ranks are copies of the own one, and no unset memory") {
  const auto group = levin::ProcessGroup::of_absent_ranks(3, torch::kCPU);
  Tensor own = torch::ones({4}), gathered = torch::full({12}, std::numeric_limits<float>::quiet_NaN());
  levin::torch_compat::all_gather_flat(*group->raw(), gathered, own);
  CHECK(torch::equal(gathered, torch::ones({12})));
}

TEST_CASE("optimizers that look at whole parameters, and states that do not fit, are refused") {
  const auto group = levin::ProcessGroup::of_absent_ranks(2, torch::kCPU);
  auto net = std::make_shared<NetImpl>();
  GradientReducer reducer(*net, *group, {.shard_gradients = true});
  levin::optim::LAMB lamb(net->parameters());
  CHECK(contains(error_text<levin::UsageError>([&] { ShardedOptimizer(lamb, reducer); }),
                 "does not step each element by itself"));
  levin::optim::Adam adam(net->parameters());
  ShardedOptimizer optimizer(adam, reducer);
  NetImpl other;
  other.last->weight.set_data(torch::zeros({7, 3}, torch::kDouble));
  levin::optim::Adam of_other(other.parameters());
  for (auto& parameter : other.parameters()) parameter.mutable_grad() = torch::ones_like(parameter);
  of_other.step();
  CHECK(contains(error_text<levin::UsageError>([&] { optimizer.load_state_dict(of_other.state_dict()); }),
                 "of shape [7, 3] for a parameter of shape [3, 7]"));
  net->last->bias.set_data(torch::zeros({3}, torch::kDouble));
  CHECK(contains(error_text<levin::UsageError>([&] { optimizer.step(); }), "was given other memory"));
}

TEST_CASE("ranks with different numbers of batches train together until all are done") {
  std::mutex mutex;
  std::vector<std::shared_ptr<NetImpl>> nets(3);
  std::vector<int64_t> steps(3), together;
  run_rank_threads(3, [&](levin::ProcessGroup& group) {
    auto net = std::make_shared<NetImpl>();
    levin::parallel::DistributedDataParallel<NetImpl> ddp(net, group);
    levin::optim::SGD sgd(ddp->parameters(), {.lr = 0.1, .momentum = 0.9});
    levin::parallel::Join join(ddp->reducer());
    const int64_t batches = 1 + 2 * group.rank();  // 1, 3 and 5
    int64_t step = 0;
    for (; join.goes_on(step < batches); ++step) {
      sgd.zero_grad();
      if (step < batches)
        ddp(images(step)).square().mean().backward();
      else
        join.backward_without_loss();
      sgd.step();
      const std::lock_guard lock(mutex);
      if (group.rank() == 0) together.push_back(join.ranks());
    }
    const std::lock_guard lock(mutex);
    nets[static_cast<size_t>(group.rank())] = net;
    steps[static_cast<size_t>(group.rank())] = step;
  });
  CHECK(steps == std::vector<int64_t>{5, 5, 5});
  CHECK(together == std::vector<int64_t>{3, 2, 2, 1, 1});
  // The mean over all ranks, of which some give zeros.
  Alone alone(make<levin::optim::SGD>(levin::optim::SGDOptions{.lr = 0.1, .momentum = 0.9}));
  for (int64_t step = 0; step < 5; ++step) {
    alone.optimizer->zero_grad();
    (alone.net->forward(images(step)).square().mean() * (static_cast<double>(together[static_cast<size_t>(step)]) / 3))
        .backward();
    alone.optimizer->step();
  }
  for (const auto& net : nets) CHECK(difference_of_nets(*net, *alone.net) < 1e-12);
}
