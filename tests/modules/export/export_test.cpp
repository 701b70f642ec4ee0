// Networks of C++ as programs: they train on as ProgramModule, what no program can hold is refused by name.
#include <levin/core/state/atomic_file.h>
#include <levin/modules/export/export_program.h>
#include <levin/modules/export/size_polynomial.h>
#include <levin/modules/nn/image_classifier.h>
#include <levin/modules/program/program_archive.h>
#include <levin/modules/program/schema_numbers.h>
#include <levin/modules/program_module.h>
#include <torch/torch.h>

#include "networks.h"
#include "old_file.h"
#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/fuzz/fuzz.h"
#include "tests/temporary_folder.h"

#include <cerrno>
#include <cmath>

using levin::Batch, levin::ExportOptions;

namespace {

Batch samples_of(const Batch& batch, int64_t size) {
  Batch samples;
  for (const std::string& name : batch.names())
    samples.set(name, batch[name].index_select(0, torch::arange(size).remainder(batch.size())).contiguous());
  return samples;
}

std::vector<at::Tensor> inputs_of(const Batch& batch, const std::vector<std::string>& names) {
  std::vector<at::Tensor> tensors;
  for (const std::string& name : names) tensors.push_back(batch[name]);
  return tensors;
}

at::Tensor loss_of(const std::vector<at::Tensor>& outputs) {
  at::Tensor loss = torch::zeros({});
  for (const at::Tensor& output : outputs)
    if (output.requires_grad()) loss = loss + output.square().mean();
  return loss;
}

/// Equal, also where both have no number.
bool are_same(const at::Tensor& one, const at::Tensor& other) {
  return one.sizes() == other.sizes() && torch::allclose(one, other, /*rtol=*/0, /*atol=*/0, /*equal_nan=*/true);
}

/// A network that is its function.
struct Lambda : torch::nn::Module {
  at::Tensor weight = register_parameter("weight", torch::ones({3}));
};

using Function = std::function<at::Tensor(const at::Tensor& input, Lambda& module)>;

levin::ExportedNetwork export_function(const Function& function, const at::Tensor& example,
                                       ExportOptions options = {}) {
  Lambda module;
  options.function = [&](const Batch& batch) { return Batch(function(batch.input(), module)); };
  return levin::export_program(module, Batch(example), options);
}

}  // namespace

TEST_CASE("a network of C++ trains on as a program with its bits") {
  const TemporaryFolder folder;
  for (const networks::Case& one : networks::all()) {
    INFO(one.name);
    networks::Network& network = *one.network;
    const levin::ExportedNetwork exported = levin::export_program(network, one.example, {.function = network.forward});
    const auto file = folder.path() / (one.name + ".pt2");
    exported.save(file);
    levin::ProgramModule program({.program = file.string()});
    torch::optim::SGD of_network(network.parameters(), 0.01), of_program(program.parameters(), 0.01);
    network.train();
    for (int64_t step = 0; step < 100; ++step) {
      const Batch batch = samples_of(one.example, 2 + step % 5);
      torch::manual_seed(static_cast<uint64_t>(step));
      of_network.zero_grad();
      const Batch result = network.forward(batch);
      loss_of(inputs_of(result, exported.output_names())).backward();
      of_network.step();
      torch::manual_seed(static_cast<uint64_t>(step));
      of_program.zero_grad();
      loss_of(program.run_program(inputs_of(batch, exported.input_names()))).backward();
      of_program.step();
    }
    const auto trained = network.named_parameters();
    const auto of_file = program.named_parameters();
    for (const auto& item : of_file) CHECK(are_same(item.value(), *trained.find(item.key())));
    for (const auto& item : program.named_buffers())
      CHECK(item.value().equal(*network.named_buffers().find(item.key())));
  }
}

