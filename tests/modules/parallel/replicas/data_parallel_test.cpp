#include <levin/modules/parallel/replicas/data_parallel.h>
#include <levin/data/batch.h>
#include <sys/resource.h>

#include <fstream>
#include <map>
#include <thread>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/modules/parallel/parallel_nets.h"

using levin::parallel::DataParallel;
using levin::parallel::DataParallelOptions;
using torch::Tensor;

namespace {

Tensor inputs(int64_t samples) {
  torch::manual_seed(static_cast<uint64_t>(samples));
  return torch::randn({samples, 8}, torch::kDouble);
}

DataParallelOptions over(size_t replicas, bool share = true) {
  return {.devices = cpus(replicas), .share_memory = share};
}

/// One layer under two names, and arguments that are no tensors.
struct TiedImpl : torch::nn::Cloneable<TiedImpl> {
  TiedImpl() { reset(); }
  void reset() override {
    in = register_module("in", torch::nn::Linear(8, 8));
    out = register_module("out", in);
    in->to(torch::kDouble);
  }
  std::map<std::string, Tensor> forward(const Tensor& input, int64_t power, const std::string& name) {
    return {{name, torch::nn::functional::linear(out(torch::tanh(in(input)).pow(power)), in->weight)}};
  }
  torch::nn::Linear in{nullptr}, out{nullptr};
};
TORCH_MODULE(Tied);

/// Uses a layer twice, so that the order of its gradients' sum can be seen.
struct TwiceImpl : torch::nn::Cloneable<TwiceImpl> {
  TwiceImpl() { reset(); }
  void reset() override {
    torch::manual_seed(5);
    layer = register_module("layer", torch::nn::Linear(8, 8));
    layer->to(torch::kDouble);
  }
  Tensor forward(const Tensor& input) { return torch::tanh(layer(input)) + torch::tanh(layer(input.square())); }
  torch::nn::Linear layer{nullptr};
};
TORCH_MODULE(Twice);

/// Throws if the batch has a sample of one value; has one parameter.
struct PickyImpl : torch::nn::Cloneable<PickyImpl> {
  PickyImpl() { reset(); }
  void reset() override { weight = register_parameter("weight", torch::ones({1})); }
  Tensor forward(const Tensor& input) {
    if (input.eq(13).any().item<bool>()) throw std::runtime_error("13 is bad luck");
    return input * weight;
  }
  Tensor weight;
};
TORCH_MODULE(Picky);

}  // namespace

TEST_CASE("Outputs and gradients are those of one device", "[parallel]") {
  for (const bool share : {true, false}) {
    for (const size_t replicas : {1, 2, 3, 4}) {
      for (const int64_t samples : {12, 7, 2, 1}) {
        SmallNet net = small_net(), alone = small_net();
        net->last->bias.set_requires_grad(false);
        alone->last->bias.set_requires_grad(false);
        DataParallel parallel(net, over(replicas, share));
        torch::optim::SGD optimizer(net->parameters(), 0.1), optimizer_alone(alone->parameters(), 0.1);
        for (int step = 0; step < 3; ++step) {  // the later ones need the optimizer's changes
          const auto x = inputs(samples), output = parallel(x), expected = alone(x);
          CHECK(max_difference(output, expected) <= 1e-12);
          output.square().mean().backward();
          expected.square().mean().backward();
          CHECK(max_grad_difference(*net, *alone) <= 1e-12);
          optimizer.step();
          optimizer_alone.step();
          optimizer.zero_grad();
          optimizer_alone.zero_grad();
        }
        CHECK(parallel->chunk_sizes() ==
              (replicas == 1 ? std::vector<int64_t>{1} : levin::parallel::chunk_sizes(samples, replicas)));
      }
    }
  }
}

TEST_CASE("Without devices DataParallel is a plain call", "[parallel]") {
  SmallNet net = small_net();
  DataParallel parallel(net);
  CHECK(torch::equal(parallel(inputs(5)), net(inputs(5))));
  CHECK(parallel->module().get() == net.get());
  CHECK(parallel->chunk_sizes().empty());
  CHECK(torch::equal(levin::parallel::data_parallel(net, {}, inputs(5)), net(inputs(5))));
  CHECK(max_difference(levin::parallel::data_parallel(net, over(2), inputs(5)), net(inputs(5))) <= 1e-12);
}

