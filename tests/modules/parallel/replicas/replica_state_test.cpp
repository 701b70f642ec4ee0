#include <levin/modules/parallel/replicas/replica_state.h>
#include <levin/modules/parallel/replicas/move_flat.h>
#include <levin/modules/parallel/replicas/replicate.h>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/modules/parallel/parallel_nets.h"

using levin::parallel::ReplicaState;

namespace {

/// A net with one replica that copies (as other devices do) or shares its memory.
struct Pair {
  explicit Pair(bool share) : state(*net, {replica.get()}, cpus(1), share) { state.refresh(); }
  bool is_fresh() const {
    const auto values = net->named_parameters();
    for (const auto& item : replica->named_parameters())
      if (!torch::equal(item.value(), values[item.key()])) return false;
    return torch::equal(replica->offset, net->offset);
  }
  SmallNet net = small_net();
  SmallNet replica = small_net();
  ReplicaState state;
};

torch::Tensor input() {
  torch::manual_seed(5);
  return torch::randn({6, 8}, torch::kDouble);
}

}  // namespace

TEST_CASE("Changes of parameters and buffers reach the replicas, however they are made", "[parallel]") {
  for (const bool share : {true, false}) {
    Pair pair(share);
    CHECK(pair.is_fresh());
    CHECK(pair.replica->last->weight.is_alias_of(pair.net->last->weight) == share);
    const auto refreshed = [&] {
      pair.state.refresh();
      return pair.is_fresh();
    };
    {
      const torch::NoGradGuard guard;
      pair.net->first->weight.mul_(2);
      pair.net->offset.add_(1);
    }
    CHECK(refreshed());
    pair.net->last->weight.set_data(torch::randn({3, 16}, torch::kDouble));
    CHECK(refreshed());
    pair.net->to(torch::kFloat);
    CHECK(refreshed());
    CHECK(pair.replica->last->weight.scalar_type() == torch::kFloat);
    pair.net->to(torch::kDouble);
    CHECK(refreshed());

    // torch::optim::SGD writes through data(), which counts no versions.
    pair.net->scale.data().mul_(3);
    pair.state.expect_changes();
    CHECK(refreshed());
    // A buffer that the replica alone changed.
    pair.replica->offset.add_(1);
    CHECK(refreshed());
    {
      const c10::InferenceMode guard;
      pair.net->scale.add_(1);
      CHECK(refreshed());
    }
    CHECK_FALSE(pair.replica->scale.is_inference());
  }
}

TEST_CASE("Tensors that did not change are not copied", "[parallel]") {
  Pair pair(/*share=*/false);
  pair.replica->first->weight.data().fill_(7);  // nothing notices this
  const auto is_left = [&] { return pair.replica->first->weight.eq(7).all().item<bool>(); };
  pair.state.refresh();
  CHECK(is_left());
  {
    const torch::NoGradGuard guard;
    pair.net->last->weight.mul_(2);
  }
  pair.state.refresh();
  CHECK(is_left());
  pair.state.expect_changes();
  pair.state.refresh();
  CHECK(pair.is_fresh());
}

TEST_CASE("Train and eval modes reach the replicas, part by part", "[parallel]") {
  SmallNet net = small_net(/*with_norm=*/true), replica = small_net(true);
  ReplicaState state(*net, {replica.get()}, cpus(1));
  net->norm->eval();
  state.refresh();
  CHECK((replica->is_training() && !replica->norm->is_training() && replica->last->is_training()));
  net->eval();
  net->norm->train();
  state.refresh();
  CHECK((!replica->is_training() && replica->norm->is_training() && !replica->last->is_training()));
}

TEST_CASE("Gradients of all replicas sum up in the original", "[parallel]") {
  for (const bool share : {true, false}) {
    SmallNet net = small_net(), a = small_net(), b = small_net(), alone = small_net();
    net->first->bias.set_requires_grad(false);
    ReplicaState state(*net, {a.get(), b.get()}, cpus(2), share);
    for (int step = 0; step < 3; ++step) {
      state.refresh();
      state.attach(2);
      CHECK_FALSE(a->first->bias.requires_grad());
      const auto x = input();
      (net(x).sum() + 2 * a(x).sum() + 3 * b(x).sum()).backward();
      (alone(x).sum() * 6).backward();
      for (const auto& item : net->named_parameters()) {
        if (item.key() == "first.bias") {
          CHECK_FALSE(item.value().grad().defined());
          continue;
        }
        CHECK(max_difference(item.value().grad(), alone->named_parameters()[item.key()].grad()) <= 1e-12);
      }
    }
    CHECK(net->last->weight.is_leaf());
  }
}

TEST_CASE("A parameter that no replica used gets no gradient, a stale graph is found", "[parallel]") {
  for (const bool share : {true, false}) {
    Pair pair(share);
    pair.state.attach(1);
    pair.replica->first(input()).sum().backward();
    CHECK(pair.net->first->weight.grad().defined());
    CHECK_FALSE(pair.net->last->weight.grad().defined());

    pair.state.attach(1);
    const auto loss = pair.replica(input()).sum();
    {
      const torch::NoGradGuard guard;
      pair.net->last->weight.mul_(2);
    }
    pair.state.refresh();
    CHECK_THROWS_WITH(loss.backward(), Catch::Contains("modified by an inplace operation"));
  }
}

