// Layers that ranks hold parts of compute what whole layers do, forward and backward.
#include <levin/core/device/own_generator.h>

#include "tests/modules/parallel/tensor/tensor_ranks.h"

using levin::parallel::ColumnLinear;
using levin::parallel::RowLinear;
using levin::parallel::VocabularyEmbedding;
namespace F = torch::nn::functional;

TEST_CASE("a column-parallel linear layer computes its part of torch::nn::Linear's output, forward and backward") {
  for (const int64_t ranks : {1, 2, 3, 4})
    for (const bool bias : {true, false})
      on_ranks(ranks, [&](const TensorGroup& group) {
        auto whole = filled(torch::nn::Linear(torch::nn::LinearOptions(6, 8).bias(bias)));
        auto layer = filled(
            ColumnLinear(levin::parallel::ColumnLinearOptions{.in_features = 6, .out_features = 8, .bias = bias}));
        layer->divide(group);
        Tensor x = numbers(1, {3, 5, 6}).requires_grad_(), same = x.detach().clone().requires_grad_();
        const Tensor gradient = numbers(2, {3, 5, 8});
        const Tensor expected = whole->forward(x), part = layer->forward(same);
        const levin::parallel::Partition columns = {.dim = 2, .size = 8, .rank = group->rank(), .ranks = ranks};
        holds(layer->weight.sizes() == at::IntArrayRef({columns.size_of_part(), 6}));
        holds(difference(part, columns.part_of(expected)) < kClose);
        expected.backward(gradient);
        part.backward(columns.part_of(gradient));
        holds(difference(same.grad(), x.grad()) < kClose);
        same_on_ranks(same.grad(), group);
        holds(difference(layer->weight.grad(), part_of(whole->weight.grad(), *layer, "weight")) < kClose);
        if (bias) holds(difference(layer->bias.grad(), part_of(whole->bias.grad(), *layer, "bias")) < kClose);
      });
}

TEST_CASE("a gathered column-parallel layer gives each rank the whole output; blocks are divided one by one") {
  on_ranks(2, [&](const TensorGroup& group) {
    auto whole = filled(torch::nn::Linear(4, 12));
    auto layer = filled(ColumnLinear(levin::parallel::ColumnLinearOptions{
        .in_features = 4, .out_features = 12, .blocks = 3, .gather_output = true}));
    layer->divide(group);
    // Rank 0 has the first two rows of each block of four.
    const int64_t first = 2 * group->rank();
    holds(layer->weight.equal(at::cat({whole->weight.narrow(0, first, 2), whole->weight.narrow(0, 4 + first, 2),
                                       whole->weight.narrow(0, 8 + first, 2)})));
    Tensor x = numbers(1, {5, 4}).requires_grad_(), same = x.detach().clone().requires_grad_();
    const Tensor gradient = numbers(2, {5, 12});
    const Tensor expected = whole->forward(x), output = layer->forward(same);
    holds(difference(output, expected) < kClose);
    expected.backward(gradient);
    output.backward(gradient);
    holds(difference(same.grad(), x.grad()) < kClose);
    holds(difference(layer->weight.grad(), part_of(whole->weight.grad(), *layer, "weight")) < kClose);
    layer->join();
    holds(layer->weight.equal(whole->weight));
    holds(difference(layer->forward(x), expected) == 0);
  });
}

