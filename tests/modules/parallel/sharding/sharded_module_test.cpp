// Modules whose parameters, gradients and optimizer state are divided among ranks train like those of ddp.
#include <ATen/CPUGeneratorImpl.h>
#include <levin/core/ranks/gather_states.h>
#include <levin/levin.h>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/modules/parallel/ranks/rank_threads.h"
#include "tests/modules/parallel/seeded_numbers.h"

using levin::parallel::GradientReducer;
using levin::parallel::NewTensorsScope;
using levin::parallel::ShardedConstruction;
using levin::parallel::ShardedModule;
using levin::parallel::ShardedOptimizer;
using levin::parallel::WatchScope;
using torch::Tensor;

namespace {

/// A residual block, which the module marks as a unit.
struct BlockImpl : torch::nn::Module, levin::ShardUnit {
  explicit BlockImpl(int64_t width) {
    first = register_module("first", torch::nn::Linear(width, 2 * width));
    last = register_module("last", torch::nn::Linear(2 * width, width));
    norm = register_module("norm", torch::nn::BatchNorm1d(width));
  }
  Tensor forward(const Tensor& x) { return x + last(torch::tanh(first(norm(x)))); }
  torch::nn::Linear first{nullptr}, last{nullptr};
  torch::nn::BatchNorm1d norm{nullptr};
};
TORCH_MODULE(Block);

/// Has marked units, units of a list, a frozen layer, a weight that is used twice, and one that no batch uses.
struct NetImpl : torch::nn::Module {
  explicit NetImpl(torch::Dtype dtype, uint64_t seed = 0) {
    blocks->push_back(Block(6));
    blocks->push_back(Block(6));
    layers->push_back(torch::nn::Linear(6, 6));
    layers->push_back(torch::nn::Linear(6, 6));
    to(torch::kDouble);
    for (auto& parameter : parameters()) parameter.set_data(numbers(++seed, parameter.sizes()) / 3);
    to(dtype);
    for (auto& parameter : layers[1]->parameters()) parameter.set_requires_grad(false);
  }
  Tensor forward(const Tensor& tokens) {
    Tensor x = embedding(tokens).mean(1);
    for (size_t i = 0; i < 2; ++i) x = blocks[i]->as<Block>()->forward(x);
    for (size_t i = 0; i < 2; ++i) x = torch::relu(layers[i]->as<torch::nn::Linear>()->forward(x)) + x;
    if (uses_spare) x = spare(x);
    return torch::nn::functional::linear(x, embedding->weight);  // tied
  }
  torch::nn::Embedding embedding = register_module("embedding", torch::nn::Embedding(11, 6));
  torch::nn::ModuleList blocks = register_module("blocks", torch::nn::ModuleList());
  torch::nn::ModuleList layers = register_module("layers", torch::nn::ModuleList());
  torch::nn::Linear spare = register_module("spare", torch::nn::Linear(6, 6));
  Tensor empty = register_parameter("empty", torch::empty({0, 3}), /*requires_grad=*/false);
  bool uses_spare = true;
};
TORCH_MODULE(Net);

struct Case {
  torch::Dtype dtype = torch::kDouble;
  int64_t micro_batches = 1;
  bool unused = false, keeps_parameters = false, reduces_each = false;
  bool uses_spare_on_rank_zero = false;
  int64_t hybrid = 0;
  int64_t rank_without_loss = -1;   ///< in one batch of each step, whose loss it drops
  int64_t batch_without_loss = -1;  ///< of a step; -1: the last
  bool built_divided = false;
  std::optional<torch::Dtype> gather_dtype = {}, reduce_dtype = {};
  double clip = 0;  ///< largest norm of all gradients; 0: any
};

/// Scales the gradients of parameters if `norm`, that of the gradients of all ranks' parameters, exceeds `most`.
void scale_down(const std::vector<Tensor>& parameters, const Tensor& norm, double most) {
  if (most == 0 || norm.item<double>() <= most) return;
  for (const Tensor& parameter : parameters)
    if (parameter.grad().defined()) parameter.grad().mul_(most / norm.item<double>());
}

/// Returns the norm of the gradients of these parameters.
Tensor norm_of(const std::vector<Tensor>& parameters) {
  Tensor squares = torch::zeros({}, torch::kDouble);
  for (const Tensor& parameter : parameters)
    if (parameter.grad().defined()) squares += parameter.grad().to(torch::kDouble).square().sum();
  return squares.sqrt();
}

Tensor loss_of(Net& net, int64_t batch, const levin::ProcessGroup& group) {
  const auto seed = static_cast<uint64_t>(1000 + batch * group.world_size() + group.rank());
  const Tensor tokens = torch::randint(11, {8, 4}, at::detail::createCPUGenerator(seed), torch::kLong);
  return torch::nn::functional::cross_entropy(net->forward(tokens), tokens.select(1, 0));
}

std::unique_ptr<torch::optim::Optimizer> make_optimizer(NetImpl& net) {
  std::vector<Tensor> trained;
  for (const Tensor& parameter : net.parameters())
    if (parameter.requires_grad()) trained.push_back(parameter);
  return std::make_unique<levin::optim::AdamW>(trained, levin::optim::AdamWOptions{.lr = 0.01});
}

Net make_net(const Case& how, int64_t rank, uint64_t seed = 0) {
  Net net(how.dtype, seed);
  net->uses_spare = !how.unused || (how.uses_spare_on_rank_zero && rank == 0);
  return net;
}

std::map<std::string, Tensor> tensors_of(const levin::State& state) {
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, value] : state.to_dict()) tensors[levin::to_text(name)] = value.to_tensor().clone();
  return tensors;
}