TEST_CASE("DataParallel has the module's names, and loads, moves and freezes its tensors", "[parallel]") {
  SmallNet net = small_net(/*with_norm=*/true), plain = small_net(true);
  DataParallel<SmallNet> parallel(net, over(2));
  CHECK(parallel->named_parameters().keys() == plain->named_parameters().keys());
  CHECK(parallel->named_buffers().keys() == plain->named_buffers().keys());
  for (const auto& item : parallel->named_parameters())
    CHECK(item.value().is_same(net->named_parameters()[item.key()]));

  const auto agrees = [&] { return max_difference(parallel(inputs(6)), net(inputs(6))) <= 1e-12; };
  parallel->eval();
  CHECK((!net->is_training() && !net->norm->is_training()));
  CHECK(agrees());
  {
    const torch::NoGradGuard guard;
    net->scale.fill_(2);
  }
  CHECK(agrees());
  net->first->weight.set_data(torch::randn({16, 8}, torch::kDouble));
  CHECK(agrees());
  parallel->to(torch::kFloat);
  CHECK(net->scale.scalar_type() == torch::kFloat);
  CHECK(parallel(inputs(6).to(torch::kFloat)).scalar_type() == torch::kFloat);
  parallel->to(torch::kDouble);
  net->last->weight.set_requires_grad(false);
  parallel(inputs(6)).sum().backward();
  CHECK_FALSE(net->last->weight.grad().defined());
  CHECK(net->first->weight.grad().defined());
  parallel->zero_grad();
  net->last->weight.set_requires_grad(true);
  parallel(inputs(6)).sum().backward();
  CHECK(net->last->weight.grad().defined());
}

TEST_CASE("BatchNorm's statistics are the mean of the replicas'", "[parallel]") {
  SmallNet net = small_net(/*with_norm=*/true);
  DataParallel parallel(net, over(2));
  SmallNet first = small_net(true), second = small_net(true);
  const auto x = inputs(7);
  for (int step = 0; step < 3; ++step) {
    parallel(x);
    first(x.slice(0, 0, 4));
    second(x.slice(0, 4));
    const torch::NoGradGuard guard;
    for (const auto& item : first->norm->named_buffers()) {
      if (!item.value().is_floating_point()) continue;
      auto other = second->norm->named_buffers()[item.key()];
      item.value().copy_((item.value() * 4 + other * 3) / 7);
      other.copy_(item.value());
      CHECK(max_difference(net->norm->named_buffers()[item.key()], item.value()) <= 1e-12);
    }
    CHECK(net->norm->num_batches_tracked.item<int64_t>() == step + 1);
  }
  const auto mean = net->norm->running_mean.clone();
  parallel->eval();
  parallel(x);
  CHECK(torch::equal(net->norm->running_mean, mean));
  parallel->train();
  parallel(x);
  CHECK_FALSE(torch::equal(net->norm->running_mean, mean));
}

TEST_CASE("Layers may have two names, forward any arguments, and maps as results", "[parallel]") {
  Tied net;
  DataParallel parallel(net, over(3));
  Tied alone(std::dynamic_pointer_cast<TiedImpl>(net->clone()));
  const auto output = parallel(inputs(8), 2, "logits").at("logits");
  const auto expected = alone->forward(inputs(8), 2, "logits").at("logits");
  CHECK(max_difference(output, expected) <= 1e-12);
  output.square().sum().backward();
  expected.square().sum().backward();
  CHECK(max_grad_difference(*net, *alone) <= 1e-12);
}

TEST_CASE("Inputs are split along dim, and outputs gathered along it", "[parallel]") {
  torch::manual_seed(2);
  torch::nn::GRU gru(torch::nn::GRUOptions(3, 4));  // [length, batch, 3]; the state is [1, batch, 4]
  DataParallel parallel(gru, {.devices = cpus(2), .dim = 1});
  const auto x = torch::randn({5, 7, 3});
  const auto [output, state] = parallel(x, torch::zeros({1, 7, 4}));
  const auto [expected, expected_state] = gru->forward(x);
  CHECK(max_difference(output, expected) <= 1e-6);
  CHECK(max_difference(state, expected_state) <= 1e-6);
}