TEST_CASE("a row-parallel linear layer computes torch::nn::Linear's output, forward and backward") {
  for (const int64_t ranks : {1, 2, 3, 4})
    for (const bool divided_input : {true, false})
      on_ranks(ranks, [&](const TensorGroup& group) {
        auto whole = filled(torch::nn::Linear(8, 6));
        auto layer = filled(RowLinear(
            levin::parallel::RowLinearOptions{.in_features = 8, .out_features = 6, .input_is_divided = divided_input}));
        layer->divide(group);
        holds(layer->bias.sizes() == at::IntArrayRef({6}));
        const levin::parallel::Partition columns = {.dim = 1, .size = 8, .rank = group->rank(), .ranks = ranks};
        holds(layer->weight.sizes() == at::IntArrayRef({6, columns.size_of_part()}));
        Tensor x = numbers(1, {5, 8}).requires_grad_();
        Tensor same = (divided_input ? columns.part_of(x.detach()).clone() : x.detach().clone()).requires_grad_();
        const Tensor gradient = numbers(2, {5, 6});
        const Tensor expected = whole->forward(x), output = layer->forward(same);
        holds(difference(output, expected) < kClose);
        same_on_ranks(output, group);
        expected.backward(gradient);
        output.backward(gradient);
        holds(difference(same.grad(), divided_input ? columns.part_of(x.grad()) : x.grad()) < kClose);
        holds(difference(layer->weight.grad(), part_of(whole->weight.grad(), *layer, "weight")) < kClose);
        holds(difference(layer->bias.grad(), whole->bias.grad()) < kClose);
        same_on_ranks(layer->bias.grad(), group);
      });
}

TEST_CASE("a vocabulary-parallel embedding and its loss are those of whole ones, also of uneven vocabularies") {
  for (const int64_t ranks : {1, 2, 3, 4})
    for (const int64_t size : {12, 11, 5})
      on_ranks(ranks, [&](const TensorGroup& group) {
        auto whole = filled(torch::nn::Embedding(size, 6));
        auto layer = filled(VocabularyEmbedding(levin::parallel::VocabularyEmbeddingOptions{size, 6}));
        layer->divide(group);
        const Tensor tokens = torch::arange(2 * size).remainder(size).view({2, size});
        const Tensor gradient = numbers(3, {2, size, 6});
        const Tensor expected = whole->forward(tokens), found = layer->forward(tokens);
        holds(found.equal(expected));
        expected.backward(gradient);
        found.backward(gradient);
        holds(difference(layer->weight.grad(), part_of(whole->weight.grad(), *layer, "weight")) < kClose);

        Tensor x = numbers(4, {2, size, 6}).requires_grad_(), same = x.detach().clone().requires_grad_();
        Tensor target = tokens.flip(1).clone();
        target[0][0] = -100;
        target[1][2] = -100;
        for (const auto reduction : {at::Reduction::Mean, at::Reduction::Sum, at::Reduction::None}) {
          for (const Tensor& one : {x, same, whole->weight, layer->weight}) one.mutable_grad().reset();
          const Tensor logits = at::linear(x, whole->weight);
          const Tensor loss = at::cross_entropy_loss(logits.flatten(0, 1), target.flatten(), {}, reduction);
          const Tensor part = layer->logits(same);
          const Tensor own =
              levin::parallel::vocabulary_cross_entropy(part, target, size, group, {.reduction = reduction});
          holds(difference(layer->whole_logits(part), logits) < kClose);
          holds(difference(own, reduction == at::Reduction::None ? loss.view(target.sizes()) : loss) < kClose);
          same_on_ranks(own, group);
          (loss * loss).sum().backward();
          (own * own).sum().backward();
          holds(difference(same.grad(), x.grad()) < kClose);
          same_on_ranks(same.grad(), group);
          holds(difference(layer->weight.grad(), part_of(whole->weight.grad(), *layer, "weight")) < kClose);
        }
      });
}

TEST_CASE("the loss of huge logits is finite, that of targets which are all ignored NaN, as cross_entropy's") {
  on_ranks(2, [&](const TensorGroup& group) {
    const Tensor whole = numbers(1, {3, 8}) * 1e4;
    const Tensor part = whole.narrow(1, 4 * group->rank(), 4);
    const Tensor target = torch::tensor({1, 7, 3});
    const Tensor loss = levin::parallel::vocabulary_cross_entropy(part, target, 8, group);
    holds(difference(loss, F::cross_entropy(whole, target)) < 1e-9);
    const Tensor none = torch::full({3}, 5, torch::kLong);
    holds(std::isnan(
        levin::parallel::vocabulary_cross_entropy(part, none, 8, group, {.ignore_index = 5}).item<double>()));
    holds(levin::parallel::vocabulary_cross_entropy(part, none, 8, group,
                                                    {.ignore_index = 5, .reduction = at::Reduction::Sum})
              .item<double>() == 0);
    const Tensor in_16_bit =
        levin::parallel::vocabulary_cross_entropy(part.to(torch::kBFloat16) / 1e4, target, 8, group);
    holds(in_16_bit.scalar_type() == torch::kFloat);
  });
}

