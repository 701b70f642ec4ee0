// Training with several processes without a Trainer: each rank has the network and a part of each batch, and backward
// averages the gradients over all ranks. If started alone, this program starts two ranks of itself and supervises them;
// torchrun, srun and mpirun can start it too. See docs/distributed.md.
#include <levin/levin.h>

#include <iostream>

namespace F = torch::nn::functional;
namespace parallel = levin::parallel;

/// Returns the mean of a value over all ranks, weighted by samples, since the ranks' parts may differ in size.
double mean_over_ranks(double sum, double samples, levin::Comm& ranks) {
  auto both = torch::tensor({sum, samples}, torch::kDouble);
  ranks.all_reduce(both, levin::ReduceOp::Sum);
  return both[0].item<double>() / both[1].item<double>();
}

int main() {
  const auto environment = levin::find_launch_environment();
  if (!environment) return levin::supervise({.ranks = 2});
  levin::ProcessGroup ranks(levin::rendezvous_of(*environment), torch::kCPU, std::chrono::seconds(60));

  torch::manual_seed(static_cast<uint64_t>(ranks.rank()));  // the ranks' initial weights differ: DDP takes those of
                                                            // rank 0
  torch::nn::Sequential net(torch::nn::Conv2d(1, 6, 5), torch::nn::ReLU(), torch::nn::MaxPool2d(2),
                            torch::nn::Conv2d(6, 16, 5), torch::nn::ReLU(), torch::nn::MaxPool2d(2),
                            torch::nn::Flatten(), torch::nn::Linear(256, 10));
  parallel::DistributedDataParallel<torch::nn::Sequential> ddp(net, ranks);
  levin::optim::SGD optimizer(ddp->parameters(), {.lr = 0.05, .momentum = 0.9});

  levin::data::SyntheticDigits data({.train_size = 1280, .val_size = 200});
  data.setup(levin::Stage::Fit);
  levin::data::DataLoader loader(data.dataset(levin::data::Split::Train),
                                 {.batch_size = 32, .shuffle = true, .seed = 3});
  loader.shard(ranks.rank(), ranks.world_size());
  for (int64_t epoch = 0; epoch < 5; ++epoch) {
    loader.set_epoch(epoch);
    double sum = 0, samples = 0;
    while (auto loaded = loader.next()) {
      optimizer.zero_grad();
      const auto loss = F::cross_entropy(ddp(loaded->batch.input()), loaded->batch.target());
      loss.backward();
      optimizer.step();
      sum += loss.item<double>() * static_cast<double>(loaded->samples);
      samples += static_cast<double>(loaded->samples);
    }
    const double mean = mean_over_ranks(sum, samples, ranks);
    if (ranks.rank() == 0) std::cout << "epoch " << epoch << ": loss " << mean << std::endl;
  }

  auto own = torch::cat({net->parameters().front().flatten(), net->parameters().back().flatten()});
  auto first = own.detach().clone();
  ranks.broadcast(first, 0);
  if (!torch::equal(first, own)) {
    std::cerr << "rank " << ranks.rank() << " has other weights than rank 0" << std::endl;
    return 1;
  }
}
