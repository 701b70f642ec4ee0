// Parameters whose rows change while they are trained, against optimizers that are built anew with the state cut by
// hand.
#include <levin/modules/optim/parameter_rows.h>
#include <levin/core/state/state_file.h>
#include <levin/modules/optim/ema.h>
#include <levin/modules/optim/master_weights.h>
#include <levin/modules/optim/optimizer_state.h>
#include <levin/modules/optim/optimizers/adam.h>
#include <levin/modules/optim/registry.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/lbfgs.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>
#include <torch/types.h>

#include <functional>
#include <optional>
#include <random>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/modules/small_training.h"
#include "tests/temporary_folder.h"

using levin::State;
using levin::UsageError;
using namespace levin::optim;

namespace {

using MakeOptimizer = std::function<std::unique_ptr<torch::optim::Optimizer>(std::vector<at::Tensor>)>;

struct RowCase {
  std::string name;
  MakeOptimizer make;
  double first_state = 0;  ///< of new rows
};

std::vector<RowCase> row_cases() {
  std::vector<RowCase> cases;
  const auto ours = [&](const std::string& json, double first = 0) {
    cases.push_back({"levin " + json,
                     [json](std::vector<at::Tensor> parameters) {
                       return small_training::make(nlohmann::ordered_json::parse(json), std::move(parameters));
                     },
                     first});
  };
  ours(R"({"class": "Adam", "lr": 0.01})");
  ours(R"({"class": "Adam", "lr": 0.01, "amsgrad": true, "weight_decay": 0.1})");
  ours(R"({"class": "AdamW", "lr": 0.02, "weight_decay": 0.2})");
  ours(R"({"class": "SGD", "lr": 0.1, "momentum": 0.9})");
  ours(R"({"class": "RMSprop", "lr": 0.005, "momentum": 0.5, "centered": true})");
  ours(R"({"class": "Adagrad", "lr": 0.1, "initial_accumulator_value": 0.25})", 0.25);
  const auto theirs = [&]<class Class, class Options>(const std::string& name, Class*, Options options,
                                                      double first = 0) {
    cases.push_back({"torch " + name,
                     [options](std::vector<at::Tensor> parameters) {
                       return std::make_unique<Class>(std::move(parameters), options);
                     },
                     first});
  };
  const auto none = []<class Class>() { return static_cast<Class*>(nullptr); };
  namespace t = torch::optim;
  theirs("SGD", none.operator()<t::SGD>(), t::SGDOptions(0.1).momentum(0.9));
  theirs("Adam", none.operator()<t::Adam>(), t::AdamOptions(0.01).amsgrad(true));
  theirs("AdamW", none.operator()<t::AdamW>(), t::AdamWOptions(0.01).weight_decay(0.1));
  theirs("RMSprop", none.operator()<t::RMSprop>(), t::RMSpropOptions(0.005).momentum(0.5).centered(true));
  theirs("Adagrad", none.operator()<t::Adagrad>(), t::AdagradOptions(0.1).initial_accumulator_value(0.25), 0.25);
  return cases;
}

/// A change of rows, as functions of the parameter and of its state.
struct Change {
  enum class Kind { Mask, Numbers, Append, Keep, Zero } kind;
  at::Tensor rows, values;

