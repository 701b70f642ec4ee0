// A GPT that ranks hold parts of trains as in one process.
#include <levin/core/device/own_generator.h>

#include "tests/modules/parallel/tensor/tensor_ranks.h"

using levin::nn::GPT;
using levin::nn::GPTOptions;

namespace {

constexpr int64_t kVocabulary = 13;  // no number of ranks divides it

struct Case {
  bool tied_head = true, checkpointing = false;
  double dropout = 0;
};

GPTOptions options_of(const Case& how) {
  return {.vocab_size = kVocabulary,
          .block_size = 8,
          .layers = 2,
          .heads = 4,
          .embedding = 16,
          .dropout = how.dropout,
          .tied_head = how.tied_head};
}

Tensor tokens_of(int64_t step) {
  return torch::randint(kVocabulary, {3, 7}, at::detail::createCPUGenerator(static_cast<uint64_t>(step)), torch::kLong);
}

struct Trained {
  std::vector<double> losses = {};
  Tensor logits = {};  ///< of all tokens, at the end
};

Trained train(GPT& net, const Case& how, const TensorGroup& group) {
  levin::set_checkpoint_activations(*net, how.checkpointing);
  levin::optim::AdamW optimizer(net->parameters(), {.lr = 0.01});
  Trained trained;
  for (int64_t step = 0; step < 6; ++step) {
    const Tensor tokens = tokens_of(step);
    optimizer.zero_grad();
    const Tensor loss = net->loss(tokens, tokens.roll(-1, 1));
    loss.backward();
    trained.losses.push_back(loss.item<double>());
    if (group) {
      same_on_ranks(loss, group);
      const auto divided = levin::parallel::partitions_of(*net);
      std::vector<Tensor> of_whole;
      for (const auto& item : net->named_parameters())
        if (divided.count(item.key()) == 0) of_whole.push_back(item.value().grad());
      same_on_ranks(torch::nn::utils::parameters_to_vector(of_whole), group);
    }
    optimizer.step();
  }
  net->eval();
  trained.logits = net->forward(tokens_of(100)).detach();
  return trained;
}

/// Trains a whole net and one that `group` divides; both begin with the same weights and random numbers.
void trains_as_whole(const Case& how, const TensorGroup& group) {
  const levin::GeneratorScope generator(at::detail::createCPUGenerator(5));
  GPT whole(options_of(how));
  const levin::GeneratorScope again(at::detail::createCPUGenerator(5));
  GPT parts(options_of(how));
  for (GPT* const net : {&whole, &parts}) (*net)->to(torch::kDouble);
  levin::parallel::divide_module(*parts, group);
  const levin::GeneratorScope of_whole(at::detail::createCPUGenerator(6));
  const Trained expected = train(whole, how, nullptr);
  const levin::GeneratorScope of_parts(at::detail::createCPUGenerator(6));
  const Trained got = train(parts, how, group);
  for (size_t i = 0; i < expected.losses.size(); ++i) holds(std::abs(got.losses[i] - expected.losses[i]) < 1e-10);
  holds(difference(got.logits, expected.logits) < 1e-10);
  levin::parallel::join_module(*parts);
  const auto weights = whole->named_parameters();
  for (const auto& item : parts->named_parameters())
    holds(difference(item.value().detach(), weights[item.key()].detach()) < 1e-10);
}

}  // namespace

TEST_CASE("a GPT on 2 and 4 tensor-parallel ranks trains as one process does") {
  const Case dropped = {.dropout = 0.2}, checkpointed = {.tied_head = false, .checkpointing = true, .dropout = 0.2};
  for (const auto& [ranks, how] :
       {std::pair<int64_t, Case>{1, checkpointed}, {2, Case{}}, {2, checkpointed}, {4, dropped}})
    on_ranks(ranks, [&, how](const TensorGroup& group) { trains_as_whole(how, group); });
}

TEST_CASE("a GPT made with a group has the parts of the weights of one process") {
  for (const bool tied : {true, false})
    on_ranks(2, [&](const TensorGroup& group) {
      const levin::GeneratorScope generator(at::detail::createCPUGenerator(7));
      const GPT parts(options_of({.tied_head = tied}), group);
      const levin::GeneratorScope again(at::detail::createCPUGenerator(7));
      const GPT whole(options_of({.tied_head = tied}));
      const auto divided = levin::parallel::partitions_of(*parts);
      holds(divided.size() == (tied ? 13 : 14));
      const auto weights = whole->named_parameters();
      for (const auto& item : parts->named_parameters()) {
        const Tensor& expected = weights[item.key()];
        const auto found = divided.find(item.key());
        holds(item.value().equal(found == divided.end() ? expected : found->second.part_of(expected)));
      }
    });
}

TEST_CASE("whole weights are loaded into a divided GPT, and those of another size refused") {
  on_ranks(2, [&](const TensorGroup& group) {
    const GPT whole(options_of({}));
    GPT parts(options_of({}), group);
    at::Tensor sent = torch::nn::utils::parameters_to_vector(whole->parameters()).detach();
    group->broadcast(sent, 0);
    torch::nn::utils::vector_to_parameters(sent, whole->parameters());
    levin::load_module_state_dict(*parts, levin::module_state_dict(*whole));
    levin::parallel::join_module(*parts);
    holds(torch::nn::utils::parameters_to_vector(parts->parameters()).equal(sent));
    levin::parallel::divide_module(*parts, group);
    GPTOptions other = options_of({});
    other.vocab_size = kVocabulary + 1;
    const std::string error =
        error_text([&] { levin::load_module_state_dict(*parts, levin::module_state_dict(*GPT(other))); });
    holds(contains(error, "token_embedding.weight (is [14, 16], the module's is [13, 16])"));
  });
}

TEST_CASE("heads that the ranks do not divide are refused, before anything is divided") {
  const auto refused = [](const std::function<void(const TensorGroup&, const GPTOptions&)>& make) {
    GPTOptions options = options_of({});
    options.heads = 2;
    return error_text([&] { start_ranks(4, [&](const TensorGroup& group) { make(group, options); }); });
  };
  const char* const expected = "GPT: 4 tensor-parallel ranks do not divide 2 attention heads; set model.heads";
  CHECK(contains(refused([](const TensorGroup& group, const GPTOptions& options) { GPT(options, group); }), expected));
  CHECK(contains(refused([](const TensorGroup& group, const GPTOptions& options) {
                   GPT net(options);
                   levin::parallel::divide_module(*net, group);
                 }),
                 expected));
}
