// The README's program: a digit classifier, trained on a folder with MNIST's files or on synthetic digits.
#include <levin/levin.h>

#include <iostream>

namespace F = torch::nn::functional;

struct LeNetImpl : torch::nn::Module {
  explicit LeNetImpl(int64_t hidden)
      : conv1(register_module("conv1", torch::nn::Conv2d(1, 20, 3))),
        conv2(register_module("conv2", torch::nn::Conv2d(20, 50, 5))),
        fc1(register_module("fc1", torch::nn::Linear(800, hidden))),
        fc2(register_module("fc2", torch::nn::Linear(hidden, 10))) {}

  torch::Tensor forward(torch::Tensor x) {
    x = torch::avg_pool2d(torch::relu(conv1(x)), 2);
    x = torch::avg_pool2d(torch::relu(conv2(x)), 2);
    return fc2(torch::relu(fc1(x.flatten(1))));
  }
  torch::nn::Conv2d conv1, conv2;
  torch::nn::Linear fc1, fc2;
};
TORCH_MODULE(LeNet);

struct LitClassifier : levin::LightningModule {
  struct Options {
    double lr = LEVIN_OPTION(lr, 1e-3, "Learning rate", {.min = 0});
    int64_t hidden = LEVIN_OPTION(hidden, 128, "Units of the hidden layer", {.min = 1});
  };
  explicit LitClassifier(Options o) : options(o), net(register_module("net", LeNet(o.hidden))) {}

  levin::StepOutput training_step(const levin::Batch& batch, int64_t /*batch_idx*/) override {
    auto loss = F::cross_entropy(net(batch.input()), batch.target());
    log("train_loss", loss, {.prog_bar = true});
    return loss;
  }
  void validation_step(const levin::Batch& batch, int64_t /*batch_idx*/, int64_t /*dataloader_idx*/) override {
    const auto correct = net(batch.input()).argmax(1) == batch.target();
    log("val_acc", correct.to(torch::kFloat).mean(), {.prog_bar = true});
  }
  levin::OptimizerConfig configure_optimizers() override {
    return {levin::optim::AdamW(parameters(), {.lr = options.lr}), levin::StepLR({.step_size = 10})};
  }
  Options options;
  LeNet net;
};

template <class Data>
void train(Data data, levin::TrainerOptions options) {
  auto model = levin::make_module<LitClassifier>(LitClassifier::Options{.lr = 3e-3});
  levin::Trainer trainer(options);
  const levin::RunResult result = trainer.fit(*model, data);
  std::cout << result.status << " after " << result.global_step << " steps; val_acc " << result.metrics.at("val_acc")
            << "; see " << result.folder << "\n";
}

int main(int argc, char** argv) {
  const levin::TrainerOptions options{.max_epochs = 2, .accumulate_grad_batches = 4, .name = "example_mnist"};
  if (argc > 1) {
    train(levin::data::MNIST({.root = argv[1], .batch_size = 16}), options);
  } else {
    train(levin::data::SyntheticDigits({.train_size = 4000, .val_size = 1000, .batch_size = 16}), options);
  }
}