  void apply(const at::Tensor& parameter) const {
    switch (kind) {
      case Kind::Mask:
      case Kind::Numbers:
        return keep_rows(parameter, rows);
      case Kind::Append:
        return append_rows(parameter, values);
      case Kind::Keep:
        return replace(parameter, values, StateAfter::Keep);
      case Kind::Zero:
        return replace(parameter, values, StateAfter::Zero);
    }
  }
  at::Tensor of_value(const at::Tensor& old) const {
    if (kind == Kind::Mask || kind == Kind::Numbers) return old.index({rows});
    if (kind == Kind::Append) return torch::cat({old, values.to(old.options())});
    return values.to(old.options()).clone();
  }
  at::Tensor of_state(const at::Tensor& old, double first) const {
    if (old.dim() == 0 || kind == Kind::Keep) return old;
    if (kind == Kind::Mask || kind == Kind::Numbers) return old.index({rows});
    const at::Tensor fresh = torch::full(values.sizes(), first, old.options());
    return kind == Kind::Append ? torch::cat({old, fresh}) : fresh;
  }
  at::Tensor of_average(const at::Tensor& old) const { return kind == Kind::Keep ? old : of_value(old); }
};

Change random_change(std::mt19937& random, const at::Tensor& parameter) {
  const int64_t rows = parameter.size(0);
  const auto below = [&](int64_t limit) { return static_cast<int64_t>(random() % static_cast<uint64_t>(limit)); };
  const auto values = [&](int64_t count) {
    std::vector<int64_t> shape = parameter.sizes().vec();
    shape[0] = count;
    return torch::randn(shape);
  };
  switch (below(rows > 20 ? 2 : 5)) {
    case 0: {
      at::Tensor mask = torch::rand({rows}) < 0.7;
      mask[below(rows)] = true;
      return {Change::Kind::Mask, mask, {}};
    }
    case 1:  // in another order, and some rows twice
      return {Change::Kind::Numbers, torch::randint(rows, {1 + below(rows)}, torch::kLong), {}};
    case 2:
      return {Change::Kind::Append, {}, values(1 + below(6))};
    case 3:
      return {Change::Kind::Keep, {}, values(rows)};
    default:
      return {Change::Kind::Zero, {}, values(1 + below(8))};
  }
}

/// Two parameters and their optimizer, as the tested side and as the side that is built anew at each change.
struct Side {
  std::vector<at::Tensor> parameters;
  std::unique_ptr<torch::optim::Optimizer> optimizer;

  void step() const {
    optimizer->zero_grad();
    loss().backward();
    optimizer->step();
  }
  at::Tensor loss() const {
    return (parameters[0].sin().sum(0) * parameters[1]).square().sum() + parameters[0].square().mean();
  }
};

Side start(const RowCase& of) {
  Side side{{torch::randn({5, 3}).requires_grad_(), torch::randn({3}).requires_grad_()}, nullptr};
  side.optimizer = of.make(side.parameters);
  return side;
}

Side copy_of(const Side& side, const RowCase& of) {
  Side copy;
  for (const at::Tensor& one : side.parameters) copy.parameters.push_back(one.detach().clone().requires_grad_());
  copy.optimizer = of.make(copy.parameters);
  load_optimizer_state_dict(*copy.optimizer, optimizer_state_dict(*side.optimizer));
  return copy;
}

/// Makes a parameter and an optimizer anew, with the value and the state cut by hand.
void change_by_hand(Side& side, const RowCase& of, const Change& change) {
  State state = optimizer_state_dict(*side.optimizer);
  side.parameters[0] = change.of_value(side.parameters[0].detach()).requires_grad_();
  side.optimizer = of.make(side.parameters);
  if (state["state"].contains(int64_t{0}))
    for (auto& [key, value] : state["state"][int64_t{0}].to_dict())
      if (value.is_tensor()) value = change.of_state(value.to_tensor(), of.first_state);
  load_optimizer_state_dict(*side.optimizer, state);
}

bool same_state(const State& a, const State& b) {
  if (a.is_tensor()) return b.is_tensor() && torch::equal(a.to_tensor(), b.to_tensor());
  if (a.is_dict()) {
    if (!b.is_dict() || a.size() != b.size()) return false;
    for (const auto& [key, value] : a.to_dict()) {
      const State* other = b.find(key);
      if (other == nullptr || !same_state(value, *other)) return false;
    }
  }
  return true;
}

struct Rows : torch::nn::Module {
  explicit Rows(at::Tensor values) { table = register_parameter("table", std::move(values)); }
  at::Tensor table;
};

/// A 16-bit parameter that an optimizer steps by a float32 copy, with an average.
struct Sixteen {
  Sixteen(const RowCase& of, at::Tensor table, const std::optional<State>& saved = {})
      : module(std::move(table)), ema(module, {.decay = 0.5}) {
    if (saved) {
      take_row_counts(module, saved->at("state_dict"));
      const at::NoGradGuard no_grad;
      module.table.copy_(saved->at("state_dict").at("table").to_tensor());
    }
    optimizer = of.make(module.parameters());
    tracker.emplace(*optimizer);
    masters.emplace(*optimizer);
    if (!saved) return;
    load_optimizer_state_dict(*optimizer, saved->at("optimizer"));
    masters->load_state_dict(saved->at("masters"));
    ema.load_state_dict(saved->at("average"));
  }
  State state_dict() const {
    return State::dict({{"state_dict", State::dict({{"table", module.table.detach()}})},
                        {"optimizer", optimizer_state_dict(*optimizer)},
                        {"masters", masters->state_dict()},
                        {"average", ema.state_dict()}});
  }
  void step(const at::Tensor& gradient) {
    masters->zero_grad();
    module.table.mutable_grad() = gradient;
    masters->take_gradients();
    optimizer->step();
    masters->write_back();
    ema.update();
  }

