// One program for one process, several processes, or several machines: its code does not depend on their number.
// Started alone, it trains in one process, with LEVIN_DEVICES=4 in four on this machine. On two machines with four
// processes each:
//
//     torchrun --no-python --nnodes 2 --nproc-per-node 4 --rdzv-backend c10d --rdzv-endpoint host-a:29500 ./multi_node
//     srun --nodes 2 --ntasks-per-node 4 ./multi_node
//     mpirun -n 8 --host host-a:4,host-b:4 ./multi_node
//
// Or without a launcher, on each machine, with NODE_RANK 0 on host-a and 1 on host-b:
//
//     MASTER_ADDR=host-a MASTER_PORT=29500 NODE_RANK=0 LEVIN_NODES=2 LEVIN_DEVICES=4 ./multi_node
//
// See docs/distributed.md.
#include <levin/levin.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

namespace F = torch::nn::functional;

struct Classifier : levin::LightningModule {
  Classifier() { register_metric("accuracy", accuracy); }
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    const auto loss = F::cross_entropy(net->forward(batch.input()), batch.target());
    log("loss", loss, {.on_step = false, .on_epoch = true});
    return loss;
  }
  void validation_step(const levin::Batch& batch, int64_t) override {
    accuracy(net->forward(batch.input()), batch.target());
    log("accuracy", accuracy);  // over all samples of all ranks
  }
  levin::OptimizerConfig configure_optimizers() override {
    return levin::optim::SGD(parameters(), {.lr = 0.05, .momentum = 0.9});
  }

  torch::nn::Sequential net = register_module(
      "net", torch::nn::Sequential(torch::nn::Conv2d(1, 6, 5), torch::nn::ReLU(), torch::nn::MaxPool2d(2),
                                   torch::nn::Conv2d(6, 16, 5), torch::nn::ReLU(), torch::nn::MaxPool2d(2),
                                   torch::nn::Flatten(), torch::nn::Linear(256, 10)));
  levin::metrics::Accuracy accuracy = levin::metrics::Accuracy({.task = "multiclass", .num_classes = 10});
};

int64_t number_of(const char* variable) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? 1 : std::stoll(value);
}

/// Prints all ranks and their hosts: the ranks gather their data, and rank 0 prints it.
void say_who_is_there(levin::Comm& ranks) {
  char host[64] = {};
  ::gethostname(host, sizeof(host) - 1);
  const std::string text(host);
  auto own = torch::zeros({64}, torch::kByte);
  std::copy(text.begin(), text.end(), own.data_ptr<uint8_t>());
  const auto all = ranks.all_gather(own);  // collective; tensors of one shape
  if (ranks.rank() != 0) return;
  for (size_t rank = 0; rank < all.size(); ++rank)
    std::cout << "rank " << rank << " of " << all.size() << " is on "
              << reinterpret_cast<const char*>(all[rank].data_ptr<uint8_t>()) << std::endl;
}

struct SayWhoIsThere : levin::Callback {
  void on_fit_start(levin::Run& run) override { say_who_is_there(run.comm()); }
};

int main() {
  // Each rank has batches of 32. If a rank dies, all ranks restart from the newest checkpoint.
  const levin::TrainerOptions options = {.devices = levin::Devices(static_cast<int>(number_of("LEVIN_DEVICES"))),
                                         .num_nodes = number_of("LEVIN_NODES"),
                                         .callbacks = {std::make_shared<SayWhoIsThere>()},
                                         .max_epochs = 3,
                                         .seed = 1,
                                         .max_restarts = 2};
  if (const auto code = levin::launch(options)) return *code;
  levin::Trainer trainer(options);
  Classifier classifier;
  levin::data::SyntheticDigits digits({.train_size = 1280, .val_size = 200, .batch_size = 32});
  const levin::RunResult result = trainer.fit(classifier, digits);
  if (trainer.is_global_zero())
    std::cout << "accuracy " << result.metrics.at("accuracy") << " after " << result.global_step << " steps"
              << std::endl;
}