bool has_loss(const Case& how, int64_t micro, const levin::ProcessGroup& group) {
  const int64_t without = how.batch_without_loss < 0 ? how.micro_batches - 1 : how.batch_without_loss;
  return micro != without || group.rank() != how.rank_without_loss;
}

/// Returns the weights after `steps` steps under ddp.
std::map<std::string, Tensor> trained_whole(levin::ProcessGroup& group, const Case& how, int64_t steps) {
  Net net = make_net(how, group.rank());
  GradientReducer reducer(*net, group, {.find_unused_parameters = how.unused});
  const auto optimizer = make_optimizer(*net);
  for (int64_t step = 0; step < steps; ++step) {
    for (Tensor& parameter : net->parameters()) parameter.mutable_grad().reset();
    for (int64_t micro = 0; micro < how.micro_batches; ++micro) {
      reducer.synchronize_buffers();
      const Tensor loss = loss_of(net, step * how.micro_batches + micro, group);
      const bool is_last = micro + 1 == how.micro_batches;
      if (has_loss(how, micro, group))
        is_last ? reducer.backward(loss) : loss.backward();
      else if (is_last)
        reducer.backward_without_loss();
    }
    scale_down(net->parameters(), norm_of(net->parameters()), how.clip);
    optimizer->step();
  }
  return tensors_of(levin::module_state_dict(*net));
}

Tensor rounded(const Tensor& tensor, std::optional<torch::Dtype> dtype) {
  return dtype ? tensor.to(*dtype).to(tensor.scalar_type()) : tensor;
}

/// Returns the weights after as many steps in which the module has rounded parameters and the optimizer exact ones, and
/// the ranks add up rounded gradients.
std::map<std::string, Tensor> trained_rounded(levin::ProcessGroup& group, const Case& how, int64_t steps) {
  Net net = make_net(how, group.rank());
  const auto optimizer = make_optimizer(*net);
  for (int64_t step = 0; step < steps; ++step) {
    std::vector<Tensor> exact;
    for (Tensor& parameter : net->parameters()) {
      parameter.mutable_grad().reset();
      exact.push_back(parameter.detach().clone());
      parameter.detach().copy_(rounded(exact.back(), how.gather_dtype));
    }
    for (int64_t micro = 0; micro < how.micro_batches; ++micro) {
      levin::parallel::broadcast_buffers(*net, group, 0);
      loss_of(net, step * how.micro_batches + micro, group).backward();
    }
    size_t next = 0;
    for (Tensor& parameter : net->parameters()) {
      parameter.detach().copy_(exact[next++]);
      if (!parameter.grad().defined()) continue;
      const Tensor own = parameter.grad() * (1.0 / static_cast<double>(group.world_size()));
      Tensor sum;
      for (const Tensor& one : group.all_gather(rounded(own, how.reduce_dtype))) sum = sum.defined() ? sum + one : one;
      parameter.mutable_grad() = sum;
    }
    optimizer->step();
  }
  return tensors_of(levin::module_state_dict(*net));
}

