// One network on several devices in three ways, trained by the same Trainer without any device option:
//   split     the encoder on one device, the decoder on another
//   hybrid    encoder and decoder, each data parallel over its own devices
//   pipeline  the two halves work at the same time, on micro-batches
// The devices are GPUs if there are at least two, otherwise the CPU twice. Usage: model_parallel [EPOCHS]
#include <levin/levin.h>

#include <cstdlib>
#include <iostream>

namespace F = torch::nn::functional;
namespace parallel = levin::parallel;
using torch::nn::Linear;

/// Images [n, 1, 28, 28] to features [n, 32].
struct EncoderImpl : torch::nn::Cloneable<EncoderImpl> {
  EncoderImpl() { reset(); }
  void reset() override {
    first = register_module("first", Linear(784, 64));
    second = register_module("second", Linear(64, 32));
  }
  torch::Tensor forward(const torch::Tensor& images) {
    return torch::relu(second(torch::relu(first(images.flatten(1)))));
  }
  Linear first = nullptr, second = nullptr;
};
TORCH_MODULE(Encoder);

/// Features [n, 32] to logits [n, 10].
struct DecoderImpl : torch::nn::Cloneable<DecoderImpl> {
  DecoderImpl() { reset(); }
  void reset() override { last = register_module("last", Linear(32, 10)); }
  torch::Tensor forward(const torch::Tensor& features) { return last(features); }
  Linear last = nullptr;
};
TORCH_MODULE(Decoder);

/// Returns `count` devices, starting at the GPU `first`.
std::vector<torch::Device> devices(int first, int count) {
  std::vector<torch::Device> found;
  const auto gpus = static_cast<int>(torch::cuda::device_count());
  for (int i = 0; i < count; ++i)
    found.push_back(gpus < 2 ? torch::Device("cpu")
                             : torch::Device(torch::kCUDA, static_cast<int8_t>((first + i) % gpus)));
  return found;
}

struct Classifier : levin::LightningModule {
  virtual torch::Tensor loss(const torch::Tensor& images, const torch::Tensor& labels) = 0;
  virtual torch::Tensor logits(const torch::Tensor& images) = 0;

  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    const auto loss_of_batch = loss(batch.input(), batch.target());
    log("train_loss", loss_of_batch);
    return loss_of_batch;
  }
  void validation_step(const levin::Batch& batch, int64_t) override {
    const auto guess = logits(batch.input()).argmax(1);
    log("val_acc", guess.eq(batch.target().to(guess.device())).to(torch::kFloat).mean());
  }
  levin::OptimizerConfig configure_optimizers() override {
    return levin::optim::SGD(parameters(), {.lr = 0.05, .momentum = 0.9});
  }
};

/// Tensors between the parts are moved by hand.
struct Split : Classifier {
  Split() {
    encoder->to(devices(0, 1)[0]);
    decoder->to(devices(1, 1)[0]);
  }
  torch::Tensor logits(const torch::Tensor& images) override {
    return decoder(encoder(images).to(decoder->last->weight.device()));
  }
  torch::Tensor loss(const torch::Tensor& images, const torch::Tensor& labels) override {
    const auto output = logits(images);
    return F::cross_entropy(output, labels.to(output.device()));
  }
  Encoder encoder = register_module("encoder", Encoder());
  Decoder decoder = register_module("decoder", Decoder());
};

/// Each half is data parallel over its own devices; outputs are gathered on the first of them.
struct Hybrid : Classifier {
  torch::Tensor logits(const torch::Tensor& images) override {
    return decoder(encoder(images).to(decoder->options().devices[0]));
  }
  torch::Tensor loss(const torch::Tensor& images, const torch::Tensor& labels) override {
    const auto output = logits(images);
    return F::cross_entropy(output, labels.to(output.device()));
  }

  template <class M>
  static parallel::DataParallel<M> spread(M part, const std::vector<torch::Device>& over) {
    part->to(over[0]);
    return parallel::DataParallel<M>(part, {.devices = over});
  }
  parallel::DataParallel<Encoder> encoder = register_module("encoder", spread(Encoder(), devices(0, 2)));
  parallel::DataParallel<Decoder> decoder = register_module("decoder", spread(Decoder(), devices(2, 2)));
};

/// While the decoder works on one micro-batch, the encoder works on the next.
struct Pipelined : Classifier {
  Pipelined() {
    net->push_back(Encoder(), devices(0, 1)[0]);
    net->push_back(Decoder(), devices(1, 1)[0]);
  }
  torch::Tensor logits(const torch::Tensor& images) override { return net->forward(images); }
  torch::Tensor loss(const torch::Tensor& images, const torch::Tensor& labels) override {
    return net->loss(images, labels, [](const torch::Tensor& output, const torch::Tensor& target) {
      return F::cross_entropy(output, target);
    });
  }
  parallel::Pipeline net = register_module("net", parallel::Pipeline(parallel::PipelineOptions{.micro_batches = 4}));
};

template <class M>
double train(const char* name, int64_t epochs) {
  torch::manual_seed(1);
  M module;
  levin::data::SyntheticDigits data({.train_size = 2000, .val_size = 500, .batch_size = 50});
  levin::Trainer trainer({.max_epochs = epochs, .gradient_clip_val = 1.0, .name = "example_model_parallel", .seed = 1});
  const double accuracy = trainer.fit(module, data).metrics.at("val_acc");
  std::cout << name << ": val_acc " << accuracy << "\n";
  return accuracy;
}

int main(int argc, char** argv) {
  const int64_t epochs = argc > 1 ? std::atoll(argv[1]) : 2;
  const double split = train<Split>("split", epochs);
  const double hybrid = train<Hybrid>("hybrid", epochs);
  const double pipelined = train<Pipelined>("pipeline", epochs);
  // The three compute the same values, with sums rounded in a different order.
  const bool agree = std::abs(hybrid - split) < 0.02 && std::abs(pipelined - split) < 0.02 && split > 0.5;
  std::cout << (agree ? "all agree\n" : "they do not agree\n");
  return agree ? 0 : 1;
}
