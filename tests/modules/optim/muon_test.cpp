#include <levin/modules/optim/optimizers/muon.h>
#include <levin/modules/nn/grouped_parameters.h>
#include <levin/modules/optim/master_weights.h>
#include <levin/modules/optim/optimizer_state.h>
#include <torch/nn.h>
#include <torch/types.h>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/modules/python_reference.h"
#include "tests/modules/small_training.h"

using namespace small_training;
using levin::UsageError;
namespace optim = levin::optim;

namespace {

const nlohmann::ordered_json& muon_cases() {
  static const auto cases = nlohmann::ordered_json::parse(R"([
    {"lr": 0.02},
    {"lr": 0.02, "others": {"lr": 0.01, "betas": [0.8, 0.99], "weight_decay": 0.2}},
    {"lr": 0.01, "weight_decay": 0.3, "momentum": 0.8, "nesterov": false, "adjust_lr_fn": "match_rms_adamw"},
    {"lr": 0.05, "ns_steps": 3, "ns_coefficients": [2.0, -1.5, 0.5], "eps": 0.001, "others": {"lr": 0.03}}
  ])");
  return cases;
}

std::unique_ptr<torch::optim::Optimizer> muon_of(nlohmann::ordered_json options, std::vector<at::Tensor> weights) {
  options["class"] = "Muon";
  return make(options, std::move(weights));
}

/// A network with an embedding, two matrices, a norm and a head.
struct NetImpl : torch::nn::Module {
  torch::nn::Embedding embedding = register_module("embedding", torch::nn::Embedding(5, 4));
  torch::nn::Linear first = register_module("first", torch::nn::Linear(4, 6));
  torch::nn::LayerNorm norm = register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({6})));
  torch::nn::Linear second = register_module("second", torch::nn::Linear(torch::nn::LinearOptions(6, 4).bias(false)));
  torch::nn::Linear lm_head = register_module("lm_head", torch::nn::Linear(4, 5));
};

std::unique_ptr<torch::optim::Optimizer> grouped(const NetImpl& net, const std::string& rows,
                                                 double lr_of_others = 1e-3) {
  levin::ParameterGroups groups;
  levin::schema_of<levin::ParameterGroups>().set(&groups, "",
                                                 {{"parameter_groups", nlohmann::ordered_json::parse(rows)}});
  const levin::ClassChoice<optim::OptimizerKind> choice("Muon",
                                                        optim::MuonOptions{.lr = 0.02, .others = {.lr = lr_of_others}});
  return levin::make_grouped_optimizer(choice, net, groups);
}

bool is_of_muon(const torch::optim::OptimizerParamGroup& group) {
  return dynamic_cast<const optim::GroupOptions<optim::MuonOptions>*>(&group.options()) != nullptr;
}

}  // namespace

TEST_CASE("Muon and the AdamW beside it end at the bits of Python's after 30 steps") {
  const bool in_double = GENERATE(true, false);
  const auto expected = python_reference(in_double ? "muon" : "muon32", muon_cases());
  if (!expected) return;
  for (size_t i = 0; i < muon_cases().size(); ++i) {
    INFO(muon_cases()[i].dump());
    const auto weights = parameters(in_double ? at::kDouble : at::kFloat);
    const at::Tensor before = flat(weights);
    train(*muon_of(muon_cases()[i], weights), weights, 30);
    CHECK(distance(flat(weights), before) > 1e-2);
    CHECK(torch::equal(flat(weights).to(at::kDouble), flat((*expected)[i])));
  }
}