/// Builds a module of which each rank keeps slices, with the numbers of rank 0.
Net built_divided(ShardedConstruction& construction, const Case& how, int64_t rank) {
  Net net(nullptr);
  {
    const NewTensorsScope scope(construction);
    net = make_net(how, rank, /*seed=*/static_cast<uint64_t>(1000 * rank));
  }
  construction.divide();
  for (const auto& tensors : {net->parameters(), net->buffers()})
    for (const auto& tensor : tensors)
      if (tensor.storage().data() != nullptr) throw std::logic_error("a tensor was not divided");
  return net;
}

void save_and_load_means(ShardedModule& sharded, levin::ProcessGroup& group) {
  const std::vector<levin::State> saved = levin::gather_states(sharded.gradient_means(), group);
  sharded.zero_grad();
  if (group.rank() == 0 && !sharded.gradient_means().is_none()) throw std::logic_error("means that were dropped");
  sharded.load_gradient_means(saved);
}

/// Returns the weights after as many steps of a sharded module; on rank 0.
std::map<std::string, Tensor> trained_in_shards(levin::ProcessGroup& group, const Case& how, int64_t steps) {
  const WatchScope watched;
  ShardedConstruction construction(group, {.whole_bytes = 0, .least_bytes = 0});
  Net net = how.built_divided ? built_divided(construction, how, group.rank()) : make_net(how, group.rank());
  ShardedModule sharded(*net, group,
                        {.keep_parameters = how.keeps_parameters,
                         .find_unused_parameters = how.unused,
                         .hybrid_shard = how.hybrid,
                         .reduce_each_batch = how.reduces_each,
                         .gather_dtype = how.gather_dtype,
                         .reduce_dtype = how.reduce_dtype});
  construction.make_whole();
  const auto inner = make_optimizer(*net);
  ShardedOptimizer optimizer(*inner, sharded, sharded.shard_group(), "fsdp");
  for (int64_t step = 0; step < steps; ++step) {
    sharded.zero_grad();
    optimizer.zero_grad();
    for (int64_t micro = 0; micro < how.micro_batches; ++micro) {
      sharded.begin_pass(ShardedModule::Pass::Training);
      levin::parallel::broadcast_buffers(*net, group, 0);
      const Tensor loss = loss_of(net, step * how.micro_batches + micro, group);
      const bool is_last = micro + 1 == how.micro_batches;
      if (has_loss(how, micro, group))
        sharded.backward(loss, /*sync=*/is_last);
      else
        sharded.backward_without_loss(/*sync=*/is_last);
      if (how.reduces_each && step == 3 && micro == 0) save_and_load_means(sharded, group);  // leaves no trace
    }
    optimizer.take_gradients();
    const std::vector<Tensor>& own = inner->param_groups()[0].params();
    scale_down(own, optimizer.norm_of_all(norm_of(own)), how.clip);
    optimizer.step();
    if (how.gather_dtype && step == 2) sharded.state_dict();  // leaves no trace
  }
  const auto weights = tensors_of(sharded.state_dict());
  sharded.restore();
  if (group.rank() == 0)
    for (const auto& [name, tensor] : tensors_of(levin::module_state_dict(*net))) CHECK(tensor.equal(weights.at(name)));
  return weights;
}

double difference(const std::map<std::string, Tensor>& a, const std::map<std::string, Tensor>& b) {
  double largest = 0;
  REQUIRE(a.size() == b.size());
  for (const auto& [name, tensor] : a) {
    if (tensor.numel() == 0) continue;
    const double one = (tensor.to(torch::kDouble) - b.at(name).to(torch::kDouble)).abs().max().item<double>();
    INFO(name << " " << one);
    largest = std::max(largest, one);
  }
  return largest;
}

}  // namespace

