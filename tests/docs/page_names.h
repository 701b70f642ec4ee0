#pragma once
// What the C++ blocks of the documentation take as given: tests/docs compiles each block with the names of its page
// around it. Nothing here is defined, and nothing is run.
#include <levin/levin.h>
#include <nlohmann/json.hpp>

namespace names {

namespace F = torch::nn::functional;
namespace nn = torch::nn;
namespace metrics = levin::metrics;
namespace parallel = levin::parallel;

struct AnyModule : levin::LightningModule {
  AnyModule() = default;
  levin::StepOutput training_step(const levin::Batch& batch, int64_t batch_idx) override;
  levin::OptimizerConfig configure_optimizers() override;
  torch::Tensor residual(const torch::Tensor& points);
  nn::Sequential encoder;
};
using MyModule = AnyModule;
using MyModel = AnyModule;
struct LitClassifier : AnyModule {};
struct MemberBase : AnyModule {
  nn::Sequential net, body, head;
};
struct MyData : levin::data::DataModule {
  explicit MyData(int64_t num_workers);
};

extern levin::Trainer& trainer;
extern levin::TrainerOptions options;
extern AnyModule& module;
extern std::shared_ptr<AnyModule> model;
extern MyData& data;
extern MyData& data_module;
extern levin::Session& session;
extern nn::Sequential net, body, head, backbone;
extern torch::Tensor x, y, input, target;
extern levin::data::TensorDataset dataset;

}  // namespace names

namespace page_callbacks {
using namespace names;
struct ResNetImpl : torch::nn::Module {};
TORCH_MODULE(ResNet);
}  // namespace page_callbacks

namespace page_checkpoints {
using namespace names;
struct MemberBase : AnyModule {
  torch::nn::Embedding table{nullptr};
  int64_t width = 0;
};
}  // namespace page_checkpoints

namespace page_data {
using namespace names;
struct MemberBase : levin::data::Dataset {
  static void read_sample(int64_t index, float* values);
};
struct Policy {
} policy;
extern torch::data::datasets::MapDataset<torch::data::datasets::TensorDataset,
                                         torch::data::transforms::Stack<torch::data::TensorExample>>
    dataset;
levin::Batch play(const Policy& policy);
}  // namespace page_data

namespace page_libtorch_parts {
using namespace names;
struct Squares : torch::data::datasets::Dataset<Squares> {
  torch::data::Example<> get(size_t index) override;
  std::optional<size_t> size() const override;
};
extern Squares squares;
}  // namespace page_libtorch_parts

namespace page_manual_optimization {
using namespace names;
struct MemberBase : AnyModule {
  torch::Tensor critic_loss(const torch::Tensor& real), generator_loss(int64_t samples),
      loss_of(const levin::Batch& batch);
  nn::Sequential critic, generator;
  int64_t n_critic = 5;
};
}  // namespace page_manual_optimization

namespace page_embedding {
using namespace names;
extern struct App {
  bool running();
} app;
extern struct Environment {
  void advance();
} environment;
struct Buffer {
  levin::State state_dict() const;
  void load_state_dict(const levin::State& state);
  levin::Batch sample();
};
extern Buffer buffer;
struct MemberBase : AnyModule {
  Buffer replay;
};
extern double reward;
extern levin::data::DataLoader validation_loader;
/// A value of the type that its place asks for.
struct Anything {
  template <class T>
  operator T() const;
};
extern Anything transitions;
extern levin::data::ReplaySample<levin::Batch>& sample;
extern torch::Tensor errors, observations, own_points;
struct Step {
  torch::Tensor observation, action, reward, value, terminated;
  LEVIN_BATCH_FIELDS(Step, observation, action, reward, value, terminated)
};
Step step_of_all_environments();
torch::Tensor critic(const torch::Tensor& observations);
double schedule(int64_t step);
extern struct Pendulum : Buffer {
  levin::Batch measure();
} pendulum_;
extern levin::Session& session_;
}  // namespace page_embedding

namespace page_loggers {
using namespace names;
struct MyLoggerOptions {
  std::string address = LEVIN_OPTION(address, "", "Where it writes to");
};
}  // namespace page_loggers

namespace page_optimizers {
using namespace names;
struct MemberBase : AnyModule {
  nn::Sequential body, head;
  bool unfrozen = false;
  torch::Tensor positions, opacities, chosen, offsets;
  std::optional<levin::optim::EMA> ema;
  std::optional<levin::optim::EMA::Applied> averaged;
};
}  // namespace page_optimizers

namespace page_parallel {
using namespace names;
struct LeNetImpl : torch::nn::Cloneable<LeNetImpl> {
  explicit LeNetImpl(int64_t classes = 10);
  void reset() override;
  torch::Tensor forward(const torch::Tensor& input);
};
TORCH_MODULE(LeNet);
using Encoder = LeNet;
using Decoder = LeNet;
extern torch::Tensor images, labels;
extern levin::Batch batch;
/// The outputs of replicas: one value of each, or a sum and a count.
struct Outputs {
  operator torch::Tensor() const;
  torch::Tensor sum, count;
};
struct ReplicasImpl : torch::nn::Module {
  Outputs forward(const levin::Batch& batch);
  std::vector<int64_t> chunk_sizes() const;
};
TORCH_MODULE(Replicas);
extern Replicas net;
using Tensors = std::vector<torch::Tensor>;
extern Tensors initial;
extern std::vector<torch::Device> devices;
extern std::vector<Tensors> gradients;
torch::Tensor loss_of(const levin::Batch& part, const Tensors& parameters);
void step(Tensors& parameters, const Tensors& gradients);
extern nn::Sequential encoder, decoder;
torch::Tensor loss_of_part(const torch::Tensor& output, const torch::Tensor& target);
}  // namespace page_parallel

namespace page_precision {
using namespace names;
extern nn::Linear net;
extern torch::optim::SGD optimizer;
extern std::vector<std::pair<torch::Tensor, torch::Tensor>> batches;
}  // namespace page_precision

namespace page_profilers {
using namespace names;
struct MemberBase : AnyModule {
  levin::StepOutput loss(const levin::Batch& batch);
  levin::Batch augmented(const levin::Batch& batch);
};
}  // namespace page_profilers
