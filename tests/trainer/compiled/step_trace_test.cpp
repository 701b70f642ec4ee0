// The trace of a step, and the program that is made of traces; Python is not needed.
#include <levin/trainer/compiled/step_trace.h>
#include <levin/core/system/version.h>
#include <levin/trainer/compiled/machine.h>
#include <levin/trainer/compiled/step_description.h>
#include <levin/trainer/compiled/step_source.h>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/small_modules.h"

namespace {

using levin::compiled::StepSource, levin::compiled::StepTrace;
using Json = nlohmann::ordered_json;

/// A module whose step the test writes.
struct Stepped : ToyModule {
  using Step = std::function<levin::StepOutput(Stepped&, const levin::Batch&)>;
  explicit Stepped(Step step_) : ToyModule(/*dropout=*/0.5), step(std::move(step_)) {
    count = register_buffer("count", torch::zeros({}, torch::kLong));
  }
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override { return step(*this, batch); }
  Step step;
  torch::Tensor count;
};

levin::Batch batch_of(int64_t samples) {
  torch::manual_seed(3);
  return {torch::randn({samples, 4}), torch::randn({samples, 1})};
}

struct Bench {
  explicit Bench(Stepped::Step step) : module(std::move(step)) { levin::ModuleAccess::set_context(module, &context); }
  ~Bench() { levin::ModuleAccess::set_context(module, nullptr); }
  levin::compiled::TracedParts parts() { return {module, context, precision}; }
  StepTrace trace(int64_t samples = 8) { return levin::compiled::trace_step(parts(), batch_of(samples), 0); }
  StepSource program(int64_t samples = 8) {
    return levin::compiled::make_step_source(parts(), batch_of(samples), why_fixed);
  }
  std::string refusal() {
    return error_text<levin::UsageError>([&] { program(); });
  }

  Stepped module;
  levin::StepContext context;
  levin::FullPrecision precision;
  std::string why_fixed;
};

levin::StepOutput plain(Stepped& module, const levin::Batch& batch) { return module.loss_of(batch); }

/// The square, with a backward of its own.
struct Square : torch::autograd::Function<Square> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& x) {
    context->save_for_backward({x});
    return x * x;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    return {gradients[0] * context->get_saved_variables()[0]};
  }
};

}  // namespace

TEST_CASE("a trace leaves buffers, random numbers and logs as they are, and says which buffers a step writes") {
  Bench bench([](Stepped& module, const levin::Batch& batch) {
    module.count += 1;
    const torch::Tensor loss = module.loss_of(batch);
    module.log("train_loss", loss);
    return levin::StepOutput(loss);
  });
  torch::manual_seed(5);
  const StepTrace trace = levin::compiled::trace_step(bench.parts(), {torch::ones({8, 4}), torch::ones({8, 1})}, 0);
  const torch::Tensor next = torch::rand({3});
  torch::manual_seed(5);
  CHECK(torch::equal(next, torch::rand({3})));
  CHECK(bench.module.count.item<int64_t>() == 0);
  REQUIRE(trace.log.entries().size() == 1);
  CHECK(trace.log.entries()[0].name == "train_loss");
  for (const auto& input : trace.inputs) CHECK(input.is_written == (input.name == "count"));
}

TEST_CASE("two traces of one step have one digest, and each change of the step has another") {
  Bench bench(plain);
  const std::string digest = bench.trace().digest();
  CHECK(bench.trace().digest() == digest);
  bench.module.step = [](Stepped& module, const levin::Batch& batch) { return module.loss_of(batch) * 2; };
  CHECK(bench.trace().digest() != digest);
  bench.module.step = [](Stepped& module, const levin::Batch& batch) {
    return module.loss_of(batch) * torch::tensor({1.5F});
  };
  const std::string with_constant = bench.trace().digest();
  bench.module.step = [](Stepped& module, const levin::Batch& batch) {
    return module.loss_of(batch) * torch::tensor({2.5F});
  };
  CHECK(bench.trace().digest() != with_constant);
  bench.module.step = plain;
  bench.module.net->eval();
  CHECK(bench.trace().digest() != digest);
}

TEST_CASE("sizes that follow the batch are found, though C++ reads them as numbers") {
  Bench bench([](Stepped& module, const levin::Batch& batch) {
    const torch::Tensor output = module.net->forward(batch.input()).view({batch.input().size(0), -1});
    return levin::StepOutput((output - batch.target()).square().sum() / torch::ones({}));
  });
  const StepSource program = bench.program(8);
  CHECK(bench.why_fixed.empty());
  CHECK_FALSE(program.json["fixed"].get<bool>());
  bool found = false;
  for (const Json& call : program.json["calls"])
    found = found || (call["op"] == "aten::view.default" && call["in"][1]["l"][0] == Json{{"s", {1, 0}}});
  CHECK(found);
  for (const Json& input : program.json["inputs"])
    if (input["kind"] == "batch") CHECK(input["shape"][0] == Json{{"s", {1, 0}}});
}

TEST_CASE("a step that is another one for another size of batch has one size") {
  Bench bench([](Stepped& module, const levin::Batch& batch) {
    const torch::Tensor loss = module.loss_of(batch);
    return levin::StepOutput(batch.size() > 8 ? loss.sqrt() : loss);
  });
  const StepSource program = bench.program(8);
  CHECK(program.json["fixed"].get<bool>());
  CHECK(contains(bench.why_fixed, "another number of samples"));
  for (const Json& input : program.json["inputs"])
    if (input["kind"] == "batch") CHECK(input["shape"][0] == 8);
}

