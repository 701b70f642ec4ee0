// A user's program that trains with a callback on ranks: `callback_learner FOLDER RANKS CASE [CHECKPOINT]`, where CASE
// is JSON: {"callback": ..., "head_only", "batch_norm", "strategy", "state_dict_type", "accumulate", "middle",
// "clip", "validates"}. Prints the final weights and buffers of rank 0. A run that validates saves its checkpoint
// there.
#include <levin/levin.h>

#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>

using Json = nlohmann::ordered_json;

namespace {

constexpr int64_t kSamples = 48, kGlobalBatch = 8;

struct Net : levin::LightningModule {
  explicit Net(bool head_only_, bool batch_norm) : head_only(head_only_) {
    backbone->push_back(torch::nn::Linear(4, 8));
    if (batch_norm) backbone->push_back(torch::nn::BatchNorm1d(8));
    backbone->push_back(torch::nn::Functional(torch::tanh));
  }
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    return torch::mse_loss(head(backbone->forward(batch.input())), batch.target());
  }
  void validation_step(const levin::Batch& batch, int64_t) override { backbone->forward(batch.input()); }
  void on_train_batch_end(levin::Run& run) override {
    if (!validates && run.state().batches_seen == middle_batch) run.save_checkpoint(middle);
  }
  void on_validation_batch_end(levin::Run& run) override {
    if (validates && run.state().epoch == 1 && run.batch_idx() == 0) run.save_checkpoint(middle);
  }
  levin::OptimizerConfig configure_optimizers() override {
    return levin::optim::SGD(head_only ? head->parameters() : parameters(), {.lr = 0.05, .momentum = 0.9});
  }
  bool head_only;
  bool validates = false;
  int64_t middle_batch = 0;
  std::filesystem::path middle;
  torch::nn::Sequential backbone = register_module("backbone", torch::nn::Sequential());
  torch::nn::Linear head = register_module("head", torch::nn::Linear(8, 1));
};

}  // namespace

int main(int argc, char** argv) {
  try {
    const int64_t ranks = std::stoll(argv[2]);
    const Json one = Json::parse(argv[3]);
    torch::manual_seed(1);
    const auto input = torch::randn({kSamples, 4}, torch::kDouble), target = input.sum(1, true);
    levin::TrainerOptions options;
    const Json callbacks = one["callback"].is_array() ? one["callback"] : Json::array({one["callback"]});
    levin::schema_of<levin::TrainerOptions>().set(&options, "trainer", {{"callbacks", callbacks}});
    options.strategy = ranks > 1 ? one.value("strategy", "ddp") : "single_device";
    if (options.strategy.class_name() == "fsdp")
      options.strategy = {"fsdp", levin::FSDPOptions{.state_dict_type = one.value("state_dict_type", "full")}};
    options.accumulate_grad_batches = one.value("accumulate", int64_t{1});
    if (one.contains("clip")) options.gradient_clip_val = one["clip"].get<double>();
    options.accelerator = "cpu";
    options.devices = static_cast<int>(ranks);
    options.precision = "64-true";
    options.max_epochs = 4;
    options.timeout_seconds = 30;
    options.default_root_dir = argv[1];
    options.enable_progress_bar = options.enable_model_summary = options.enable_checkpointing = false;
    if (const auto code = levin::launch(options)) return *code;
    levin::Trainer trainer(options);
    Net net(one.value("head_only", false), one.value("batch_norm", false));
    net.validates = one.value("validates", false);
    net.middle_batch = one.value("middle", 14);
    net.middle = std::filesystem::path(argv[1]) / "middle.ckpt";
    const levin::data::DataLoader loader(levin::data::TensorDataset(input, target),
                                         {.batch_size = kGlobalBatch / ranks});
    trainer.fit(net, loader, net.validates ? levin::data::Loaders{loader} : levin::data::Loaders(),
                argc > 4 ? argv[4] : "");
    const char* const rank = std::getenv("RANK");
    if (rank != nullptr && rank != std::string("0")) return 0;
    std::cout << std::setprecision(17);
    std::vector<torch::Tensor> all = net.parameters();
    for (const auto& buffer : net.buffers()) all.push_back(buffer);
    for (const auto& tensor : all) {
      const auto values = tensor.detach().to(torch::kDouble).contiguous();
      for (int64_t i = 0; i < values.numel(); ++i) std::cout << values.data_ptr<double>()[i] << '\n';
    }
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << std::endl;
    return 5;
  }
}
