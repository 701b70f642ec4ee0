// The levin program with the data of program_parity_test.py, and programs called by themselves:
//
//   program_trainer fit --model.class ProgramModule ... --data.class Tensors --data.file data.pt ...
//   program_trainer run PROGRAM IN OUT [PROGRAM IN OUT ...]
//
// `run` loads the entry `weights` of IN, if there is one, seeds LibTorch, calls the program with the list `inputs`, and
// adds up the squares of all outputs that have a gradient. OUT gets `outputs`, `gradients` (by name), `state` (the
// state dict after the call) and `inputs` (as the call leaves them), of a call in train and one in eval mode; or
// OUT.error gets the reason why there are none.
#include <levin/core/state/state_file.h>
#include <levin/data/dataset_module.h>
#include <levin/data/loader_options.h>
#include <levin/data/registry.h>
#include <levin/modules/program_module.h>
#include <levin/modules/weights.h>
#include <levin/program/main.h>
#include <torch/torch.h>

#include <fstream>
#include <string>
#include <vector>

namespace {

constexpr uint64_t kSeed = 5;

using levin::data::DatasetPtr;
using levin::data::Split;

levin::Batch batch_of(const std::string& file) {
  levin::Batch batch;
  for (const auto& [name, value] : levin::load_state(file).to_dict())
    batch.set(levin::to_text(name), value.to_tensor());
  return batch;
}

/// Training samples are the rows of a state dict's tensors.
class Tensors : public levin::data::DatasetModule {
 public:
  struct Options {
    std::string file = LEVIN_OPTION(file, "", "State dict: the batch's entries, whose rows are samples");
    LEVIN_LOADER_OPTIONS(8, false);
  };
  explicit Tensors(Options options)
      : DatasetModule("Tensors", levin::data::loader_options(options)), options_(std::move(options)) {}

 protected:
  DatasetPtr make_dataset(Split split) override {
    if (split != Split::Train) return nullptr;
    return std::make_shared<levin::data::TensorDataset>(batch_of(options_.file));
  }

 private:
  Options options_;
};

LEVIN_REGISTER_DATA_MODULE(Tensors);

levin::State optional(const at::Tensor& tensor) { return tensor.defined() ? levin::State(tensor) : levin::State(); }

levin::State called(const std::string& program, const levin::State& given, bool training) {
  levin::ProgramModule module({.program = program});
  levin::load_module_state_dict(module, given.at("weights"));
  module.train(training);
  std::vector<at::Tensor> inputs;
  for (const levin::State& item : given.at("inputs").items()) inputs.push_back(item.to_tensor().clone());
  at::manual_seed(kSeed);
  levin::State outputs = levin::State::list(), left = levin::State::list();
  levin::State gradients = levin::State::dict();
  at::Tensor total;
  for (const at::Tensor& output : module.run_program(inputs)) {
    if (output.defined() && output.requires_grad()) {
      const at::Tensor sum = output.square().sum();
      total = total.defined() ? total + sum : sum;
    }
    outputs.push_back(output.defined() ? levin::State(output.detach()) : levin::State());
  }
  if (total.defined()) total.backward();
  for (const auto& parameter : module.named_parameters())
    gradients[parameter.key()] = optional(parameter.value().grad());
  for (const at::Tensor& input : inputs) left.push_back(input.detach());
  return levin::State::dict(
      {{"outputs", outputs}, {"gradients", gradients}, {"state", levin::module_state_dict(module)}, {"inputs", left}});
}

void run(const std::string& program, const std::string& in, const std::string& out) try {
  const levin::State given = levin::load_state(in);
  levin::save_state(
      levin::State::dict({{"train", called(program, given, true)}, {"eval", called(program, given, false)}}), out);
} catch (const std::exception& error) {
  std::ofstream(out + ".error") << error.what() << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5 || std::string(argv[1]) != "run") return levin::cli::main(argc, argv);
  for (int i = 2; i + 2 < argc; i += 3) run(argv[i], argv[i + 1], argv[i + 2]);
  return 0;
}