TEST_CASE("Muon's state resumes to the bit, also over master weights") {
  for (const auto& options : muon_cases()) {
    const auto whole = parameters(), first = parameters();
    train(*muon_of(options, whole), whole, 20);
    const auto before = muon_of(options, first);
    train(*before, first, 10);
    std::vector<at::Tensor> second;
    for (const at::Tensor& one : first) second.push_back(one.detach().clone().requires_grad_());
    const auto after = muon_of({{"lr", 1}}, second);
    optim::load_optimizer_state_dict(*after, optim::optimizer_state_dict(*before));
    train(*after, second, 10);
    // What the state of Python's optimizers does not hold, `others`, is in the options of its own group.
    CHECK(torch::equal(flat(second), flat(whole)));
  }
  auto halves = parameters(at::kBFloat16);
  const auto optimizer = muon_of({{"lr", 0.02}}, halves);
  optim::MasterWeights masters(*optimizer);
  const at::Tensor before = flat(halves);
  for (int64_t i = 0; i < 3; ++i) {
    masters.zero_grad();
    loss_of(halves).backward();
    masters.take_gradients();
    optimizer->step();
    masters.write_back();
  }
  CHECK(distance(flat(halves).to(at::kFloat), before.to(at::kFloat)) > 1e-3);
  for (const auto& group : optimizer->param_groups())
    for (const at::Tensor& held : group.params()) CHECK(held.scalar_type() == at::kFloat);
}

TEST_CASE("a config's Muon steps the matrices of hidden layers, and AdamW embeddings, heads, norms and biases") {
  const torch::nn::ModuleHolder<NetImpl> net;
  const auto optimizer = grouped(*net, "{}", 0.5);
  REQUIRE(optimizer->param_groups().size() == 2);
  const auto& matrices = optimizer->param_groups()[0];
  REQUIRE(is_of_muon(matrices));
  REQUIRE(matrices.params().size() == 2);
  CHECK(matrices.params()[0].is_same(net->first->weight));
  CHECK(matrices.params()[1].is_same(net->second->weight));
  CHECK_FALSE(is_of_muon(optimizer->param_groups()[1]));
  CHECK(optimizer->param_groups()[1].params().size() == 6);
  CHECK(optimizer->param_groups()[1].options().get_lr() == 0.5);
}

TEST_CASE("rows of parameter_groups keep the rule of each parameter, unless they name one") {
  const torch::nn::ModuleHolder<NetImpl> net;
  const auto kept = grouped(*net, R"({"first": {"lr_factor": 10}})");
  REQUIRE(kept->param_groups().size() == 4);
  CHECK(is_of_muon(kept->param_groups()[2]));
  CHECK(kept->param_groups()[2].options().get_lr() == Approx(0.2));
  CHECK(kept->param_groups()[3].params()[0].is_same(net->first->bias));
  CHECK(kept->param_groups()[3].options().get_lr() == Approx(0.01));

  const auto named = grouped(*net, R"({"second": {"class": "AdamW"}, "lm_head.weight": {"class": "Muon", "lr": 0.3}})");
  REQUIRE(named->param_groups().size() == 4);
  CHECK_FALSE(is_of_muon(named->param_groups()[2]));
  CHECK(is_of_muon(named->param_groups()[3]));
  CHECK(named->param_groups()[3].options().get_lr() == 0.3);

  const auto all = grouped(*net, R"({"*": {"weight_decay": 0}})");
  CHECK(all->param_groups().size() == 2);

  const auto says = [&](const char* rows) { return error_text<UsageError>([&] { grouped(*net, rows); }); };
  CHECK(
      contains(says(R"({"first": {"class": "Muon"}})"), "Muon steps matrices, and the row names a parameter of shape"));
  CHECK(contains(says(R"({"first": {"class": "SGD"}})"), "expected Muon or AdamW, got \"SGD\""));
  CHECK(contains(says(R"({"bias": {"momentum": 0.5}})"), "the optimizer has no option momentum"));
}

TEST_CASE("Muon refuses what it cannot step") {
  const at::Tensor vector = fill({4}).requires_grad_(), matrix = fill({3, 4}).requires_grad_();
  optim::ParamGroups groups;
  groups.push_back(optim::param_group({vector}, optim::MuonOptions{}));
  CHECK(contains(error_text<UsageError>([&] { optim::Muon(groups, {}); }), "Muon steps matrices"));
  CHECK(contains(
      error_text<UsageError>([&] { optim::Muon({torch::complex(matrix.detach(), matrix.detach()).requires_grad_()}); }),
      "does not take complex parameters"));
  CHECK(contains(error_text<UsageError>([&] { optim::Muon({matrix}, {.ns_coefficients = {1}}); }),
                 "Muon.ns_coefficients: expected three numbers, got 1"));
  CHECK(contains(error_text<UsageError>([&] { optim::Muon({matrix}, {.others = {.lr = -1}}); }), "Muon.others.lr"));
}