TEST_CASE("The loss does not depend on the number of devices, nor on a short batch", "[parallel]") {
  for (const int64_t samples : {8, 7, 5, 1}) {
    SmallNet alone = small_net();
    const auto target = torch::arange(samples) % 3;
    const auto loss_alone = torch::nn::functional::cross_entropy(alone(inputs(samples)), target);
    loss_alone.backward();
    for (const size_t replicas : {1, 2, 3, 4}) {
      SmallNet net = small_net();
      struct WithLossImpl : torch::nn::Cloneable<WithLossImpl> {
        explicit WithLossImpl(SmallNet inner) : net(std::move(inner)) { register_module("net", net); }
        void reset() override { net = register_module("net", small_net()); }
        Tensor forward(const levin::Batch& batch) {
          return torch::nn::functional::cross_entropy(net(batch.input()), batch.target());
        }
        SmallNet net;
      };
      DataParallel<WithLossImpl> parallel(std::make_shared<WithLossImpl>(net), over(replicas));
      const auto losses = parallel(levin::Batch(inputs(samples), target));
      const auto loss = levin::parallel::weighted_mean(losses, parallel->chunk_sizes());
      CHECK(std::abs(loss.item<double>() - loss_alone.item<double>()) <= 1e-12);
      loss.backward();
      CHECK(max_grad_difference(*net, *alone) <= 1e-12);
    }
  }
}

TEST_CASE("Replicas in order repeat dropout, and follow NoGradGuard and InferenceMode", "[parallel]") {
  SmallNet net = small_net(false, /*dropout=*/0.5);
  DataParallel parallel(net, {.devices = cpus(2), .in_order = true});
  const auto run = [&] {
    torch::manual_seed(3);
    return parallel(inputs(6));
  };
  CHECK(torch::equal(run(), run()));
  {
    const torch::NoGradGuard guard;
    CHECK_FALSE(run().requires_grad());
  }
  {
    const c10::InferenceMode guard;
    CHECK(run().is_inference());
  }
  run().sum().backward();
  CHECK(net->scale.grad().defined());

  SmallNet inferred = small_net();
  DataParallel begun_in_inference(inferred, over(2, /*share=*/false));
  {
    const c10::InferenceMode guard;
    begun_in_inference(inputs(4));
  }
  begun_in_inference(inputs(4)).sum().backward();
  CHECK(inferred->scale.grad().defined());
}

TEST_CASE("Several forwards before one backward, and several backwards, accumulate gradients", "[parallel]") {
  for (const bool share : {true, false}) {
    SmallNet net = small_net(true), alone = small_net(true);
    net->norm->eval();
    alone->norm->eval();
    DataParallel parallel(net, over(2, share));
    (parallel(inputs(4)).sum() + parallel(inputs(7)).square().sum()).backward();
    parallel(inputs(5)).sum().backward();
    (alone(inputs(4)).sum() + alone(inputs(7)).square().sum()).backward();
    alone(inputs(5)).sum().backward();
    CHECK(max_grad_difference(*net, *alone) <= 1e-12);

    net->train();
    (parallel(inputs(4)).sum() + parallel(inputs(7)).square().sum()).backward();
  }
}

TEST_CASE("Gradients repeat to the bit, whichever replica is first", "[parallel]") {
  const auto gradients = [](bool in_order) {
    SmallNet net = small_net();
    DataParallel parallel(net, {.devices = cpus(4), .in_order = in_order});
    const auto x = inputs(11);
    (parallel(x).square().sum() + parallel(torch::tanh(x)).sum()).backward();
    std::vector<Tensor> all;
    for (const Tensor& parameter : net->parameters()) all.push_back(parameter.grad().flatten());
    return torch::cat(all);
  };
  const Tensor first = gradients(/*in_order=*/true);
  for (int i = 0; i < 20; ++i) CHECK(torch::equal(gradients(/*in_order=*/i % 5 == 0), first));
}

TEST_CASE("The first step of a thread sums gradients in the order of all others", "[parallel]") {
  std::vector<Tensor> gradients;
  Twice net;
  DataParallel parallel(net, {.devices = cpus(2), .in_order = true});
  // In a thread of its own, whose first node of autograd is the layer's.
  std::thread([&] {
    for (int step = 0; step < 3; ++step) {
      net->zero_grad();
      parallel(inputs(6)).square().sum().backward();
      gradients.push_back(net->layer->weight.grad().clone());
    }
  }).join();
  REQUIRE(gradients.size() == 3);
  for (const Tensor& gradient : gradients) CHECK(torch::equal(gradient, gradients[0]));
}