TEST_CASE("what is exported runs at every size, and leaves the module as it was") {
  const networks::Case one = networks::named("resnet");
  networks::Network& network = *one.network;
  network.add("frozen", torch::nn::Linear(2, 2))->eval();
  const auto before = network.buffers();
  std::vector<at::Tensor> copies;
  for (const at::Tensor& buffer : before) copies.push_back(buffer.clone());
  const at::Tensor state = at::globalContext().defaultGenerator(at::kCPU).get_state();
  const levin::ExportedNetwork exported =
      levin::export_program(network, one.example, {.function = network.forward, .inference = true});
  CHECK(at::globalContext().defaultGenerator(at::kCPU).get_state().equal(state));
  CHECK(network.is_training());
  CHECK_FALSE(network.named_modules()["frozen"]->is_training());
  for (size_t i = 0; i < before.size(); ++i) CHECK(before[i].equal(copies[i]));
  network.eval();
  for (const int64_t size : {1, 2, 3, 64}) {
    const Batch batch = samples_of(one.example, size);
    CHECK(exported.run({batch.input()}).at(0).equal(network.forward(batch).input()));
  }
  CHECK(contains(error_text([&] { exported.run({}); }), "takes 1 inputs, and was given 0"));
}

TEST_CASE("sizes of several names may change") {
  const auto scores = [](const at::Tensor& x, Lambda& module) {  // [batch, time, 3]
    const at::Tensor h = x * module.weight;
    const at::Tensor pairs = torch::matmul(h, h.transpose(1, 2)).view({x.size(0) * x.size(1), x.size(1)});
    return pairs.softmax(1).reshape({x.size(0), x.size(1) * x.size(1)}) / (x.size(1) + 1);
  };
  const TemporaryFolder folder;
  const levin::ExportedNetwork exported = export_function(
      scores, torch::randn({2, 4, 3}),
      {.dynamic = {levin::parse_dynamic_size("input:0=batch[1:100]"), levin::parse_dynamic_size("input:-2=time[3:]")}});
  exported.save(folder.path() / "scores.pt2");
  levin::ProgramModule program({.program = (folder.path() / "scores.pt2").string()});
  Lambda module;
  for (const auto& [batch, time] : std::vector<std::pair<int64_t, int64_t>>{{1, 3}, {5, 7}, {100, 3}, {7, 31}}) {
    const at::Tensor x = torch::randn({batch, time, 3});
    CHECK(program.run_program({x}).at(0).equal(scores(x, module)));
  }
  CHECK(contains(error_text([&] { program.run_program({torch::randn({101, 4, 3})}); }), "101"));
  CHECK(contains(error_text([&] { program.run_program({torch::randn({2, 2, 3})}); }), "at least 3"));

  SECTION("multiples") {
    const auto halves = [](const at::Tensor& x, Lambda&) {
      return torch::avg_pool1d(x, 4).flatten(1).repeat({1, x.size(2) / 4});
    };
    const levin::ExportedNetwork of_four =
        export_function(halves, torch::randn({2, 3, 8}),
                        {.dynamic = {{.name = "batch"}, levin::parse_dynamic_size("input:2=4*length")}});
    for (const int64_t length : {4, 12, 400}) {
      const at::Tensor x = torch::randn({3, 3, length});
      CHECK(of_four.run({x}).at(0).equal(halves(x, module)));
    }
  }
}

