// Batches that do not fit the model: the error names layer, shapes and, of levin's own modules, the option.
#include <levin/modules/nn/image_classifier.h>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/small_modules.h"

using levin::Batch;
using levin::UsageError;

namespace {

struct Stepping : ToyModule {
  levin::StepOutput training_step(const Batch& batch, int64_t batch_idx) override {
    if (step) return step(batch);
    return ToyModule::training_step(batch, batch_idx);
  }
  void validation_step(const Batch& batch, int64_t) override { log("val_loss", loss_of(batch)); }
  Batch predict_step(const Batch& batch, int64_t) override { return {net->forward(batch.input())}; }

  std::function<at::Tensor(const Batch&)> step = {};
};

template <class E = UsageError>
std::string error_of_fit(levin::ModuleRef module, const std::vector<Batch>& batches,
                         const std::function<void(levin::TrainerOptions&)>& change = {}) {
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  options.accelerator = "cpu";
  if (change) change(options);
  return error_text<E>([&] { levin::Trainer(options).fit(module, batches); });
}

Batch of_width(int64_t width) { return {torch::ones({5, width}), torch::ones({5, 1})}; }

}  // namespace

TEST_CASE("a batch of another width is refused with the layer and the shapes, in fit, validate and predict") {
  Stepping module;
  const std::string expected =
      "the batch does not fit the model: layer net.0 (torch::nn::LinearImpl, weight [8, 4], bias [8]) was given [5, "
      "6]: ";
  const std::string fit = error_of_fit(module, {of_width(6)});
  INFO(fit);
  CHECK(contains(fit, expected));
  CHECK(contains(fit, "(the batch: input Float [5, 6], target Float [5, 1])"));
  const TemporaryFolder folder;
  levin::Trainer trainer(quiet(folder));
  CHECK(contains(error_text<UsageError>([&] { trainer.validate(module, std::vector<Batch>{of_width(6)}); }), expected));
  CHECK(contains(error_text<UsageError>([&] { trainer.predict(module, std::vector<Batch>{of_width(6)}); }), expected));
}

TEST_CASE("a batch of another width is refused with the layer's name on replicas as well") {
  const auto module = levin::make_module<Stepping>();
  const std::string error = error_of_fit(module, {of_width(6)}, [](levin::TrainerOptions& options) {
    options.strategy = "dp";
    options.devices = 2;
  });
  INFO(error);
  CHECK(contains(error, "layer net.0"));
}

TEST_CASE("an operation without a layer is named with its shapes") {
  Stepping module;
  module.step = [](const Batch& batch) { return torch::matmul(batch.input(), torch::ones({3, 2})).sum(); };
  const std::string error = error_of_fit(module, {of_width(4)});
  INFO(error);
  CHECK(contains(error, "matmul of [5, 4] and [3, 2]"));
}

TEST_CASE("errors of later batches, and those that are not LibTorch's, stay as they are") {
  Stepping module;
  const TemporaryFolder folder;
  CHECK_THROWS_AS(levin::Trainer(quiet(folder)).fit(module, std::vector<Batch>{of_width(4), of_width(6)}), c10::Error);
  module.step = [](const Batch&) -> at::Tensor { throw levin::Error("my own"); };
  CHECK(error_of_fit<levin::Error>(module, {of_width(4)}) == "my own");
  module.step = [](const Batch& batch) -> at::Tensor {
    try {
      torch::matmul(batch.input(), torch::ones({3, 2}));
    } catch (const c10::Error&) {
    }
    throw std::runtime_error("another");
  };
  CHECK_THROWS_WITH(levin::Trainer(quiet(folder)).fit(module, std::vector<Batch>{of_width(4)}), "another");
}

TEST_CASE("one sample for a BatchNorm is named, also in a last batch") {
  levin::nn::ImageClassifier module({.net = "mlp_bn", .hidden = 4, .num_classes = 2, .image_shape = {1, 2, 2}});
  const auto images = [](int64_t count) {
    return Batch(torch::rand({count, 1, 2, 2}), torch::zeros({count}, torch::kLong));
  };
  CHECK(
      contains(error_of_fit(module, {images(4), images(1)}),
               "a batch of 1 sample has one value for each channel of a BatchNorm, which in training needs two; leave "
               "such a last batch out (data.drop_last)"));
}

TEST_CASE("ImageClassifier names image_shape and num_classes") {
  levin::nn::ImageClassifier module({.net = "lenet", .num_classes = 4});
  CHECK(error_of_fit(module, {Batch(torch::rand({2, 3, 32, 32}), torch::zeros({2}, torch::kLong))}) ==
        "model.image_shape: the model takes images of [1, 28, 28], the batch has [2, 3, 32, 32]; set model.image_shape "
        "to "
        "the shape of one image");
  const auto of_class = [](int64_t number) { return Batch(torch::rand({2, 1, 28, 28}), torch::full({2}, number)); };
  CHECK(error_of_fit(module, {of_class(1), of_class(7)}) ==
        "the targets of a batch are classes from 7 to 7, and the model knows 4, from 0 to 3; set model.num_classes");
  CHECK(contains(error_of_fit(module, {Batch(torch::rand({2, 1, 28, 28}))}),
                 "the batch has no 'target'; it holds input; name these data's target in their options"));
}

TEST_CASE("a class number that a module's own loss does not know is named, in later batches too") {
  Stepping module;
  module.step = [&](const Batch& batch) {
    const torch::Tensor logits = module.net->forward(batch.input()).expand({-1, 3});
    return torch::cross_entropy_loss(logits, batch.target());
  };
  const auto of_class = [](int64_t number) { return Batch(torch::ones({2, 4}), torch::full({2}, number)); };
  const std::string error = error_of_fit(module, {of_class(0), of_class(7)});
  INFO(error);
  CHECK(contains(error, "the loss was given the class number 7, which is outside of its classes"));
  CHECK(contains(error, "(the batch: input Float [2, 4], target Long [2])"));
}

TEST_CASE("a tensor of a device that LibTorch was built without is named in one line, and the batch is not blamed") {
  if (at::hasCUDA()) return;
  Stepping module;
  module.step = [&](const Batch& batch) {
    const torch::Tensor mask = torch::ones({4}, torch::Device("cuda:0"));
    return module.loss_of(Batch(batch.input() * mask, batch.target()));
  };
  const std::string error = error_of_fit(module, {of_width(4)});
  INFO(error);
  CHECK(contains(error,
                 "the step uses a tensor of a device or kind that this LibTorch has no kernels for: make "
                 "tensors on device()"));
  CHECK(contains(error, "'CUDA' backend"));
  CHECK_FALSE(contains(error, "\n"));
  CHECK(error.size() < 500);
}

TEST_CASE("gradients in a validation step are refused with the option that allows them") {
  struct Adversarial : Stepping {
    void validation_step(const Batch& batch, int64_t) override {
      const at::AutoGradMode gradients(true);
      const at::Tensor input = batch.input().detach().clone().requires_grad_();
      const at::Tensor loss = torch::mse_loss(net->forward(input), batch.target());
      log("val_gradient", torch::autograd::grad({loss}, {input})[0].norm());
    }
  } module;
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  const auto validate = [&] { levin::Trainer(options).validate(module, std::vector<Batch>{of_width(4)}); };
  const std::string text = error_text<UsageError>(validate);
  CHECK(contains(text, "asked for gradients, which are off there; set trainer.inference_mode to false"));
  options.inference_mode = false;
  CHECK_NOTHROW(validate());
}