TEST_CASE("A model may hold several DataParallel, also in another thread", "[parallel]") {
  struct Model : torch::nn::Module {
    explicit Model(const DataParallelOptions& options)
        : encoder(register_module("encoder", DataParallel(small_net(true), options))),
          decoder(register_module("decoder", DataParallel(torch::nn::Linear(3, 2), options))) {
      to(torch::kDouble);
    }
    Tensor forward(const Tensor& x) { return decoder(torch::relu(encoder(x))); }
    DataParallel<SmallNet> encoder;
    DataParallel<torch::nn::Linear> decoder;
  };
  torch::manual_seed(4);
  Model parallel(over(2));
  torch::manual_seed(4);
  Model alone({});
  CHECK(parallel.named_parameters().contains("encoder.first.weight"));
  parallel.eval();
  alone.eval();
  std::thread([&] { parallel.forward(inputs(5)).sum().backward(); }).join();
  alone.forward(inputs(5)).sum().backward();
  CHECK(max_grad_difference(parallel, alone) <= 1e-12);
}

TEST_CASE("An exception in a replica names it, and the next step works", "[parallel]") {
  Picky net;
  DataParallel parallel(net, over(2));
  const auto x = torch::arange(10, torch::kFloat);
  CHECK(parallel(x).size(0) == 10);
  CHECK(contains(error_text([&] { parallel(x + 5); }), "replica 1 (cpu): 13 is bad luck"));
  CHECK(contains(error_text([&] { parallel(x + 12); }), "replica 0 (cpu): 13 is bad luck"));
  parallel(x).sum().backward();
  CHECK(net->weight.grad().item<float>() == 45);
}

TEST_CASE("Wrong set-ups are errors that say what to do", "[parallel]") {
  SmallNet net = small_net();
  const auto error = [&](const DataParallelOptions& options) {
    return error_text<levin::UsageError>([&] { DataParallel(net, options)(inputs(4)); });
  };
  CHECK(contains(error({.devices = {torch::Device("cuda:0"), torch::Device("cuda:1")}}), "this LibTorch has no cuda"));
  CHECK(contains(error({.devices = cpus(2), .output_device = torch::Device("cuda:9")}), "cuda:9"));
  CHECK(contains(error({.devices = {torch::kMeta, torch::kCPU}}), "on cpu, and the first device is meta; move"));
  net->register_buffer("probe", torch::empty({1}, torch::kMeta));
  CHECK(contains(error(over(2)), "probe is on meta, and the first device is cpu"));

  struct Bare : torch::nn::Module {
    Tensor forward(const Tensor& x) { return x; }
  };
  DataParallel<Bare> bare(std::make_shared<Bare>(), over(2));
  CHECK(contains(error_text<levin::UsageError>([&] { bare(inputs(4)); }), "derive it from torch::nn::Cloneable"));
  struct Derived : SmallNetImpl {
    using SmallNetImpl::SmallNetImpl;
  };
  DataParallel<Derived> derived(std::make_shared<Derived>(), over(2));
  CHECK(contains(error_text<levin::UsageError>([&] { derived(inputs(4)); }), "its clone() makes a"));
  SmallNet good = small_net();
  DataParallel parallel(good, over(2));
  CHECK(contains(error_text([&] { parallel(inputs(0)); }), "a batch of 0 samples cannot be split"));
  CHECK(parallel(inputs(4)).size(0) == 4);
}

TEST_CASE("Steps leave nothing behind", "[parallel]") {
  const auto resident_kilobytes = [] {
    std::ifstream statm("/proc/self/statm");
    int64_t pages = 0, resident = 0;
    statm >> pages >> resident;
    return resident * 4;
  };
  const char* const asked = std::getenv("LEVIN_PARALLEL_STEPS");
  const int steps = asked ? std::atoi(asked) : 1000;
  for (const bool share : {true, false}) {
    SmallNet net = small_net(/*with_norm=*/true);
    DataParallel parallel(net, over(2, share));
    torch::optim::Adam optimizer(net->parameters());
    const auto step = [&](int64_t samples) {
      optimizer.zero_grad();
      parallel(inputs(samples)).square().mean().backward();
      optimizer.step();
    };
    for (int i = 0; i < 200; ++i) step(4 + i % 5);
    const int64_t before = resident_kilobytes();
    const auto holders = net->scale.use_count();
    for (int i = 0; i < steps; ++i) step(4 + i % 5);
    const int64_t grown = resident_kilobytes() - before;
    INFO(steps << " steps, " << grown << " KB more");
    if (asked) WARN(steps << " steps, " << grown << " KB more");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which keep freed memory
    CHECK(grown < steps);  // the graph and the replicas of one step are more than 20 KB
#endif
    CHECK(net->scale.use_count() == holders);
  }
}