TEST_CASE("what a program cannot hold is refused by name") {
  const auto refused = [](const Function& function, const ExportOptions& options = {}) {
    return error_text([&] { export_function(function, torch::randn({4, 3}), options); });
  };
  const auto counter = std::make_shared<int>(0);
  const auto reads = [&](const Function& function, const std::string& what) {
    const std::string text = refused(function);
    INFO(text);
    CHECK(text.starts_with("export: "));
    CHECK(contains(text, what));
  };
  reads([](const at::Tensor& x, Lambda&) { return x * x.sum().item<float>(); }, "a number of the result of aten::sum");
  reads([](const at::Tensor& x, Lambda&) { return x.mean().item<float>() > 0 ? x : -x; }, "aten::mean");
  reads([](const at::Tensor& x, Lambda& m) { return x * m.weight[0].item<float>(); }, "aten::select");
  reads([](const at::Tensor& x, Lambda&) { return x.any().item<bool>() ? x + 1 : x; }, "aten::any");
  reads([](const at::Tensor& x, Lambda&) { return x.equal(x + 1) ? x : x * 2; }, "a number of");
  reads([](const at::Tensor& x, Lambda&) { return x.narrow(0, 0, (x > 9).sum().item<int64_t>()); }, "aten::sum");
  reads([](const at::Tensor& x, Lambda&) { return x * x.argmax().item().toDouble(); }, "aten::argmax");
  reads([](const at::Tensor& x, Lambda&) { return x * torch::rand({1}).item<float>(); }, "aten::rand");
  // Memory that C++ reads by itself shows in what changes with the values.
  reads([](const at::Tensor& x, Lambda&) { return x * *x.const_data_ptr<float>(); },
        "does something else for other values");
  reads(
      [](const at::Tensor& x, Lambda&) {
        return x + torch::from_blob(std::vector<float>(1, *x.const_data_ptr<float>()).data(), {1}).clone();
      },
      "C++ makes a tensor");
  reads([](const at::Tensor& x,
           Lambda&) { return x.const_data_ptr<float>()[1] > x.const_data_ptr<float>()[4] ? x.sin() : x.cos(); },
        "does something else for other values");
  reads([](const at::Tensor& x, Lambda&) { return at::Tensor(x).mul_(2); }, "changes its input in place by aten::mul_");
  reads(
      [](const at::Tensor& x, Lambda& m) {
        const torch::NoGradGuard no_grad;
        m.weight.div_(m.weight.norm());
        return x * m.weight;
      },
      "changes a parameter in place");
  reads([counter](const at::Tensor& x, Lambda&) { return x * static_cast<double>(++*counter); }, "or counts");

  SECTION("what follows the size") {
    reads([](const at::Tensor& x, Lambda&) { return x.size(0) > 5 ? x.relu() : x.sigmoid(); },
          "with batch = 7 aten::relu is called in place of aten::sigmoid");
    reads(
        [](const at::Tensor& x, Lambda&) {
          at::Tensor sum = x.select(0, 0);
          for (int64_t i = 1; i < x.size(0); ++i) sum = sum + x.select(0, i);
          return sum.unsqueeze(0);
        },
        "with batch = 3");
    reads([](const at::Tensor& x, Lambda&) { return x * std::sqrt(static_cast<double>(x.size(0))); },
          "aten::mul gets other arguments than numbers that follow the sizes");
    reads([](const at::Tensor& x, Lambda&) { return x.narrow(0, 0, x.size(0) / 2); },
          "aten::narrow's length follows the sizes");
    reads([](const at::Tensor& x, Lambda&) { return x + torch::from_blob(x.data_ptr(), {x.size(0), 1}).clone() * 0; },
          "export");
    // All that is fixed then.
    const levin::ExportedNetwork fixed =
        export_function([](const at::Tensor& x, Lambda&) { return x.narrow(0, 0, x.size(0) / 2); }, torch::ones({4, 3}),
                        {.dynamic = {}});
    CHECK(fixed.run({torch::ones({4, 3})}).at(0).sizes() == at::IntArrayRef{2, 3});
  }
}

TEST_CASE("what is written keeps the promises of the reader, whole and cut off") {
  const TemporaryFolder folder;
  for (const char* name : {"mlp", "resnet", "llama", "rnn_with_state", "several_outputs"}) {
    INFO(name);
    const networks::Case one = networks::named(name);
    const auto file = folder.path() / (std::string(name) + ".pt2");
    levin::export_program(*one.network, one.example, {.function = one.network->forward}).save(file);
    const std::string text = levin::program::ProgramArchive(file).json();
    for (const size_t parts : {1, 2, 3, 5}) levin::testing::fuzz_program(text.substr(0, text.size() / parts));
  }
}