TEST_CASE("the collectives of a tensor group are each other's gradients, also twice") {
  on_ranks(3, [&](const TensorGroup& group) {
    using namespace levin::parallel;
    const auto own = static_cast<double>(group->rank() + 1);
    Tensor x = numbers(1, {2, 7}).requires_grad_();
    const Tensor weights = numbers(2, {2, 7});
    // The gradient of each rank's own summand is added up.
    (copy_to_tensor_group(x, group) * weights * own).sum().backward();
    holds(difference(x.grad(), weights * 6) < kClose);
    x.mutable_grad().reset();
    const Tensor sum = reduce_from_tensor_group(x * own, group);
    holds(difference(sum, x * 6) < kClose);
    (sum * weights).sum().backward();
    holds(difference(x.grad(), weights * own) < kClose);
    x.mutable_grad().reset();
    const Tensor part = scatter_to_tensor_group(x, -1, group);  // 3, 2 and 2 of 7
    holds(part.size(1) == (group->rank() == 0 ? 3 : 2));
    const Tensor again = gather_from_tensor_group(part * part, {.dim = -1, .size = 7}, group);
    holds(difference(again, x * x) < kClose);
    const Tensor first = torch::autograd::grad({(again * weights).sum()}, {x}, {}, {}, /*create_graph=*/true)[0];
    holds(difference(first, 2 * x * weights) < kClose);
    first.sum().backward();
    holds(difference(x.grad(), 2 * weights) < kClose);
    const Tensor in_16_bit = reduce_from_tensor_group(torch::ones({3}, torch::kBFloat16), group);
    holds(in_16_bit.equal(torch::full({3}, 3, torch::kBFloat16)));
  });
  const Tensor x = numbers(1, {2});
  CHECK(levin::parallel::copy_to_tensor_group(x, nullptr).is_same(x));
  CHECK(levin::parallel::reduce_from_tensor_group(x, nullptr).is_same(x));
}

TEST_CASE("layers made with a group hold the parts of what one process draws, and of rank 0 without a common seed") {
  on_ranks(2, [&](const TensorGroup& group) {
    const levin::GeneratorScope generator(at::detail::createCPUGenerator(3));
    const ColumnLinear column(levin::parallel::ColumnLinearOptions{.in_features = 4, .out_features = 6}, group);
    const RowLinear row(levin::parallel::RowLinearOptions{.in_features = 6, .out_features = 4}, group);
    const VocabularyEmbedding embedding(levin::parallel::VocabularyEmbeddingOptions{5, 4}, group);
    const levin::GeneratorScope again(at::detail::createCPUGenerator(3));
    const torch::nn::Linear first(4, 6), second(6, 4);
    const torch::nn::Embedding table(5, 4);
    holds(column->weight.equal(part_of(first->weight, *column, "weight")));
    holds(column->bias.equal(part_of(first->bias, *column, "bias")));
    holds(row->weight.equal(part_of(second->weight, *row, "weight")));
    holds(row->bias.equal(second->bias));
    holds(embedding->weight.equal(part_of(table->weight, *embedding, "weight")));
    holds(column->weight.requires_grad());
    const levin::GeneratorScope other(at::detail::createCPUGenerator(static_cast<uint64_t>(group->rank())));
    const RowLinear unseeded(levin::parallel::RowLinearOptions{.in_features = 6, .out_features = 4}, group);
    same_on_ranks(unseeded->bias, group);
    const levin::GeneratorScope of_rank_zero(at::detail::createCPUGenerator(0));
    holds(unseeded->weight.equal(part_of(torch::nn::Linear(6, 4)->weight, *unseeded, "weight")));
  });
}