TEST_CASE("a module in shards trains as under ddp: to the bit on two ranks, up to the order of sums on more") {
  for (const int64_t ranks : {1, 2, 3, 4})
    for (const Case& how :
         {Case{}, Case{.dtype = torch::kFloat}, Case{.micro_batches = 3}, Case{.unused = true},
          Case{.keeps_parameters = true}, Case{.micro_batches = 2, .unused = true, .keeps_parameters = true}}) {
      INFO(ranks << " ranks, " << how.micro_batches << " batches in a step, unused " << how.unused << ", keeps "
                 << how.keeps_parameters);
      run_rank_threads(ranks, [&](levin::ProcessGroup& group) {
        const int64_t steps = ranks == 2 ? 60 : 15;
        const auto expected = trained_whole(group, how, steps);
        const auto got = trained_in_shards(group, how, steps);
        if (group.rank() != 0) return;
        const double most = ranks <= 2 ? 0 : how.dtype == torch::kDouble ? 1e-12 : 1e-5;
        CHECK(difference(expected, got) <= most);
      });
    }
}

TEST_CASE("a rank without a loss anywhere in a window counts as zeros, as under ddp") {
  for (const int64_t batch : {0, 1, 2})
    for (Case how : {Case{}, Case{.keeps_parameters = true}, Case{.reduces_each = true}, Case{.hybrid = 2},
                     Case{.unused = true}}) {
      const int64_t ranks = how.hybrid == 2 ? 4 : 3;
      how.micro_batches = 3;
      how.rank_without_loss = 1;
      how.batch_without_loss = batch;
      INFO(ranks << " ranks, batch " << batch << ", keeps " << how.keeps_parameters << ", reduces each batch "
                 << how.reduces_each << ", unused " << how.unused);
      run_rank_threads(ranks, [&, how](levin::ProcessGroup& group) {
        const auto expected = trained_whole(group, how, 10);
        const auto got = trained_in_shards(group, how, 10);
        if (group.rank() == 0) CHECK(difference(expected, got) <= 1e-12);
      });
    }
}

TEST_CASE("gradients that are reduced in each batch of a window add up to those that are reduced at its end") {
  for (const auto& [ranks, how] : std::initializer_list<std::pair<int64_t, Case>>{
           {2, {.micro_batches = 3, .reduces_each = true}},
           {3, {.micro_batches = 2, .unused = true, .reduces_each = true, .clip = 0.5}},
           {3, {.micro_batches = 2, .unused = true, .reduces_each = true, .uses_spare_on_rank_zero = true}},
           {4, {.micro_batches = 3, .keeps_parameters = true, .reduces_each = true, .hybrid = 2}}}) {
    INFO(ranks << " ranks, " << how.micro_batches << " batches in a step");
    run_rank_threads(ranks, [&, &how = how](levin::ProcessGroup& group) {
      const auto expected = trained_whole(group, how, 20);
      const auto got = trained_in_shards(group, how, 20);
      if (group.rank() == 0) CHECK(difference(expected, got) <= 1e-12);
    });
  }
}

TEST_CASE(
    "parameters are gathered and gradients sent in 16 bit: forward sees rounded values, the optimizer exact ones") {
  for (const int64_t ranks : {2, 3})
    for (const Case& how :
         {Case{.gather_dtype = torch::kBFloat16}, Case{.dtype = torch::kFloat, .reduce_dtype = torch::kHalf},
          Case{.dtype = torch::kFloat,
               .micro_batches = 2,
               .gather_dtype = torch::kHalf,
               .reduce_dtype = torch::kBFloat16},
          Case{.dtype = torch::kFloat, .keeps_parameters = true, .gather_dtype = torch::kBFloat16}}) {
      INFO(ranks << " ranks, " << how.dtype << ", " << how.micro_batches << " batches in a step");
      run_rank_threads(ranks, [&, how](levin::ProcessGroup& group) {
        const auto expected = trained_rounded(group, how, 15);
        const auto got = trained_in_shards(group, how, 15);
        if (group.rank() == 0) CHECK(difference(expected, got) == 0);
      });
    }
}

TEST_CASE("three and four ranks end in float32 within a millionth of ddp, with all that a step may have") {
  for (const int64_t ranks : {3, 4})
    for (const bool unused : {false, true}) {
      INFO(ranks << " ranks, unused " << unused);
      const Case how = {.dtype = torch::kFloat, .micro_batches = 2, .unused = unused, .clip = 0.2};
      run_rank_threads(ranks, [&, how](levin::ProcessGroup& group) {
        const auto expected = trained_whole(group, how, 60);
        const auto got = trained_in_shards(group, how, 60);
        if (group.rank() == 0) CHECK(difference(expected, got) <= 1e-6);
      });
    }
}