TEST_CASE("a file of PyTorch 2.6 trains on and is written again as it was") {
  const TemporaryFolder folder;
  for (const char* name : {"resnet", "tied_autoencoder", "llama", "vit"}) {
    INFO(name);
    const networks::Case one = networks::named(name);
    const auto file = folder.path() / "new.pt2", old = folder.path() / "old.pt2", again = folder.path() / "again.pt2";
    const levin::ExportedNetwork exported =
        levin::export_program(*one.network, one.example, {.function = one.network->forward});
    exported.save(file);
    write_old(file, old, inputs_of(one.example, exported.input_names()));
    const auto trained = [&](const std::filesystem::path& path) {
      auto module = std::make_shared<levin::ProgramModule>(levin::ProgramModuleOptions{.program = path.string()});
      torch::optim::SGD optimizer(module->parameters(), 0.01);
      for (uint64_t step = 0; step < 5; ++step) {
        torch::manual_seed(step);
        optimizer.zero_grad();
        loss_of(module->run_program(inputs_of(one.example, exported.input_names()))).backward();
        optimizer.step();
      }
      return module;
    };
    const auto of_new = trained(file), of_old = trained(old);
    const auto of_file = of_old->named_parameters();
    REQUIRE(of_file.size() == of_new->named_parameters().size());
    for (const auto& item : of_file) CHECK(item.value().equal(*of_new->named_parameters().find(item.key())));

    of_old->save_program(again);
    const levin::program::ProgramArchive archive(again);
    for (const auto& item : of_file) CHECK(archive.holds(item.key(), item.value()));
    CHECK_FALSE(contains(archive.json(), "\"kind\""));
  }
  std::filesystem::resize_file(folder.path() / "old.pt2", 1000);
  CHECK(contains(error_text([&] { levin::program::ProgramArchive(folder.path() / "old.pt2"); }), "old.pt2"));
}