TEST_CASE("a module is divided and joined as a whole; what no layer divides gets rank 0's values") {
  on_ranks(2, [&](const TensorGroup& group) {
    torch::nn::Sequential net(ColumnLinear(levin::parallel::ColumnLinearOptions{.in_features = 4, .out_features = 6}),
                              torch::nn::Functional(torch::tanh),
                              RowLinear(levin::parallel::RowLinearOptions{.in_features = 6, .out_features = 4}),
                              torch::nn::BatchNorm1d(4));
    net->to(torch::kDouble);
    const auto own = static_cast<double>(group->rank());
    const torch::NoGradGuard no_grad;
    for (auto& parameter : net->parameters()) parameter.copy_(numbers(7, parameter.sizes()) + own);
    for (auto& buffer : net->buffers()) buffer.fill_(own);
    levin::parallel::divide_module(*net, group);
    levin::parallel::divide_module(*net, group);  // nothing is left to do
    holds(levin::parallel::partitions_of(*net).size() == 3);
    holds(net->parameters()[0].equal(numbers(7, {6, 4}).narrow(0, 3 * group->rank(), 3)));
    for (const auto& buffer : net->buffers()) holds(buffer.sum().item<double>() == 0);
    levin::parallel::join_module(*net);
    holds(levin::parallel::partitions_of(*net).empty());
    for (const auto& parameter : net->parameters()) holds(parameter.equal(numbers(7, parameter.sizes())));
  });
}

TEST_CASE("what ranks cannot divide is refused, and so are wrong tokens, targets and shapes") {
  using namespace levin::parallel;
  const auto error_on = [](int64_t ranks, const std::function<void(const TensorGroup&)>& body) {
    return error_text([&] { start_ranks(ranks, body); });
  };
  CHECK(contains(error_on(3,
                          [](const TensorGroup& group) {
                            ColumnLinear(ColumnLinearOptions{.in_features = 4, .out_features = 2}, group);
                          }),
                 "3 ranks cannot divide 2 output features;"));
  CHECK(contains(error_on(4,
                          [](const TensorGroup& group) {
                            ColumnLinear(ColumnLinearOptions{.in_features = 4, .out_features = 12, .blocks = 2}, group);
                          }),
                 "4 ranks cannot divide 6 output features of each block evenly"));
  CHECK(contains(error_text([] { ColumnLinear(ColumnLinearOptions{.out_features = 7, .blocks = 3}); }),
                 "3 blocks of equal size do not make 7 output features"));
  CHECK(contains(
      error_on(
          3, [](const TensorGroup& group) { RowLinear(RowLinearOptions{.in_features = 2, .out_features = 6}, group); }),
      "3 ranks cannot divide 2 input features"));
  CHECK(contains(
      error_on(3, [](const TensorGroup& group) { VocabularyEmbedding(VocabularyEmbeddingOptions{2, 4}, group); }),
      "2 rows for 3 ranks"));
  CHECK(contains(error_on(2,
                          [](const TensorGroup& group) {
                            torch::nn::Linear net(2, 2);
                            divide_module(*net, group);
                          }),
                 "the module has no part that ranks can divide"));
  CHECK(contains(error_on(2,
                          [](const TensorGroup& group) {
                            VocabularyEmbedding layer(VocabularyEmbeddingOptions{6, 4}, group);
                            layer->forward(torch::tensor({0, 6}));
                          }),
                 "the token 6 is not in the vocabulary, 0 to 5"));
  CHECK(contains(error_on(2,
                          [](const TensorGroup& group) {
                            vocabulary_cross_entropy(torch::ones({2, 3}), torch::tensor({0, -1}), 6, group);
                          }),
                 "the target -1 is not in the vocabulary, 0 to 5"));
  CHECK(contains(error_on(2,
                          [](const TensorGroup& group) {
                            vocabulary_cross_entropy(torch::ones({2, 6}), torch::tensor({0, 1}), 6, group);
                          }),
                 "and 3 of a vocabulary of 6, the part of rank"));
  CHECK(contains(error_text([] { vocabulary_cross_entropy(torch::ones({2, 5}), torch::tensor({0, 1}), 6, nullptr); }),
                 "and 6 of a vocabulary of 6, the part of rank 0 of 1"));
  CHECK(contains(
      error_on(2, [](const TensorGroup& group) { gather_from_tensor_group(torch::ones({4}), {.size = 6}, group); }),
      "has 4 elements of a dimension of 6, and its part is 3"));
}