TEST_CASE(
    "what an operation writes into gathered parameters is kept, what it leaves alone stays exact, and so is what is "
    "read "
    "between batches") {
  run_rank_threads(2, [](levin::ProcessGroup& group) {
    torch::nn::Linear net(3, 1);
    const Tensor values = torch::tensor({{1.001F, 2.001F, 3.001F}});
    net->weight.detach().copy_(values);
    ShardedModule sharded(*net, group, {.gather_dtype = torch::kBFloat16});
    {
      const WatchScope watched;
      const torch::NoGradGuard no_grad;
      sharded.begin_pass(ShardedModule::Pass::Evaluation);
      RANK_CHECK(group, torch::equal(net->weight.clone(), rounded(values, torch::kBFloat16)));
      net->weight.clamp_(0, 2.5);
      sharded.end_pass();
      RANK_CHECK(group, torch::equal(net->weight.clone(), torch::tensor({{1.001F, 2.001F, 2.5F}})));
      net->weight.clamp_(0, 2);  // the rounded value of the second
    }
    sharded.restore();
    RANK_CHECK(group, torch::equal(net->weight, torch::tensor({{1.001F, 2.0F, 2.0F}})));
  });
}

TEST_CASE("an average of own parts is the rank's part of the average of the whole") {
  run_rank_threads(3, [](levin::ProcessGroup& group) {
    torch::nn::Sequential net(torch::nn::Linear(5, 3), torch::nn::BatchNorm1d(3));
    const int64_t elements = 5 * 3 + 3 + 3 + 3;
    const torch::NoGradGuard no_grad;
    for (auto& parameter : net->parameters()) parameter.copy_(numbers(1, parameter.sizes()));
    const Tensor first = net[0]->as<torch::nn::Linear>()->weight.clone(),
                 &weight = net[0]->as<torch::nn::Linear>()->weight;
    ShardedModule sharded(*net, group);
    levin::optim::EMA ema(*net, {.decay = 0.75, .own_parts = true});
    RANK_CHECK(group, ema.is_divided());
    Tensor held = torch::zeros({1}, torch::kLong);
    for (const auto& name : net->named_parameters().keys()) held += ema.average(name).numel();
    group.all_reduce(held, levin::ReduceOp::Sum);
    RANK_CHECK(group, held.item<int64_t>() == elements);
    RANK_CHECK(group, weight.storage().data() == nullptr);

    const WatchScope watched;
    sharded.begin_pass(ShardedModule::Pass::Evaluation);
    ema.update();
    for (auto& parameter : net->parameters()) parameter.add_(4);
    ema.update();
    {
      const auto averaged = ema.apply();
      RANK_CHECK(group, torch::allclose(weight.clone(), first + 1));
    }
    RANK_CHECK(group, torch::allclose(weight.clone(), first + 4));
    levin::State parts = levin::State::dict({{"n_averaged", 7}});
    for (const auto& item : net->named_parameters()) parts["module." + item.key()] = item.value() * 2;
    for (const auto& item : net->named_buffers()) parts["module." + item.key()] = item.value();
    ema.load_state_dict(parts);
    RANK_CHECK(group, ema.updates() == 7);
    ema.copy_to_module();
    RANK_CHECK(group, torch::allclose(weight.clone(), 2 * (first + 4)));
  });
}

TEST_CASE("a module that is built divided has the values of rank 0 and trains as one that was whole") {
  for (const int64_t ranks : {1, 2, 3})
    for (const auto dtype : {torch::kDouble, torch::kFloat}) {
      const Case how = {.dtype = dtype, .built_divided = true};
      run_rank_threads(ranks, [&, how](levin::ProcessGroup& group) {
        const auto expected = trained_whole(group, how, 10);
        const auto got = trained_in_shards(group, how, 10);
        if (group.rank() == 0) CHECK(difference(expected, got) <= (ranks <= 2 ? 0 : 1e-5));
      });
    }
}