TEST_CASE("bad examples, sizes and files are named") {
  const auto plain = [](const at::Tensor& x, Lambda&) { return x + 1; };
  const auto error_of = [&](const ExportOptions& options) {
    return error_text([&] { export_function(plain, torch::randn({4, 3}), options); });
  };
  CHECK(contains(error_of({.dynamic = {levin::parse_dynamic_size("ids:0=batch")}}), "no input ids"));
  CHECK(contains(error_of({.dynamic = {levin::parse_dynamic_size("input:4=time")}}), "no dimension 4"));
  CHECK(contains(error_of({.dynamic = {levin::parse_dynamic_size("input:0=batch[9:3]")}}), "no size"));
  CHECK(
      contains(error_of({.dynamic = {levin::parse_dynamic_size("input:0=n"), levin::parse_dynamic_size("input:1=n")}}),
               "differ in the example, 4 and 3"));
  for (const char* bad : {"", "input", "input:0", "input:x=batch", "input:0=", ":0=batch", "input:0=batch[1-3]",
                          "input:0=batch[1:x]", "input:0=y*batch"})
    CHECK(contains(error_text([&] { levin::parse_dynamic_size(bad); }), "INPUT:DIMENSION=NAME"));

  const networks::Case one = networks::named("siamese");
  networks::Network& network = *one.network;
  CHECK(contains(error_text([&] { levin::export_program(network, one.example, {}); }), "options.function"));
  CHECK(contains(
      error_text([&] { levin::export_program(network, Batch(torch::ones({2, 2})), {.function = network.forward}); }),
      "left"));
  const Batch with_list({{"left", Batch::List{Batch(torch::ones({2}))}}});
  CHECK(contains(error_text([&] { levin::export_program(network, with_list, {.function = network.forward}); }),
                 "has a list, left"));

  const TemporaryFolder folder;
  const levin::ExportedNetwork exported = levin::export_program(network, one.example, {.function = network.forward});
  CHECK(contains(error_text([&] { exported.save(folder.path() / "missing" / "net.pt2"); }), "net.pt2"));
  const auto full = [](const char* stage) { return std::string(stage) == "write" ? ENOSPC : 0; };
  const auto before = levin::set_file_stage_hook(full);
  CHECK(contains(error_text([&] { exported.save(folder.path() / "net.pt2"); }), "No space left"));
  levin::set_file_stage_hook(before);
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("predict_step of a LightningModule is exported, with the weights' memory") {
  levin::nn::ImageClassifier module({.net = levin::nn::NamedNet::Mlp, .num_classes = 3, .image_shape = {1, 8, 8}});
  const levin::ExportedNetwork exported =
      levin::export_program(module, Batch(torch::rand({4, 1, 8, 8}), torch::zeros({4})));
  CHECK(exported.input_names() == std::vector<std::string>{"input"});
  const at::Tensor images = torch::rand({7, 1, 8, 8});
  module.eval();
  CHECK(exported.run({images}).at(0).equal(module.predict_step(Batch(images), 0).input()));
}

TEST_CASE("a size that follows others is their polynomial") {
  using levin::program::SizePolynomial;
  const std::vector<int64_t> base = {4, 3};
  const auto fitted = [&](const std::function<int64_t(int64_t, int64_t)>& size) {
    std::vector<int64_t> values;
    for (const auto& point : SizePolynomial::points(base)) values.push_back(size(point[0], point[1]));
    const auto polynomial = SizePolynomial::through(base, values);
    return polynomial ? polynomial->expression({"s0", "s1"}) : "none";
  };
  const std::string a = "Symbol('s0', positive=True, integer=True)", b = "Symbol('s1', positive=True, integer=True)";
  CHECK(fitted([](int64_t x, int64_t) { return x; }) == a);
  CHECK(fitted([](int64_t x, int64_t) { return 7 * x - 2; }) == "Add(Integer(-2), Mul(Integer(7), " + a + "))");
  CHECK(fitted([](int64_t x, int64_t y) { return x * y; }) == "Mul(" + a + ", " + b + ")");
  CHECK(fitted([](int64_t x, int64_t y) { return 2 * x * y * y; }) ==
        "Mul(Integer(2), " + a + ", Pow(" + b + ", Integer(2)))");
  CHECK(fitted([](int64_t, int64_t) { return 0; }) == "Integer(0)");
  CHECK(fitted([](int64_t x, int64_t) { return x / 2; }) == "none");
  CHECK(fitted([](int64_t x, int64_t) { return x * (x + 1) / 2; }) == "none");
  CHECK(fitted([](int64_t x, int64_t y) { return x * x * y * y; }) == "none");
}

TEST_CASE("the schema's numbers are read as they are written") {
  using levin::program::dtype_of, levin::program::number_of, levin::program::memory_format_of;
  for (const auto dtype : {at::kByte, at::kLong, at::kHalf, at::kBFloat16, at::kFloat, at::kDouble, at::kBool,
                           at::kComplexFloat, at::kUInt16, at::kUInt32, at::kUInt64})
    CHECK(dtype_of(number_of(dtype)) == dtype);
  CHECK(number_of(at::kUInt32) == 34);  // ScalarType.UINT32 of PyTorch's schema
  CHECK(number_of(at::kUInt64) == 35);
  for (const auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast})
    CHECK(memory_format_of(number_of(format)) == format);
  CHECK_THROWS_AS(dtype_of(99), levin::UsageError);
}

namespace {

/// A convolution with a batch norm, and a linear layer.
struct SmallNet : torch::nn::Module {
  torch::nn::Conv2d conv{torch::nn::Conv2dOptions(2, 4, 3).bias(false)};
  torch::nn::BatchNorm2d norm{4};
  torch::nn::Linear fc{4, 3};

