// Fits a picture with two-dimensional Gaussians, whose number changes while they are trained.
// usage: example_splats_2d [FOLDER [STEPS]]
//
// Every 50 steps Gaussians whose positions get the largest gradients are cloned, and those that are almost transparent
// are removed: append_rows and keep_rows change the parameters and the optimizer's state together. There is no data
// set; training_step renders all Gaussians and compares the picture with the one that the example draws. A second call
// with more STEPS resumes where the first has ended. Writes target.png and splats.png.
#include <levin/levin.h>

#include <filesystem>
#include <iostream>

namespace optim = levin::optim;

constexpr int64_t kSide = 40, kFirst = 24, kMost = 80;

/// Returns pixel coordinates in [-1, 1], [kSide * kSide, 2]: x, y.
torch::Tensor pixels() {
  const auto axis = torch::linspace(-1, 1, kSide);
  const auto grid = torch::meshgrid({axis, axis}, "ij");
  return torch::stack({grid[1].flatten(), grid[0].flatten()}, 1);
}

/// Draws a disc, a ring and a bar over a gradient: [kSide * kSide, 3] in [0, 1].
torch::Tensor draw_target() {
  const auto at = pixels(), x = at.select(1, 0), y = at.select(1, 1);
  auto picture = torch::stack({0.2 + 0.1 * x, 0.25 + 0.1 * y, 0.4 - 0.1 * x}, 1);
  const auto paint = [&](const torch::Tensor& distance, const std::vector<float>& color) {
    const auto cover = torch::sigmoid(-distance * 40).unsqueeze(1);
    picture = picture * (1 - cover) + torch::tensor(color) * cover;
  };
  paint(torch::hypot(x + 0.4, y + 0.35) - 0.3, {0.95, 0.7, 0.2});
  paint((torch::hypot(x - 0.4, y - 0.3) - 0.35).abs() - 0.08, {0.9, 0.2, 0.3});
  paint(torch::maximum((x + y * 0.5 - 0.2).abs() - 0.05, y.abs() - 0.9), {0.3, 0.85, 0.5});
  return picture;
}

struct Splats : levin::LightningModule {
  Splats() {
    const auto shape = torch::cat(
        {torch::rand({kFirst, 2}) * 1.6 - 0.8, torch::full({kFirst, 2}, -1.6), torch::zeros({kFirst, 1})}, 1);
    shapes = register_parameter("shapes", shape);  // x, y, log of two standard deviations, angle
    colors = register_parameter("colors", torch::cat({torch::rand({kFirst, 3}) * 0.2, torch::ones({kFirst, 1})}, 1));
    background = register_parameter("background", torch::full({3}, 0.3));
    movement = register_buffer("movement", torch::zeros({kFirst}));  // gradients of positions since the last change
  }

  torch::Tensor render() const {
    const auto offset = at.unsqueeze(1) - shapes.narrow(1, 0, 2).unsqueeze(0);  // [pixels, Gaussians, 2]
    const auto sine = shapes.select(1, 4).sin(), cosine = shapes.select(1, 4).cos();
    const auto deviation = shapes.narrow(1, 2, 2).exp();
    const auto along = (offset.select(2, 0) * cosine + offset.select(2, 1) * sine) / deviation.select(1, 0);
    const auto across = (offset.select(2, 1) * cosine - offset.select(2, 0) * sine) / deviation.select(1, 1);
    const auto weight = torch::exp(-0.5 * (along.square() + across.square())) * opacity();
    return background + weight.matmul(colors.narrow(1, 0, 3));
  }
  torch::Tensor opacity() const { return colors.select(1, 3).sigmoid(); }

  levin::StepOutput training_step(const levin::Batch& /*batch*/, int64_t /*batch_idx*/) override {
    const auto loss = (render() - target).square().mean();
    log("mse", loss);
    return loss;
  }
  void on_before_optimizer_step(levin::Run& /*run*/, torch::optim::Optimizer& /*optimizer*/) override {
    movement.add_(shapes.grad().narrow(1, 0, 2).norm(2, 1));
  }
  void on_train_batch_end(levin::Run& /*run*/) override {
    if (global_step() % 50 == 0 && global_step() <= 250) change_number();
  }

  /// Removes transparent Gaussians and clones those that are torn most, each half as large.
  void change_number() {
    const torch::NoGradGuard no_grad;
    const auto kept = (opacity() > 0.05).nonzero().squeeze(1);
    for (const auto& parameter : {shapes, colors}) optim::keep_rows(parameter, kept);
    const int64_t more = std::min<int64_t>(kMost - kept.size(0), kept.size(0) / 2);
    const auto torn = std::get<1>(movement.index_select(0, kept).topk(more));
    auto clones = shapes.detach().index_select(0, torn);
    clones.narrow(1, 0, 2).add_(torch::randn({more, 2}) * clones.narrow(1, 2, 2).exp());
    clones.narrow(1, 2, 2).sub_(0.5);
    optim::append_rows(shapes, clones);
    optim::append_rows(colors, colors.detach().index_select(0, torn) * torch::tensor({0.5, 0.5, 0.5, 1.0}));
    movement.set_data(torch::zeros({shapes.size(0)}));
  }

  levin::OptimizerConfig configure_optimizers() override {
    return optim::Adam({optim::param_group({shapes}, optim::AdamOptions{.lr = 0.02}),
                        optim::param_group({colors, background}, optim::AdamOptions{.lr = 0.05})});
  }
  /// A checkpoint may have more Gaussians than the module begins with.
  void on_load_checkpoint(levin::Run& /*run*/, const levin::State& checkpoint) override {
    optim::take_row_counts(*this, checkpoint.at("state_dict"));
    movement.set_data(torch::zeros({shapes.size(0)}));
  }

  const torch::Tensor at = pixels(), target = draw_target();
  torch::Tensor shapes, colors, background, movement;
};

void write_picture(const std::filesystem::path& path, const torch::Tensor& picture) {
  const auto bytes = picture.detach().clamp(0, 1).mul(255).round().to(torch::kByte);
  levin::data::write_png(path, bytes.reshape({kSide, kSide, 3}).permute({2, 0, 1}).contiguous());
}

int main(int argc, char** argv) {
  const std::filesystem::path folder = argc > 1 ? argv[1] : "splats";
  levin::TrainerOptions options{.enable_progress_bar = false, .enable_model_summary = false};
  options.max_steps = argc > 2 ? std::stoll(argv[2]) : 400;
  options.default_root_dir = folder.string();
  options.seed = 3;
  options.num_threads = 1;  // threads cost more than they save on tensors this small
  levin::seed_everything(3);
  Splats splats;
  levin::Session session = levin::Trainer(options).start(splats, {.ckpt_path = "last"});
  while (session.next()) session.step();
  const levin::RunResult result = session.finish();
  write_picture(folder / "target.png", splats.target);
  write_picture(folder / "splats.png", splats.render());
  const double error = (splats.render() - splats.target).square().mean().item<double>();
  std::cout << splats.shapes.size(0) << " Gaussians after " << result.global_step << " steps, mean squared error "
            << error << ", " << (folder / "splats.png").string() << "\n";
}