  Rows module;
  EMA ema;
  std::unique_ptr<torch::optim::Optimizer> optimizer = {};
  std::optional<RowTracker> tracker = {};
  std::optional<MasterWeights> masters = {};
};

}  // namespace

TEST_CASE("optimizers whose parameters change rows equal ones that are built anew with the state cut by hand") {
  for (const RowCase& one : row_cases()) {
    INFO(one.name);
    torch::manual_seed(7);
    std::mt19937 random(11);
    Side side = start(one);
    std::optional<RowTracker> tracker(*side.optimizer);
    Side by_hand = copy_of(side, one);
    for (int i = 0; i < 200; ++i) {
      if (i == 100) {  // resumed from a file
        const TemporaryFolder folder;
        levin::save_state(optimizer_state_dict(*side.optimizer), folder / "half.ckpt");
        const State saved = levin::load_state(folder / "half.ckpt");
        tracker.reset();
        side = copy_of(side, one);
        load_optimizer_state_dict(*side.optimizer, saved);
        tracker.emplace(*side.optimizer);
      }
      const auto kind = random() % 3;
      if (kind != 0) {
        side.step();
        by_hand.step();
      } else {
        const Change change = random_change(random, side.parameters[0]);
        change.apply(side.parameters[0]);
        change_by_hand(by_hand, one, change);
      }
      REQUIRE(torch::equal(side.parameters[0], by_hand.parameters[0]));
      REQUIRE(torch::equal(side.parameters[1], by_hand.parameters[1]));
    }
    CHECK(
        same_state(optimizer_state_dict(*side.optimizer)["state"], optimizer_state_dict(*by_hand.optimizer)["state"]));
  }
}

TEST_CASE("averages and float32 master weights change rows with their parameter, also in a resumed run") {
  for (const RowCase& one : row_cases())
    for (const at::ScalarType dtype : {at::kHalf, at::kBFloat16}) {
      INFO(one.name << " " << dtype);
      torch::manual_seed(3);
      std::mt19937 random(5);
      std::optional<Sixteen> side(std::in_place, one, torch::randn({6, 2}).to(dtype));
      // The oracle: a float32 parameter with its own optimizer, and averages by hand.
      at::Tensor copy = side->module.table.detach().to(torch::kFloat).requires_grad_();
      auto oracle = one.make({copy});
      at::Tensor average = side->module.table.detach().clone();
      for (int i = 0; i < 200; ++i) {
        if (i % 67 == 66) {
          const TemporaryFolder folder;
          levin::save_state(side->state_dict(), folder / "saved.ckpt");
          side.emplace(one, torch::zeros({6, 2}, dtype), levin::load_state(folder / "saved.ckpt"));
        }
        const at::Tensor table = side->module.table;
        if (random() % 3 == 0) {
          const Change change = random_change(random, table);
          change.apply(table);
          State state = optimizer_state_dict(*oracle);
          copy = change.of_value(copy.detach()).requires_grad_();
          oracle = one.make({copy});
          if (state["state"].contains(int64_t{0}))
            for (auto& [key, value] : state["state"][int64_t{0}].to_dict())
              if (value.is_tensor()) value = change.of_state(value.to_tensor(), one.first_state);
          load_optimizer_state_dict(*oracle, state);
          average = change.of_average(average);
        } else {
          const at::Tensor gradient = table.detach().sin();
          copy.mutable_grad() = gradient.to(torch::kFloat);
          side->step(gradient);
          oracle->step();
          average = side->ema.updates() == 1 ? table.detach().clone() : torch::lerp(average, table.detach(), 0.5);
        }
        REQUIRE(torch::equal(side->masters->state_dict().items()[0].to_tensor(), copy.detach()));
        REQUIRE(torch::equal(table.detach(), copy.detach().to(dtype)));
        REQUIRE(torch::equal(side->ema.average("table"), average));
      }
      CHECK(same_state(optimizer_state_dict(*side->optimizer)["state"], optimizer_state_dict(*oracle)["state"]));
    }
}

