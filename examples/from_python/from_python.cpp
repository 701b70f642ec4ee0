// Trains a network that Python exported (export.py beside this file) without Python, and writes it for Python again.
//
//   python export.py && example_from_python && python export.py --open
//
// `example_from_python --compile` compiles the training step first, which needs Python once more and a C++ compiler.
//
// `levin fit --model.class ProgramModule --model.program net.pt2 --model.save_to trained.pt2 ...` does this from a
// config.
#include <levin/levin.h>

#include <iostream>

/// Makes images as lines() in export.py does: images [count, 1, 8, 8], lines [count].
levin::data::TensorDataset line_images(int64_t count) {
  const auto line = torch::arange(count) % 16;
  const auto images = torch::rand({count, 1, 8, 8});
  for (int64_t i = 0; i < count; ++i) images[i][0].select(i % 16 < 8 ? 0 : 1, i % 8) += 1;
  return levin::data::TensorDataset(images, line);
}

int main(int argc, char** argv) {
  const bool compile = argc > 1 && std::string(argv[1]) == "--compile";
  const std::string folder = argc > 1 + compile ? std::string(argv[1 + compile]) + "/" : "";
  torch::manual_seed(0);
  const levin::data::DataLoader train(line_images(1600), {.batch_size = 32, .shuffle = true});
  const levin::data::DataLoader val(line_images(800), {.batch_size = 100});

  levin::ProgramModule model({.program = folder + "net.pt2",
                              .loss = "cross_entropy",
                              .optimizer = {"Adam", levin::optim::AdamOptions{.lr = 3e-3}}});
  levin::TrainerOptions options = {.max_epochs = 10, .name = "example_from_python", .seed = 0};
  if (compile) {
    levin::compile_step(levin::Trainer(options), model, train, {.out = folder + "step.pt2"});
    options.compiled_step = folder + "step.pt2";
  }
  levin::Trainer trainer(options);
  const double before = trainer.validate(model, val).at(0).at("val_acc");
  trainer.fit(model, train, val);  // dropout and batch norm train here, and not in the validations
  const double after = trainer.validate(model, val).at(0).at("val_acc");
  std::cout << "lines: val_acc " << before << " before, " << after << " after\n";

  model.eval();
  model.save_program(folder + "trained.pt2");         // torch.export.load opens it
  levin::save_weights(model, folder + "trained.pt");  // net.load_state_dict(torch.load(...)) takes it
  return after > 0.9 && after > before ? 0 : 1;
}