TEST_CASE("tensors that are built divided are whole where an operation uses them") {
  run_rank_threads(3, [](levin::ProcessGroup& group) {
    ShardedConstruction construction(group, {.whole_bytes = 1000, .least_bytes = 100});
    const WatchScope watched;
    const double own = 1 + static_cast<double>(group.rank());
    Tensor outer = torch::full({50}, own), a, b, view, small;
    {
      const NewTensorsScope scope(construction);
      a = torch::full({100}, own);  // 400 bytes
      view = a.narrow(0, 90, 10);
      a.mul_(2);
      small = torch::full({2}, own);
      outer.add_(1);  // was made before
      for (int i = 0; i < 5; ++i) b = torch::arange(100) + i + own;
      b.index_put_({torch::tensor({7})}, torch::tensor(70.F));
    }
    RANK_CHECK(group, a.storage().data() == nullptr);  // made room for the others
    RANK_CHECK(group, small.storage().data() != nullptr);
    RANK_CHECK(group, outer.storage().data() != nullptr);
    construction.divide();
    RANK_CHECK(group, b.storage().data() == nullptr);
    RANK_CHECK(group, view.sum().item<double>() == 20);  // of rank 0
    RANK_CHECK(group, b[7].item<double>() == 70);
    RANK_CHECK(group, b[99].item<double>() == 99 + 4 + 1);
    a.add_(own);  // on each rank another value: that of rank 0 counts once they are divided again
    construction.divide();
    RANK_CHECK(group, a.sum().item<double>() == 300);
    construction.make_whole();
    const levin::parallel::UnwatchedScope unwatched;
    RANK_CHECK(group, a.sum().item<double>() == 300);
    RANK_CHECK(group, view.sum().item<double>() == 30);
    RANK_CHECK(group, small.sum().item<double>() == 2 * own);
    RANK_CHECK(group, outer.sum().item<double>() == 50 * (own + 1));
  });
}

TEST_CASE("a module that groups of ranks divide among each other trains as under ddp") {
  for (const auto& [ranks, hybrid] : {std::pair<int64_t, int64_t>{4, 2}, {4, 1}, {2, 1}, {6, 3}}) {
    // A rank without a loss reduces the units one after the other, the others several at once.
    for (const int64_t without_loss : {int64_t{-1}, ranks - 1}) {
      INFO(ranks << " ranks in groups of " << hybrid << ", without a loss: " << without_loss);
      const Case how = {.micro_batches = 2, .hybrid = hybrid, .rank_without_loss = without_loss};
      run_rank_threads(ranks, [&, how](levin::ProcessGroup& group) {
        const auto expected = trained_whole(group, how, 20);
        const auto got = trained_in_shards(group, how, 20);
        if (group.rank() == 0) CHECK(difference(expected, got) <= 1e-12);
      });
    }
  }
  CHECK(contains(error_text([] {
                   run_rank_threads(3, [](levin::ProcessGroup& group) {
                     group.barrier();  // none leaves while another still connects
                     torch::nn::Linear net(4, 4);
                     ShardedModule(*net, group, {.hybrid_shard = 2});
                   });
                 }),
                 "hybrid_shard 2 does not divide the 3 ranks"));
}

TEST_CASE("complex parameters are refused by name") {
  const auto refusal = [](const Tensor& values) {
    return error_text<levin::UsageError>([&] {
      run_rank_threads(2, [&](levin::ProcessGroup& group) {
        group.barrier();  // none leaves while another still connects
        torch::nn::Module net;
        net.register_parameter("turn", values.clone());
        ShardedModule(net, group, {});
      });
    });
  };
  CHECK(contains(refusal(torch::zeros({3}, torch::kComplexFloat)),
                 "the parameter turn is complex; register it as pairs"));
}

TEST_CASE("ranks that use units in different orders are told which") {
  const std::string error = error_text([] {
    run_rank_threads(2, [](levin::ProcessGroup& group) {
      torch::nn::Sequential net(torch::nn::Linear(4, 4), torch::nn::Linear(4, 4), torch::nn::Linear(4, 4));
      ShardedModule sharded(*net, group);
      const WatchScope watched;
      sharded.begin_pass(ShardedModule::Pass::Training);
      Tensor x = torch::ones({2, 4});
      const std::vector<size_t> order = group.rank() == 0 ? std::vector<size_t>{0, 1, 2} : std::vector<size_t>{0, 2, 1};
      for (const size_t i : order) x = net->ptr(i)->as<torch::nn::Linear>()->forward(x);
      sharded.backward(x.sum());
    });
  });
  CHECK(error.find("rank 0 used unit 1 where rank 1 used unit 2") != std::string::npos);
}