TEST_CASE("a step that fails with another number of samples has one size, and the reason says so") {
  Bench bench([](Stepped& module, const levin::Batch& batch) {
    return levin::StepOutput(module.loss_of(batch) * batch.input().view({8, 4}).sum());
  });
  const StepSource program = bench.program(8);
  CHECK(program.json["fixed"].get<bool>());
  CHECK(bench.why_fixed == "training_step does not take 9 samples");
}

TEST_CASE("sizes are lines through two traces, or nothing") {
  using levin::compiled::with_batch_size, levin::compiled::at_batch_size;
  const Json merged = *with_batch_size({{"l", {8, -1, 20}}}, {{"l", {9, -1, 22}}}, 8, 9);
  CHECK(merged == Json{{"l", {Json{{"s", {1, 0}}}, -1, Json{{"s", {2, 4}}}}}});
  CHECK(at_batch_size(merged, 11) == Json{{"l", {11, -1, 26}}});
  CHECK_FALSE(with_batch_size(1.0, 1.5, 8, 9));
  CHECK_FALSE(with_batch_size(8, 8.0, 8, 9));
  CHECK_FALSE(with_batch_size({{"op", "a"}}, {{"op", "b"}}, 8, 9));
  CHECK_FALSE(with_batch_size({{"l", {1}}}, {{"l", {1, 2}}}, 8, 9));
  CHECK_FALSE(with_batch_size(8, 9, 8, 11));  // a third of a sample
}

TEST_CASE("what a graph cannot hold is refused by name") {
  CHECK(contains(Bench([](Stepped& module, const levin::Batch& batch) {
                   const torch::Tensor loss = module.loss_of(batch);
                   return levin::StepOutput(loss * batch.input().sum().item<double>());
                 }).refusal(),
                 "reads from tensors"));
  CHECK(contains(Bench([](Stepped& module, const levin::Batch& batch) {
                   module.log("rate", 0.5);
                   return levin::StepOutput(module.loss_of(batch));
                 }).refusal(),
                 "log('rate') of a number"));
  CHECK(contains(Bench([](Stepped& module, const levin::Batch& batch) {
                   return levin::StepOutput(module.loss_of(batch), 3);
                 }).refusal(),
                 "weight as a number"));
  CHECK(contains(Bench([](Stepped&, const levin::Batch&) { return levin::StepOutput(); }).refusal(), "return a loss"));
  CHECK(contains(Bench([](Stepped& module, const levin::Batch& batch) {
                   return levin::StepOutput(Square::apply(module.loss_of(batch)));
                 }).refusal(),
                 "an autograd function of C++"));
  CHECK(contains(Bench([](Stepped& module, const levin::Batch& batch) {
                   const torch::Tensor loss = module.loss_of(batch) * 2;
                   loss.register_hook([](const torch::Tensor& gradient) { return gradient * 3; });
                   return levin::StepOutput(loss);
                 }).refusal(),
                 "a hook on a tensor"));
}

TEST_CASE("a number that a step reads from a tensor is refused, also if all batches have the same") {
  CHECK(contains(Bench([](Stepped& module, const levin::Batch& batch) {
                   module.count += 1;
                   return levin::StepOutput(module.loss_of(batch) * (1 + module.count.item<int64_t>()));
                 }).refusal(),
                 "reads from tensors"));
  CHECK(contains(Bench([](Stepped& module, const levin::Batch& batch) {
                   const double drawn = torch::rand({}).item<double>();
                   return levin::StepOutput(module.loss_of(batch) * drawn);
                 }).refusal(),
                 "reads from tensors"));
  // No tensor of the step decides on this one.
  CHECK(Bench([](Stepped& module, const levin::Batch& batch) {
          return levin::StepOutput(module.loss_of(batch) * torch::tensor(2.0).item<double>());
        }).refusal() == "no error");
}

TEST_CASE("what ran without gradients is recorded so, and sparse gradients are refused") {
  Bench bench([](Stepped& module, const levin::Batch& batch) {
    torch::Tensor scale;
    {
      const torch::NoGradGuard no_grad;
      scale = batch.input().cosh().mean();
    }
    return levin::StepOutput(module.loss_of(batch) * scale.sinh());
  });
  const StepSource program = bench.program();
  int without = 0;
  for (const Json& call : program.json["calls"]) {
    const bool is_without = call.contains("no_grad");
    without += is_without;
    if (call["op"] == "aten::cosh.default") CHECK(is_without);
    if (call["op"] == "aten::sinh.default") CHECK_FALSE(is_without);
  }
  CHECK(without >= 2);
  CHECK(contains(Bench([](Stepped& module, const levin::Batch& batch) {
                   const torch::Tensor rows = torch::embedding(module.parameters()[0], torch::zeros({2}, torch::kLong),
                                                               -1, false, /*sparse=*/true);
                   return levin::StepOutput(module.loss_of(batch) * rows.sum());
                 }).refusal(),
                 "sparse gradients, which cannot be compiled; make it with sparse = false"));
}

TEST_CASE("a package for another machine is refused") {
  levin::compiled::StepDescription description;
  description.torch = levin::torch_version();
  description.cpu = levin::compiled::cpu_features();
  CHECK_FALSE(description.cpu.empty());
  levin::compiled::check_machine(description, "step.pt2");
  description.cpu.push_back("avx1024");
  CHECK(contains(error_text([&] { levin::compiled::check_machine(description, "step.pt2"); }),
                 "another CPU; this one lacks avx1024; make it again: levin compile"));
  description.torch = "1.2.3";
  CHECK(contains(error_text([&] { levin::compiled::check_machine(description, "step.pt2"); }), "LibTorch 1.2.3"));
}