TEST_CASE("Second derivatives go through the replicas", "[parallel]") {
  Pair pair(/*share=*/true);
  SmallNet alone = small_net();
  const auto penalty = [](SmallNet& net) {
    const auto x = input().requires_grad_();
    const auto gradient =
        torch::autograd::grad({torch::tanh(net(x)).sum()}, {x}, {}, /*retain_graph=*/true, /*create_graph=*/true)[0];
    return gradient.square().sum();
  };
  pair.state.attach(1);
  penalty(pair.replica).backward();
  penalty(alone).backward();
  CHECK(max_difference(pair.net->first->weight.grad(), alone->first->weight.grad()) <= 1e-12);

  pair.net->zero_grad();
  pair.state.attach(1);
  const auto by_grad =
      torch::autograd::grad({pair.replica(input()).square().sum()}, {pair.net->first->weight}, {}, {}, true)[0];
  CHECK(by_grad.requires_grad());
  by_grad.square().sum().backward();
  alone->zero_grad();
  torch::autograd::grad({alone(input()).square().sum()}, {alone->first->weight}, {}, {}, true)[0]
      .square()
      .sum()
      .backward();
  CHECK(max_grad_difference(*pair.net, *alone) <= 1e-12);
}

TEST_CASE("Buffers that changed become the mean weighted by samples", "[parallel]") {
  SmallNet net = small_net(/*with_norm=*/true), replica = small_net(true), small = small_net(true),
           large = small_net(true);
  ReplicaState state(*net, {replica.get()}, cpus(1));
  const auto x = torch::randn({8, 8}, torch::kDouble);
  state.refresh();
  net(x.slice(0, 0, 2));
  replica(x.slice(0, 2));
  state.merge_buffers({2, 6});
  small(x.slice(0, 0, 2));
  large(x.slice(0, 2));
  const auto mean = (small->norm->running_mean * 2 + large->norm->running_mean * 6) / 8;
  CHECK(max_difference(net->norm->running_mean, mean) <= 1e-12);
  CHECK(net->norm->num_batches_tracked.item<int64_t>() == 1);
  state.refresh();
  CHECK(torch::equal(replica->norm->running_mean, net->norm->running_mean));
  CHECK(replica->norm->num_batches_tracked.item<int64_t>() == 1);

  // In eval mode, and if all buffers are equal, nothing changes; a backward of the forward still works.
  const auto before = net->norm->running_var.clone();
  net->eval();
  state.refresh();
  const auto loss = net(x).sum() + replica(x).sum();
  state.merge_buffers({3, 5});
  CHECK(torch::equal(net->norm->running_var, before));
  loss.backward();
}

TEST_CASE("Replicas of another structure are refused by the first name that differs", "[parallel]") {
  SmallNet net = small_net();
  const auto error = [&](torch::nn::Module& replica) {
    return error_text<levin::UsageError>([&] { ReplicaState(*net, {&replica}, cpus(1)); });
  };
  SmallNet with_norm = small_net(true);
  CHECK(contains(error(*with_norm), "norm.weight is none of the original's"));
  CHECK(contains(error(*torch::nn::ReLU()), "parameter scale is missing"));
  SmallNet other = small_net();
  other->scale.set_data(torch::ones({4}));
  CHECK(contains(error(*other), "parameter scale has the shape [4], not [3]"));
  CHECK(contains(error(*net), "scale is the original's own"));
}

TEST_CASE("One layer under two names may be two layers in a replica", "[parallel]") {
  struct Names : torch::nn::Module {
    Names(torch::nn::Linear first, torch::nn::Linear second) {
      register_module("a", first);
      register_module("b", second);
    }
  };
  const torch::nn::Linear layer(2, 2), a(2, 2), b(2, 2);
  Names original(layer, layer), replica(a, b);
  ReplicaState state(original, {&replica}, cpus(1), /*share_memory=*/false);
  state.refresh();
  state.attach(1);
  CHECK(torch::equal(a->weight, layer->weight));
  CHECK(torch::equal(b->weight, layer->weight));
  (a->weight.sum() * 2 + b->weight.sum() * 3).backward();
  CHECK(torch::equal(layer->weight.grad(), torch::full({2, 2}, 5.0)));
  CHECK(contains(error_text<levin::UsageError>([&] { ReplicaState(replica, {&original}, cpus(1)); }),
                 "b.weight is the same tensor as a.weight"));
}

TEST_CASE("replicate makes copies for one forward", "[parallel]") {
  SmallNet net = small_net(), alone = small_net();
  net->eval();
  const auto rng = [] { return at::globalContext().defaultGenerator(torch::kCPU).get_state(); };
  const auto before = rng();
  const auto replicas = levin::parallel::replicate(net, cpus(2));
  CHECK(torch::equal(rng(), before));
  CHECK_FALSE(replicas[0]->is_training());
  CHECK_FALSE(replicas[0]->scale.is_alias_of(net->scale));
  (replicas[0]->forward(input()) + replicas[1]->forward(input())).sum().backward();
  (2 * alone(input())).sum().backward();
  CHECK(max_grad_difference(*net, *alone) <= 1e-12);
}

TEST_CASE("move_flat keeps values and shapes, and does not move what is there already", "[parallel]") {
  const std::vector<torch::Tensor> tensors{torch::randn({2, 3}), torch::ones({4}, torch::kLong), torch::randn({})};
  const auto same = levin::parallel::move_flat(tensors, torch::kCPU);
  for (size_t i = 0; i < 3; ++i) CHECK(same[i].is_same(tensors[i]));
  const auto moved = levin::parallel::move_flat(tensors, torch::kMeta);
  for (size_t i = 0; i < 3; ++i) {
    CHECK(moved[i].sizes() == tensors[i].sizes());
    CHECK(moved[i].scalar_type() == tensors[i].scalar_type());
  }
}
