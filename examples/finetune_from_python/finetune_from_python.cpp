// Fine-tunes a network that was trained in Python (by pretrain.py beside this file) without Python: first its weights,
// loaded into a frozen backbone written in C++ under a new head; then the whole model, loaded as TorchScript.
#include <levin/levin.h>

#include <iostream>

namespace F = torch::nn::functional;
namespace nn = torch::nn;

/// Classifies rows against columns, with a pretrained backbone whose layers are those of Python's `backbone`.
struct RowOrColumn : levin::LightningModule {
  RowOrColumn()
      : backbone(register_module(
            "backbone", nn::Sequential(nn::Conv2d(nn::Conv2dOptions(1, 8, 3).padding(1)), nn::ReLU(), nn::MaxPool2d(2),
                                       nn::Flatten(), nn::Linear(128, 32), nn::ReLU()))),
        head(register_module("head", nn::Sequential(nn::Linear(32, 64), nn::ReLU(), nn::Linear(64, 2)))) {}

  /// Loads and freezes the backbone; the head in `file` is for another task and is ignored.
  void begin_with(const std::string& file) {
    levin::load_weights(*backbone, file, {.prefix = "backbone."});
    for (auto& parameter : backbone->parameters()) parameter.requires_grad_(false);
  }
  torch::Tensor forward(const torch::Tensor& images) { return head->forward(backbone->forward(images)); }

  levin::StepOutput training_step(const levin::Batch& batch, int64_t /*batch_idx*/) override {
    const auto loss = F::cross_entropy(forward(batch.input()), batch.target());
    log("train_loss", loss, {.prog_bar = true});
    return loss;
  }
  void validation_step(const levin::Batch& batch, int64_t /*batch_idx*/) override {
    log("val_acc", forward(batch.input()).argmax(1).eq(batch.target()).to(torch::kFloat).mean());
  }
  levin::OptimizerConfig configure_optimizers() override {
    return levin::optim::Adam(head->parameters(), {.lr = 1e-2});
  }

  nn::Sequential backbone;
  nn::Sequential head;
};

/// Makes images as batch() in pretrain.py does, with `noise` times its noise: images [count, 1, 8, 8], lines [count].
std::pair<torch::Tensor, torch::Tensor> line_images(int64_t count, double noise) {
  const auto line = torch::randint(16, {count});
  const auto images = noise * torch::rand({count, 1, 8, 8});
  for (int64_t i = 0; i < count; ++i) {
    const int64_t which = line[i].item<int64_t>();
    images[i][0].select(which < 8 ? 0 : 1, which % 8) += 1;
  }
  return {images, line};
}

double accuracy(levin::Trainer& trainer, levin::LightningModule& model, const levin::data::DataLoader& loader) {
  return trainer.validate(model, loader).at(0).at("val_acc");
}

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? std::string(argv[1]) + "/" : "";
  torch::manual_seed(0);
  const auto [images, lines] = line_images(500, 1);
  const auto [val_images, val_lines] = line_images(1000, 1);

  // Weights: 500 images are enough for the new head.
  levin::Trainer trainer({.max_epochs = 10, .name = "example_finetune_from_python"});
  const auto is_column = [](const torch::Tensor& line) { return line.ge(8).to(torch::kLong); };
  const levin::data::DataLoader train(levin::data::TensorDataset(images, is_column(lines)),
                                      {.batch_size = 20, .shuffle = true});
  const levin::data::DataLoader val(levin::data::TensorDataset(val_images, is_column(val_lines)), {.batch_size = 100});
  RowOrColumn model;
  model.begin_with(folder + "pretrained.pt");
  trainer.fit(model, train);
  const double val_acc = accuracy(trainer, model, val);
  levin::save_weights(model, folder + "rows_and_columns.safetensors");
  std::cout << "rows or columns: val_acc " << val_acc << "\n";

  // TorchScript: the same task as in Python, with more noise. `levin fit --model.class ScriptModule` does this from a
  // config.
  const auto [noisy, noisy_lines] = line_images(2000, 2);
  const auto [val_noisy, val_noisy_lines] = line_images(1000, 2);
  const levin::data::DataLoader noisy_train(levin::data::TensorDataset(noisy, noisy_lines),
                                            {.batch_size = 50, .shuffle = true});
  const levin::data::DataLoader noisy_val(levin::data::TensorDataset(val_noisy, val_noisy_lines), {.batch_size = 100});
  levin::ScriptModule script({.file = folder + "pretrained.ts", .loss = "cross_entropy"});
  const double before = accuracy(trainer, script, noisy_val);
  trainer.fit(script, noisy_train);
  const double after = accuracy(trainer, script, noisy_val);
  script.save_script(folder + "finetuned.ts");  // torch.jit.load("finetuned.ts") opens it in Python
  std::cout << "lines in noise: val_acc " << before << " before, " << after << " after\n";
  return val_acc > 0.9 && after > before ? 0 : 1;
}