TEST_CASE("a gradient changes rows with its parameter, so that a window goes on") {
  Rows module(torch::arange(6.0).reshape({3, 2}));
  Adam optimizer(module.parameters());
  module.table.square().sum().backward();
  keep_rows(module.table, torch::tensor({2, 0}));
  CHECK(torch::equal(module.table.grad(), torch::tensor({{8.0, 10.0}, {0.0, 2.0}}).to(torch::kFloat)));
  append_rows(module.table, torch::ones({1, 2}));
  CHECK(torch::equal(module.table.grad()[2], torch::zeros({2})));
  module.table.square().sum().backward();
  CHECK(torch::equal(module.table.grad()[2], torch::full({2}, 2.0)));
  CHECK(module.table.is_same(module.parameters()[0]));
  CHECK(module.table.requires_grad());
}

TEST_CASE("an optimizer that was moved, and one that was destroyed, are known as such") {
  Rows module(torch::randn({4, 2}));
  auto first = std::make_unique<Adam>(module.parameters());
  module.table.sum().backward();
  first->step();
  Adam second(std::move(*first));
  first.reset();
  keep_rows(module.table, torch::tensor({1}));
  CHECK(second.state_dict()["state"][int64_t{0}]["exp_avg"].to_tensor().size(0) == 1);
  {
    const Adam moved(std::move(second));
  }
  CHECK(error_text([&] { keep_rows(module.table, torch::tensor({0})); }).find("no optimizer steps this tensor") !=
        std::string::npos);
}

TEST_CASE("Adafactor keeps its means over columns") {
  Rows module(torch::randn({1, 3}));
  const auto optimizer = small_training::make({{"class", "Adafactor"}}, module.parameters());
  module.table.square().sum().backward();
  optimizer->step();
  append_rows(module.table, torch::ones({2, 3}));
  const State state = optimizer_state_dict(*optimizer)["state"][int64_t{0}];
  CHECK(state.at("row_var").to_tensor().sizes() == at::IntArrayRef({3, 1}));
  CHECK(state.at("col_var").to_tensor().sizes() == at::IntArrayRef({1, 3}));
  module.table.square().sum().backward();
  optimizer->step();
}

TEST_CASE("changes of rows that cannot be made are refused, and change nothing") {
  Rows module(torch::randn({4, 2}));
  Adam optimizer(module.parameters());
  module.table.square().sum().backward();
  optimizer.step();
  const at::Tensor before = module.table.detach().clone();
  const auto refused = [&](const auto& call, const std::string& text) {
    const std::string error = error_text(call);
    CAPTURE(error);
    CHECK(error.find(text) != std::string::npos);
    CHECK(torch::equal(module.table, before));
  };
  refused([&] { keep_rows(module.table, torch::ones({5}, torch::kBool)); }, "the mask has 5 elements");
  refused([&] { keep_rows(module.table, torch::tensor({4})); }, "there is no row 4");
  refused([&] { keep_rows(module.table, torch::tensor({-1})); }, "there is no row -1");
  refused([&] { keep_rows(module.table, torch::tensor({0.5})); }, "a bool mask or int64 numbers");
  refused([&] { keep_rows(module.table, torch::ones({4, 1}, torch::kBool)); }, "one dimension");
  refused([&] { append_rows(module.table, torch::ones({1, 3})); }, "rows of the shape [k, ...]");
  refused([&] { replace(module.table, torch::ones({3, 2}), StateAfter::Keep); }, "the state can only be kept");
  refused([&] { keep_rows(torch::randn({4, 2}), torch::tensor({0})); },
          "no optimizer steps this tensor of shape [4, 2]");
  refused([&] { keep_rows(module.table * 2, torch::tensor({0})); }, "is computed");
  refused([&] { keep_rows(torch::tensor(1.0), torch::tensor({0})); }, "has no rows");
  torch::optim::LBFGS lbfgs(module.parameters());
  const RowTracker tracker(lbfgs);
  refused([&] { keep_rows(module.table, torch::tensor({0})); }, "LBFGS keeps vectors over all elements");
}
