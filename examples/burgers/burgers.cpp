// A physics-informed network: solves Burgers' equation
//
//     u_t + u u_x = nu u_xx,   u(0, x) = -sin(pi x),   u(t, -1) = u(t, 1) = 0,   0 <= t <= 1
//
// without data. The loss is the equation's residual at points of the domain, whose derivatives autograd computes. LBFGS
// evaluates it many times in each step, by a closure in float64. With two ranks (`example_burgers 2`) each has half of
// the points; every evaluation averages gradients and losses over the ranks, so that all take the same way.
// The network is compared with the exact solution, which the Cole-Hopf transformation gives as a quotient of integrals.
//
// Source: Raissi, Perdikaris and Karniadakis, Physics-informed neural networks, 2019,
// https://doi.org/10.1016/j.jcp.2018.10.045
#include <levin/levin.h>

#include <cmath>
#include <iostream>

namespace {

constexpr double kPi = 3.14159265358979323846, kViscosity = 0.03;

/// Returns the derivative of each row of `values` by the same row of `input`.
torch::Tensor derivative(const torch::Tensor& values, const torch::Tensor& input) {
  return torch::autograd::grad({values.sum()}, {input}, {}, /*retain_graph=*/true, /*create_graph=*/true).front();
}

struct Burgers : levin::LightningModule {
  /// u at times t and places x, both [n, 1]; start and walls hold exactly, whatever the network says.
  torch::Tensor u(const torch::Tensor& t, const torch::Tensor& x) {
    return -torch::sin(kPi * x) + t * (1 - x * x) * net->forward(torch::cat({t, x}, 1));
  }
  torch::Tensor residual(const torch::Tensor& points) {
    const auto t = points.narrow(1, 0, 1).detach().requires_grad_(),
               x = points.narrow(1, 1, 1).detach().requires_grad_();
    const auto value = u(t, x), u_x = derivative(value, x);
    return derivative(value, t) + value * u_x - kViscosity * derivative(u_x, x);
  }
  levin::OptimizerConfig configure_optimizers() override {
    return levin::OptimizerConfig(levin::optim::LBFGS(parameters(), {.max_iter = 40,
                                                                     .tolerance_grad = 1e-9,
                                                                     .tolerance_change = 1e-12,
                                                                     .history_size = 50,
                                                                     .line_search_fn = "strong_wolfe"}));
  }

  torch::nn::Sequential net = register_module(
      "net",
      torch::nn::Sequential(torch::nn::Linear(2, 20), torch::nn::Tanh(), torch::nn::Linear(20, 20), torch::nn::Tanh(),
                            torch::nn::Linear(20, 20), torch::nn::Tanh(), torch::nn::Linear(20, 1)));
};

/// The exact solution, by the trapezoidal rule, at places x [n] and one time t > 0.
torch::Tensor cole_hopf(double t, const torch::Tensor& x) {
  const auto z = torch::linspace(-9, 9, 2001, torch::kDouble).unsqueeze(0);
  const auto y = x.unsqueeze(1) - z * std::sqrt(4 * kViscosity * t);
  const auto weights = torch::exp(-torch::cos(kPi * y) / (2 * kPi * kViscosity) - z * z);
  return -(torch::sin(kPi * y) * weights).sum(1) / weights.sum(1);
}

/// Returns the error of the network relative to the solution, in the 2-norm over four times.
double relative_error(Burgers& module) {
  const torch::NoGradGuard no_grad;
  const auto x = torch::linspace(-1, 1, 201, torch::kDouble);
  double squares = 0, of_solution = 0;
  for (const double t : {0.25, 0.5, 0.75, 1.0}) {
    const auto exact = cole_hopf(t, x);
    const auto found = module.u(torch::full_like(x, t).unsqueeze(1), x.unsqueeze(1)).squeeze(1);
    squares += (found - exact).square().sum().item<double>();
    of_solution += exact.square().sum().item<double>();
  }
  return std::sqrt(squares / of_solution);
}

}  // namespace

int main(int argc, char** argv) {
  levin::TrainerOptions options{.precision = "64-true", .logger = false, .max_steps = 20};
  options.accelerator = "cpu";
  options.devices = argc > 1 ? std::stoi(argv[1]) : 1;  // several: ranks of ddp, which launch starts
  options.enable_checkpointing = options.enable_progress_bar = options.enable_model_summary = false;
  options.num_threads = 1;
  options.seed = 2;
  if (const auto code = levin::launch(options)) return *code;
  levin::Trainer trainer(options);

  levin::seed_everything(2);
  Burgers module;
  const auto all = torch::rand({1200, 2}, torch::kDouble) * torch::tensor({1.0, 2.0}) - torch::tensor({0.0, 1.0});
  levin::Session session = trainer.start(module);
  levin::Comm& ranks = session.run().comm();
  const auto own = all.slice(0, ranks.rank(), {}, ranks.world_size());
  while (session.next()) {
    const auto loss = session.step([&] { return module.residual(own).square().mean(); }).loss;
    if (trainer.is_global_zero())
      std::cout << "step " << session.state().global_step << ", loss " << loss.item<double>() << std::endl;
  }
  session.finish();
  const double error = relative_error(module);
  if (trainer.is_global_zero())
    std::cout << "relative error " << error << " with " << ranks.world_size() << " rank(s)" << std::endl;
  return error < 0.01 ? 0 : 1;
}