  SmallNet() {
    register_module("conv", conv);
    register_module("norm", norm);
    register_module("fc", fc);
    const torch::NoGradGuard no_grad;
    norm->running_mean.uniform_(-0.2, 0.2);
    norm->running_var.uniform_(0.5, 2);
    norm->weight.uniform_(0.5, 2);
    norm->bias.uniform_(-0.5, 0.5);
  }
  at::Tensor forward(const at::Tensor& x) { return fc->forward(norm->forward(conv->forward(x)).relu().mean({2, 3})); }
};

/// A weight in whole numbers of [-127, 127], for each output.
at::Tensor rounded(const at::Tensor& weight) {
  const at::Tensor scale = weight.flatten(1).abs().amax(1) / 127;
  std::vector<int64_t> along(static_cast<size_t>(weight.dim()), 1);
  along[0] = -1;
  return (weight / scale.view(along)).round() * scale.view(along);
}

}  // namespace

TEST_CASE("a quantized network computes with weights of 8 bits") {
  SmallNet net;
  net.eval();
  const ExportOptions options = {.function = [&](const Batch& batch) { return Batch(net.forward(batch.input())); },
                                 .inference = true};
  const torch::NoGradGuard no_grad;
  const at::Tensor images = torch::randn({8, 2, 9, 9}), exact = net.forward(images);
  const at::Tensor weight_before = net.conv->weight.clone();

  levin::ExportedNetwork by_weights = levin::export_program(net, Batch(images), options);
  by_weights.quantize();
  // By hand: the norm is a part of the convolution, whose weight and that of the linear layer are rounded.
  const at::Tensor factor = net.norm->weight * (net.norm->running_var + net.norm->options.eps()).rsqrt();
  const at::Tensor kernel = rounded(net.conv->weight * factor.view({-1, 1, 1, 1}));
  const at::Tensor shift = net.norm->bias - net.norm->running_mean * factor;
  const at::Tensor pooled = torch::conv2d(images, kernel, shift).relu().mean({2, 3});
  const at::Tensor expected = torch::linear(pooled, rounded(net.fc->weight), net.fc->bias);
  CHECK(by_weights.run({images}).at(0).allclose(expected, 1e-4, 1e-5));
  CHECK(net.conv->weight.equal(weight_before));
  CHECK(net.forward(images).equal(exact));

  levin::ExportedNetwork calibrated = levin::export_program(net, Batch(images), options);
  calibrated.quantize({Batch(images), Batch(torch::randn({3, 2, 9, 9}))});
  const at::Tensor result = calibrated.run({images}).at(0);
  CHECK_FALSE(result.equal(by_weights.run({images}).at(0)));
  CHECK((result - exact).norm().item<double>() < 0.03 * exact.norm().item<double>());

  // Weights and values that are zero stay zero.
  SmallNet zero;
  zero.eval();
  for (at::Tensor& parameter : zero.parameters()) parameter.zero_();
  const auto forward = [&](const Batch& batch) { return Batch(zero.forward(batch.input())); };
  levin::ExportedNetwork of_zeros =
      levin::export_program(zero, Batch(images), {.function = forward, .inference = true});
  of_zeros.quantize({Batch(torch::zeros({2, 2, 9, 9}))});
  CHECK(of_zeros.run({images}).at(0).equal(torch::zeros({8, 3})));

  CHECK(contains(error_text([&] { calibrated.quantize(); }), "quantized already"));
  levin::ExportedNetwork unquantized = levin::export_program(net, Batch(images), options);
  CHECK(contains(error_text([&] { unquantized.quantize({Batch(torch::full({1, 2, 9, 9}, NAN))}); }), "not finite"));
  CHECK(unquantized.run({images}).at(0).equal(exact));
  levin::ExportedNetwork of_training =
      levin::export_program(net, Batch(images), {.function = options.function, .inference = false});
  CHECK(contains(error_text([&] { of_training.quantize(); }), "options.inference"));
  levin::ExportedNetwork plain = export_function([](const at::Tensor& x, Lambda& module) { return x + module.weight; },
                                                 torch::randn({4, 3}), {.inference = true});
  CHECK(contains(error_text([&] { plain.quantize(); }), "no weight of float32"));
}
