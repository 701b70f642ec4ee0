// Encoders that ranks hold parts of train as in one process, with dropout too.
#include <levin/core/device/own_generator.h>
#include <levin/modules/transformers/sequence_classifier.h>

#include "tests/modules/parallel/tensor/tensor_ranks.h"
#include "tests/modules/transformers/small_encoder.h"

using levin::nn::SequenceClassifier;

namespace {

std::vector<double> train_classifier(SequenceClassifier& model) {
  levin::optim::AdamW optimizer(model.parameters(), {.lr = 0.01});
  std::vector<double> losses;
  for (int64_t step = 0; step < 4; ++step) {
    at::Generator generator = at::detail::createCPUGenerator(static_cast<uint64_t>(step));
    const Tensor tokens = torch::randint(4, 20, {3, 7}, generator, torch::kLong);
    const Tensor target = torch::randint(0, 2, {3}, generator, torch::kLong);
    at::Tensor mask = torch::ones({3, 7}, torch::kLong);
    mask[0].narrow(0, 4, 3).fill_(0);
    optimizer.zero_grad();
    const Tensor loss = model.loss(model.forward(tokens, {.attention_mask = mask}), target);
    loss.backward();
    optimizer.step();
    losses.push_back(loss.item<double>());
  }
  return losses;
}

void classifier_trains_as_whole(const std::string& folder, const TensorGroup& group) {
  SequenceClassifier whole({.encoder = {.folder = folder}}), parts({.encoder = {.folder = folder}});
  for (SequenceClassifier* const model : {&whole, &parts}) model->to(torch::kDouble);
  levin::parallel::divide_module(parts, group);
  const levin::GeneratorScope of_whole(at::detail::createCPUGenerator(6));
  const std::vector<double> expected = train_classifier(whole);
  const levin::GeneratorScope of_parts(at::detail::createCPUGenerator(6));
  const std::vector<double> got = train_classifier(parts);
  for (size_t i = 0; i < expected.size(); ++i) holds(std::abs(got[i] - expected[i]) < 1e-8);
  levin::parallel::join_module(parts);
  const auto weights = whole.named_parameters();
  for (const auto& item : parts.named_parameters())
    holds(difference(item.value().detach(), weights[item.key()].detach()) < 1e-8);
}

}  // namespace

TEST_CASE("a classifier of texts on tensor-parallel ranks trains as one process does") {
  const Json dropout = {{"hidden_dropout_prob", 0.1}, {"attention_probs_dropout_prob", 0.2}};
  const std::vector<std::pair<std::string, Json>> cases = {
      {"bert", dropout},
      {"mpnet", dropout},
      {"electra", Json::object()},
      {"modernbert", {{"attention_dropout", 0.2}, {"mlp_dropout", 0.1}}},
      {"distilbert", {{"attention_dropout", 0.2}}}};
  for (const auto& [family, changes] : cases) {
    INFO(family);
    const SmallEncoder bare(family, changes);
    const TemporaryFolder folder;
    SequenceClassifier({.encoder = {.folder = bare.path()}}).save_pretrained(folder.path());
    on_ranks(2, [&](const TensorGroup& group) { classifier_trains_as_whole(folder.path().string(), group); });
  }
  const SmallEncoder odd("bert");
  CHECK(contains(error_text([&] {
                   start_ranks(3, [&](const TensorGroup& group) {
                     SequenceClassifier model({.encoder = {.folder = odd.path()}});
                     levin::parallel::divide_module(model, group);
                   });
                 }),
                 "3 tensor-parallel ranks do not divide 4 attention heads"));
}
