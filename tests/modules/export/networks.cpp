#include <levin/modules/nn/gpt.h>
#include <torch/torch.h>
#include "networks.h"

#include <cmath>
#include <stdexcept>

namespace networks {
namespace {

namespace nn = torch::nn;
namespace F = torch::nn::functional;
using levin::Batch;
using Net = std::shared_ptr<Network>;
using at::Tensor;

Net make(const std::string& name) { return std::make_shared<Network>(name); }

/// A network of one input and one output.
Case simple(const Net& net, const Tensor& example, std::function<Tensor(const Tensor&)> forward) {
  net->forward = [forward = std::move(forward)](const Batch& batch) { return Batch(forward(batch.input())); };
  return {net->name(), net, Batch(example)};
}

nn::Conv2d conv(int64_t in, int64_t out, int64_t kernel, int64_t stride = 1, int64_t groups = 1) {
  return nn::Conv2d(nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).groups(groups).bias(false));
}

Case mlp() {
  const Net net = make("mlp");
  auto layers = net->add(
      "layers", nn::Sequential(nn::Flatten(), nn::Linear(12, 8), nn::ReLU(), nn::Dropout(0.3), nn::Linear(8, 3)));
  return simple(net, torch::randn({4, 3, 4}), [=](const Tensor& x) mutable { return layers->forward(x); });
}

Case lenet() {
  const Net net = make("lenet");
  auto c1 = net->add("conv1", nn::Conv2d(1, 4, 5)), c2 = net->add("conv2", nn::Conv2d(4, 6, 3));
  auto l1 = net->add("linear1", nn::Linear(6 * 5 * 5, 10));
  return simple(net, torch::randn({4, 1, 28, 28}), [=](const Tensor& x) mutable {
    Tensor h = torch::max_pool2d(torch::relu(c1->forward(x)), 2);
    h = torch::max_pool2d(torch::relu(c2->forward(h)), 2);
    return torch::log_softmax(l1->forward(h.view({h.size(0), -1})), 1);
  });
}

Case resnet() {
  const Net net = make("resnet");
  auto stem = net->add("stem", conv(3, 8, 3)), c1 = net->add("conv1", conv(8, 16, 3, 2)),
       c2 = net->add("conv2", conv(16, 16, 3)), shortcut = net->add("shortcut", conv(8, 16, 1, 2));
  auto n0 = net->add("norm0", nn::BatchNorm2d(8)), n1 = net->add("norm1", nn::BatchNorm2d(16)),
       n2 = net->add("norm2", nn::BatchNorm2d(16)), n3 = net->add("norm3", nn::BatchNorm2d(16));
  auto head = net->add("head", nn::Linear(16, 5));
  return simple(net, torch::randn({4, 3, 16, 16}), [=](const Tensor& x) mutable {
    const Tensor h = torch::relu(n0->forward(stem->forward(x)));
    Tensor y = n2->forward(c2->forward(torch::relu(n1->forward(c1->forward(h)))));
    y += n3->forward(shortcut->forward(h));
    return head->forward(torch::adaptive_avg_pool2d(torch::relu_(y), {1, 1}).flatten(1));
  });
}

Case mobilenet() {
  const Net net = make("mobilenet");
  auto expand = net->add("expand", conv(3, 12, 1)), depthwise = net->add("depthwise", conv(12, 12, 3, 2, 12)),
       squeeze = net->add("squeeze", nn::Conv2d(12, 4, 1)), excite = net->add("excite", nn::Conv2d(4, 12, 1)),
       project = net->add("project", conv(12, 6, 1));
  auto n1 = net->add("norm1", nn::BatchNorm2d(12)), n2 = net->add("norm2", nn::BatchNorm2d(12)),
       n3 = net->add("norm3", nn::BatchNorm2d(6));
  auto head = net->add("head", nn::Linear(6, 4));
  return simple(net, torch::randn({4, 3, 12, 12}), [=](const Tensor& x) mutable {
    Tensor h = torch::hardswish(n1->forward(expand->forward(x)));
    h = torch::hardswish(n2->forward(depthwise->forward(h)));
    const Tensor scale = torch::adaptive_avg_pool2d(h, {1, 1});
    h = h * torch::hardsigmoid(excite->forward(torch::relu(squeeze->forward(scale))));
    return head->forward(n3->forward(project->forward(h)).mean({2, 3}));
  });
}

Case efficientnet() {
  const Net net = make("efficientnet");
  auto stem = net->add("stem", conv(3, 8, 3, 2)), depthwise = net->add("depthwise", conv(8, 8, 5, 1, 8)),
       reduce = net->add("reduce", nn::Conv2d(8, 2, 1)), grow = net->add("grow", nn::Conv2d(2, 8, 1));
  auto n1 = net->add("norm1", nn::BatchNorm2d(nn::BatchNorm2dOptions(8).eps(1e-3).momentum(0.01)));
  auto head = net->add("head", nn::Sequential(nn::Dropout(0.2), nn::Linear(8, 4)));
  return simple(net, torch::randn({4, 3, 16, 16}), [=](const Tensor& x) mutable {
    Tensor h = torch::silu(n1->forward(stem->forward(x)));
    const Tensor d = torch::silu(depthwise->forward(h));
    const Tensor scale = torch::sigmoid(grow->forward(torch::silu(reduce->forward(d.mean({2, 3}, /*keepdim=*/true)))));
    h = h + d * scale;
    return head->forward(h.mean({2, 3}));
  });
}

Case convnext() {
  const Net net = make("convnext");
  auto patch = net->add("patch", nn::Conv2d(nn::Conv2dOptions(3, 8, 4).stride(4)));
  auto depthwise = net->add("depthwise", nn::Conv2d(nn::Conv2dOptions(8, 8, 7).padding(3).groups(8)));
  auto norm = net->add("norm", nn::LayerNorm(nn::LayerNormOptions({8}))),
       last = net->add("last", nn::LayerNorm(nn::LayerNormOptions({8})));
  auto up = net->add("up", nn::Linear(8, 32)), down = net->add("down", nn::Linear(32, 8)),
       head = net->add("head", nn::Linear(8, 4));
  Tensor gamma = net->register_parameter("gamma", torch::full({8}, 0.1));
  return simple(net, torch::randn({4, 3, 32, 32}), [=](const Tensor& x) mutable {
    const Tensor h = patch->forward(x);
    Tensor y = norm->forward(depthwise->forward(h).permute({0, 2, 3, 1}));
    y = down->forward(torch::gelu(up->forward(y))) * gamma;
    return head->forward(last->forward((h + y.permute({0, 3, 1, 2})).mean({2, 3})));
  });
}

Case unet() {
  const Net net = make("unet");
  auto down1 = net->add("down1", conv(1, 4, 3)), down2 = net->add("down2", conv(4, 8, 3)),
       up = net->add("up", conv(8, 4, 3)), out = net->add("out", nn::Conv2d(4, 2, 1));
  auto grow = net->add("grow", nn::ConvTranspose2d(nn::ConvTranspose2dOptions(8, 4, 2).stride(2)));
  return simple(net, torch::randn({4, 1, 16, 16}), [=](const Tensor& x) mutable {
    const Tensor a = torch::relu(down1->forward(x));
    const Tensor b = torch::relu(down2->forward(torch::max_pool2d(a, 2)));
    return out->forward(torch::relu(up->forward(torch::cat({a, grow->forward(b)}, 1))));
  });
}

Case densenet() {
  const Net net = make("densenet");
  std::vector<nn::Conv2d> convs;
  std::vector<nn::BatchNorm2d> norms;
  for (int64_t i = 0; i < 3; ++i) {
    norms.push_back(net->add("norm" + std::to_string(i), nn::BatchNorm2d(4 + 4 * i)));
    convs.push_back(net->add("conv" + std::to_string(i), conv(4 + 4 * i, 4, 3)));
  }
  auto head = net->add("head", nn::Linear(16, 3));
  return simple(net, torch::randn({4, 4, 8, 8}), [=](const Tensor& x) mutable {
    std::vector<Tensor> features = {x};
    for (size_t i = 0; i < convs.size(); ++i)
      features.push_back(convs[i]->forward(torch::relu(norms[i]->forward(torch::cat(features, 1)))));
    return head->forward(torch::avg_pool2d(torch::cat(features, 1), 8).flatten(1));
  });
}

Case vit() {
  const Net net = make("vit");
  auto patch = net->add("patch", nn::Conv2d(nn::Conv2dOptions(3, 16, 4).stride(4)));
  auto attention = net->add("attention", nn::MultiheadAttention(16, 2));
  auto norm1 = net->add("norm1", nn::LayerNorm(nn::LayerNormOptions({16}))),
       norm2 = net->add("norm2", nn::LayerNorm(nn::LayerNormOptions({16})));
  auto mlp = net->add("mlp", nn::Sequential(nn::Linear(16, 32), nn::GELU(), nn::Linear(32, 16)));
  auto head = net->add("head", nn::Linear(16, 5));
  Tensor token = net->register_parameter("token", torch::randn({1, 1, 16})),
         positions = net->register_parameter("positions", torch::randn({1, 17, 16}));
  return simple(net, torch::randn({4, 3, 16, 16}), [=](const Tensor& x) mutable {
    Tensor h = patch->forward(x).flatten(2).transpose(1, 2);
    h = torch::cat({token.expand({h.size(0), -1, -1}), h}, 1) + positions;
    const Tensor q = norm1->forward(h).transpose(0, 1);
    h = h + std::get<0>(attention->forward(q, q, q)).transpose(0, 1);
    h = h + mlp->forward(norm2->forward(h));
    return head->forward(h.select(1, 0));
  });
}

Case lstm() {
  const Net net = make("lstm");
  auto rnn = net->add("lstm", nn::LSTM(nn::LSTMOptions(5, 6).num_layers(2).batch_first(true).dropout(0.2)));
  auto head = net->add("head", nn::Linear(6, 2));
  return simple(net, torch::randn({4, 7, 5}),
                [=](const Tensor& x) mutable { return head->forward(std::get<0>(rnn->forward(x)).select(1, -1)); });
}

Case bidirectional_gru() {
  const Net net = make("bidirectional_gru");
  auto rnn = net->add("gru", nn::GRU(nn::GRUOptions(5, 6).batch_first(true).bidirectional(true)));
  auto head = net->add("head", nn::Linear(12, 2));
  return simple(net, torch::randn({4, 7, 5}),
                [=](const Tensor& x) mutable { return head->forward(std::get<0>(rnn->forward(x)).mean(1)); });
}

Case rnn_with_state() {
  const Net net = make("rnn_with_state");
  auto rnn = net->add("rnn", nn::RNN(nn::RNNOptions(5, 6).batch_first(true)));
  net->forward = [=](const Batch& batch) mutable {
    const auto [outputs, state] = rnn->forward(batch.input(), batch["state"].transpose(0, 1).contiguous());
    return Batch({{"outputs", outputs}, {"state", state.transpose(0, 1)}});
  };
  return {"rnn_with_state", net, Batch({{"input", torch::randn({4, 7, 5})}, {"state", torch::randn({4, 1, 6})}})};
}

Case gpt() {
  const Net net = make("gpt");
  auto lm = net->add("net", levin::nn::GPT(levin::nn::GPTOptions{
                                .vocab_size = 20, .block_size = 12, .layers = 2, .heads = 2, .embedding = 16}));
  return simple(net, torch::randint(20, {4, 12}), [=](const Tensor& x) mutable { return lm->forward(x); });
}

Case llama() {
  const Net net = make("llama");
  auto words = net->add("words", nn::Embedding(20, 16));
  auto q = net->add("q", nn::Linear(nn::LinearOptions(16, 16).bias(false))),
       k = net->add("k", nn::Linear(nn::LinearOptions(16, 8).bias(false))),
       v = net->add("v", nn::Linear(nn::LinearOptions(16, 8).bias(false))),
       o = net->add("o", nn::Linear(nn::LinearOptions(16, 16).bias(false))),
       gate = net->add("gate", nn::Linear(nn::LinearOptions(16, 24).bias(false))),
       up = net->add("up", nn::Linear(nn::LinearOptions(16, 24).bias(false))),
       down = net->add("down", nn::Linear(nn::LinearOptions(24, 16).bias(false)));
  Tensor scale = net->register_parameter("scale", torch::ones({16}));
  Tensor angles = net->register_buffer(
      "angles", torch::outer(torch::arange(12.0), torch::pow(10000.0, -torch::arange(0, 4, 2) / 4.0)));
  const auto rms = [scale](const Tensor& x) { return x * torch::rsqrt(x.pow(2).mean(-1, true) + 1e-6) * scale; };
  const auto rotate = [angles](const Tensor& x) {  // [batch, heads, time, 4]
    const auto halves = x.chunk(2, -1);
    const Tensor a = angles.narrow(0, 0, x.size(2)), cos = a.cos(), sin = a.sin();
    return torch::cat({halves[0] * cos - halves[1] * sin, halves[1] * cos + halves[0] * sin}, -1);
  };
  return simple(net, torch::randint(20, {4, 12}), [=](const Tensor& tokens) mutable {
    Tensor x = words->forward(tokens);
    const int64_t batch = x.size(0), time = x.size(1);
    const Tensor h = rms(x);
    const auto heads = [&](const Tensor& t, int64_t count) { return t.view({batch, time, count, 4}).transpose(1, 2); };
    const Tensor keys = rotate(heads(k->forward(h), 2)).repeat_interleave(2, 1);
    const Tensor values = heads(v->forward(h), 2).repeat_interleave(2, 1);
    const Tensor attended =
        torch::scaled_dot_product_attention(rotate(heads(q->forward(h), 4)), keys, values, {}, 0.0, true);
    x = x + o->forward(attended.transpose(1, 2).reshape({batch, time, 16}));
    const Tensor y = rms(x);
    x = x + down->forward(torch::silu(gate->forward(y)) * up->forward(y));
    return torch::matmul(rms(x), words->weight.t());
  });
}

Case bert() {
  const Net net = make("bert");
  auto words = net->add("words", nn::Embedding(nn::EmbeddingOptions(20, 16).padding_idx(0)));
  auto encoder =
      net->add("encoder", nn::TransformerEncoder(nn::TransformerEncoderOptions(
                              nn::TransformerEncoderLayerOptions(16, 2).dim_feedforward(32).dropout(0.1), 2)));
  auto head = net->add("head", nn::Linear(16, 3));
  net->forward = [=](const Batch& batch) mutable {
    const Tensor x = words->forward(batch["ids"]).transpose(0, 1);
    const Tensor h = encoder->forward(x, {}, batch["mask"].logical_not());
    return Batch(head->forward(h.select(0, 0)));
  };
  const Tensor ids = torch::randint(1, 20, {4, 9});
  return {"bert", net, Batch({{"ids", ids}, {"mask", torch::ones({4, 9}, torch::kBool)}})};
}

Case vae() {
  const Net net = make("vae");
  auto encoder = net->add("encoder", nn::Linear(10, 8)), decoder = net->add("decoder", nn::Linear(4, 10));
  Network* const self = net.get();
  net->forward = [=](const Batch& batch) mutable {
    const auto parts = encoder->forward(batch.input()).chunk(2, 1);
    Tensor z = parts[0];
    if (self->is_training()) z = z + torch::randn_like(z) * (parts[1] * 0.5).exp();
    return Batch({{"decoded", torch::sigmoid(decoder->forward(z))}, {"mean", parts[0]}, {"log_variance", parts[1]}});
  };
  return {"vae", net, Batch(torch::rand({4, 10}))};
}

Case generator() {
  const Net net = make("generator");
  auto project = net->add("project", nn::Linear(6, 8 * 2 * 2));
  auto norm = net->add("norm", nn::BatchNorm2d(8));
  auto grow1 = net->add("grow1", nn::ConvTranspose2d(nn::ConvTranspose2dOptions(8, 4, 4).stride(2).padding(1))),
       grow2 = net->add("grow2", nn::ConvTranspose2d(nn::ConvTranspose2dOptions(4, 1, 4).stride(2).padding(1)));
  return simple(net, torch::randn({4, 6}), [=](const Tensor& x) mutable {
    Tensor h = torch::leaky_relu(norm->forward(project->forward(x).view({-1, 8, 2, 2})), 0.2);
    return torch::tanh(grow2->forward(torch::leaky_relu(grow1->forward(h), 0.2)));
  });
}

Case tied_autoencoder() {
  const Net net = make("tied_autoencoder");
  auto encoder = net->add("encoder", nn::Linear(nn::LinearOptions(10, 4).bias(false)));
  Tensor twin = net->register_parameter("twin", encoder->weight);
  return simple(net, torch::randn({4, 10}),
                [=](const Tensor& x) mutable { return torch::matmul(torch::tanh(encoder->forward(x)), twin); });
}

Case deep_sets() {
  const Net net = make("deep_sets");
  auto phi = net->add("phi", nn::Linear(3, 8)), rho = net->add("rho", nn::Linear(8, 2));
  return simple(net, torch::randn({4, 6, 3}), [=](const Tensor& x) mutable {
    return rho->forward(torch::elu(phi->forward(x)).sum(1) / std::sqrt(6.0));
  });
}

Case graph_convolution() {
  const Net net = make("graph_convolution");
  auto l1 = net->add("layer1", nn::Linear(3, 8)), l2 = net->add("layer2", nn::Linear(8, 2));
  Tensor from = net->register_buffer("sources", torch::tensor({0, 1, 2, 3, 4, 0, 2})),
         to = net->register_buffer("targets", torch::tensor({1, 2, 3, 4, 0, 2, 4}));
  return simple(net, torch::randn({4, 5, 3}), [=](const Tensor& x) mutable {
    const auto spread = [&](const Tensor& h) { return torch::zeros_like(h).index_add(1, to, h.index_select(1, from)); };
    return l2->forward(spread(torch::relu(l1->forward(spread(x) + x)))).mean(1);
  });
}

Case temporal_convolution() {
  const Net net = make("temporal_convolution");
  auto c1 = net->add("conv1", nn::Conv1d(nn::Conv1dOptions(2, 6, 3).dilation(1))),
       c2 = net->add("conv2", nn::Conv1d(nn::Conv1dOptions(6, 6, 3).dilation(2)));
  auto head = net->add("head", nn::Linear(6, 1));
  return simple(net, torch::randn({4, 2, 20}), [=](const Tensor& x) mutable {
    Tensor h = torch::relu(c1->forward(F::pad(x, F::PadFuncOptions({2, 0}))));
    h = torch::relu(c2->forward(F::pad(h, F::PadFuncOptions({4, 0})))) + h;
    return head->forward(h.select(2, -1));
  });
}

Case fourier_operator() {
  const Net net = make("fourier_operator");
  auto lift = net->add("lift", nn::Linear(1, 4)), head = net->add("head", nn::Linear(4, 1));
  Tensor weight = net->register_parameter("weight", torch::randn({4, 4, 5, 2}) * 0.1);
  return simple(net, torch::randn({4, 16, 1}), [=](const Tensor& x) mutable {
    const Tensor h = lift->forward(x).transpose(1, 2);
    const Tensor modes = torch::fft::rfft(h).narrow(2, 0, 5);
    const Tensor mixed = torch::einsum("bim,iom->bom", {modes, torch::view_as_complex(weight)});
    const Tensor y = torch::fft::irfft(mixed, 16) + h;
    return head->forward(torch::gelu(y.transpose(1, 2)));
  });
}

Case siren() {
  const Net net = make("siren");
  auto l1 = net->add("layer1", nn::Linear(2, 16)), l2 = net->add("layer2", nn::Linear(16, 3));
  return simple(net, torch::rand({4, 2}),
                [=](const Tensor& x) mutable { return l2->forward(torch::sin(30 * l1->forward(x))); });
}

Case tabular() {
  const Net net = make("tabular");
  auto city = net->add("city", nn::Embedding(7, 3)), day = net->add("day", nn::Embedding(31, 4));
  auto norm = net->add("norm", nn::BatchNorm1d(5));
  auto layers = net->add("layers", nn::Sequential(nn::Linear(12, 8), nn::ReLU(), nn::Dropout(0.1), nn::Linear(8, 1)));
  net->forward = [=](const Batch& batch) mutable {
    const Tensor& kinds = batch["kinds"];
    const Tensor x = torch::cat(
        {city->forward(kinds.select(1, 0)), day->forward(kinds.select(1, 1)), norm->forward(batch["numbers"])}, 1);
    return Batch(layers->forward(x).squeeze(1));
  };
  return {
      "tabular", net,
      Batch({{"kinds", torch::randint(7, {4, 2})}, {"numbers", torch::randn({4, 5})}, {"unread", torch::randn({4})}})};
}

Case siamese() {
  const Net net = make("siamese");
  auto tower = net->add("tower", nn::Sequential(nn::Linear(6, 8), nn::Tanh(), nn::Linear(8, 4)));
  net->forward = [=](const Batch& batch) mutable {
    const Tensor a = tower->forward(batch["left"]), b = tower->forward(batch["right"]);
    return Batch(F::cosine_similarity(a, b));
  };
  return {"siamese", net, Batch({{"left", torch::randn({4, 6})}, {"right", torch::randn({4, 6})}})};
}

Case several_outputs() {
  const Net net = make("several_outputs");
  auto body = net->add("body", nn::Linear(6, 8)), classes = net->add("classes", nn::Linear(8, 3)),
       box = net->add("box", nn::Linear(8, 4));
  net->forward = [=](const Batch& batch) mutable {
    const Tensor h = torch::relu(body->forward(batch.input()));
    const Tensor logits = classes->forward(h);
    return Batch({{"logits", logits}, {"label", logits.argmax(1)}, {"box", torch::sigmoid(box->forward(h))}});
  };
  return {"several_outputs", net, Batch(torch::randn({4, 6}))};
}

Case recommender() {
  const Net net = make("recommender");
  auto items = net->add("items", nn::EmbeddingBag(nn::EmbeddingBagOptions(50, 8).mode(torch::kMean)));
  auto user = net->add("user", nn::Embedding(10, 8));
  net->forward = [=](const Batch& batch) mutable {
    return Batch((items->forward(batch["history"]) * user->forward(batch["user"])).sum(1).sigmoid());
  };
  return {"recommender", net, Batch({{"history", torch::randint(50, {4, 6})}, {"user", torch::randint(10, {4})}})};
}

Case group_norm() {
  const Net net = make("group_norm");
  auto c1 = net->add("conv1", conv(3, 8, 3)), c2 = net->add("conv2", conv(8, 8, 3));
  auto n1 = net->add("norm1", nn::GroupNorm(2, 8));
  auto n2 = net->add("norm2", nn::InstanceNorm2d(nn::InstanceNorm2dOptions(8).affine(true)));
  return simple(net, torch::randn({4, 3, 8, 8}), [=](const Tensor& x) mutable {
    const Tensor h = torch::relu(n1->forward(c1->forward(x)));
    return torch::amax(n2->forward(c2->forward(h)), {2, 3});
  });
}

Case super_resolution() {
  const Net net = make("super_resolution");
  auto c1 = net->add("conv1", conv(1, 8, 3)), c2 = net->add("conv2", conv(8, 4, 3));
  auto slope = net->add("slope", nn::PReLU());
  return simple(net, torch::rand({4, 1, 8, 8}), [=](const Tensor& x) mutable {
    const Tensor h = torch::pixel_shuffle(c2->forward(slope->forward(c1->forward(x))), 2);
    const auto size =
        F::InterpolateFuncOptions().size(std::vector<int64_t>{16, 16}).mode(torch::kBilinear).align_corners(false);
    return (h + F::interpolate(x, size)).clamp(0, 1);
  });
}

Case resized_images() {
  const Net net = make("resized_images");
  auto c = net->add("conv", conv(3, 4, 3));
  net->forward = [=](const Batch& batch) mutable {
    const Tensor x = batch.input(), bytes = (x * 40 + 128).clamp(0, 255).to(torch::kByte);
    const std::vector<int64_t> size = {9, 13};
    return Batch({
        {"shrunk", c->forward(torch::_upsample_bilinear2d_aa(x, size, false))},
        {"cubic", c->forward(torch::_upsample_bicubic2d_aa(x, size, false))},
        {"bytes", torch::_upsample_bilinear2d_aa(bytes, size, false).to(torch::kFloat)},
        {"cubic_bytes", torch::_upsample_bicubic2d_aa(bytes, size, false).to(torch::kFloat)},
    });
  };
  return {"resized_images", net, Batch(torch::randn({4, 3, 16, 11}))};
}

Case mixture_of_experts() {
  const Net net = make("mixture_of_experts");
  auto gate = net->add("gate", nn::Linear(6, 3));
  std::vector<nn::Linear> experts;
  for (int i = 0; i < 3; ++i) experts.push_back(net->add("expert" + std::to_string(i), nn::Linear(6, 4)));
  return simple(net, torch::randn({4, 6}), [=](const Tensor& x) mutable {
    const auto [values, chosen] = gate->forward(x).topk(2, 1);
    const Tensor weights = torch::zeros({x.size(0), 3}).scatter(1, chosen, values.softmax(1));
    std::vector<Tensor> outputs;
    for (auto& expert : experts) outputs.push_back(expert->forward(x));
    return (torch::stack(outputs, 1) * weights.unsqueeze(2)).sum(1);
  });
}

Case moving_mean() {
  const Net net = make("moving_mean");
  auto layer = net->add("layer", nn::Linear(4, 4));
  Tensor mean = net->register_buffer("mean", torch::zeros({4}));
  Network* const self = net.get();
  return simple(net, torch::randn({4, 4}), [=](const Tensor& x) mutable {
    const Tensor h = layer->forward(x);
    if (self->is_training()) {
      const torch::NoGradGuard no_grad;
      mean.lerp_(h.mean(0), 0.1);
    }
    return h - mean;
  });
}

Case position_grid() {
  const Net net = make("position_grid");
  auto c1 = net->add("conv1", nn::Conv2d(3, 4, 1));
  return simple(net, torch::randn({4, 1, 6, 5}), [=](const Tensor& x) mutable {
    const Tensor rows = torch::linspace(0, 1, 6).view({1, 1, 6, 1}).expand({x.size(0), 1, 6, 5}),
                 columns = torch::arange(5).to(torch::kFloat).div(5).expand({x.size(0), 1, 6, 5});
    return torch::where(x > 0, c1->forward(torch::cat({x, rows, columns}, 1)).mean(1, true), x * 0.5);
  });
}

/// One output for each of many operators.
Case operators() {
  const Net net = make("operators");
  Tensor weight = net->register_parameter("weight", torch::tensor({0.5, -1.5, 2.0}).view({1, 3, 1, 1}));
  Tensor kernel = net->register_parameter("kernel", torch::randn({2, 3, 3, 2}));
  net->forward = [=](const Batch& batch) {
    const Tensor x = batch.input() * weight;                     // [batch, 3, 8, 6]
    const Tensor rows = x.flatten(2), positive = x.abs() + 0.1;  // [batch, 3, 48]
    const Tensor places = torch::tensor({2, 0, 1, 1});
    const std::vector<Tensor> parts = rows.split(16, 2), halves = x.chunk(2, 3), alone = x.unbind(1);
    return Batch({
        {"same", torch::conv2d(x, kernel, {}, 1, "same")},
        {"strided", torch::conv2d(x, kernel, {}, {2, 1}, {1, 0}, {1, 2})},
        {"transposed", torch::conv_transpose2d(x, kernel.transpose(0, 1), {}, 2, 1, 1)},
        {"max_pool", torch::max_pool2d(x, 3, 2, 1)},
        {"avg_pool", torch::avg_pool2d(x, {3, 2}, {2, 2}, {1, 0}, false, false)},
        {"adaptive", torch::adaptive_avg_pool2d(x, {4, 3})},
        {"instance", torch::instance_norm(x, {}, {}, {}, {}, true, 0.1, 1e-5, false)},
        {"layer", torch::layer_norm(x, {8, 6})},
        {"elu", torch::elu(x, 0.7)},
        {"selu", torch::selu(x)},
        {"celu", torch::celu(x, 0.5)},
        {"mish", torch::mish(x)},
        {"softplus", F::softplus(x, F::SoftplusFuncOptions().beta(2))},
        {"log_sigmoid", torch::log_sigmoid(x)},
        {"hardtanh", torch::hardtanh(x, -0.5, 0.5)},
        {"relu6", F::relu6(x * 4)},
        {"gelu_tanh", F::gelu(x, F::GELUFuncOptions().approximate("tanh"))},
        {"glu", torch::glu(x, 3)},
        {"exp", torch::exp(x)},
        {"expm1", torch::expm1(x)},
        {"log1p", torch::log1p(positive)},
        {"rsqrt", torch::rsqrt(positive)},
        {"power", torch::pow(positive, 1.5)},
        {"powers", torch::pow(positive, x)},
        {"trigonometry", torch::sin(x) + torch::cos(x) * torch::tan(x * 0.3) + torch::atan(x)},
        {"erf", torch::erf(x)},
        {"rounded", torch::round(x * 3) + torch::floor(x) - torch::ceil(x * 2)},
        {"remainder", torch::remainder(x, 0.7)},
        {"truncated", torch::div(x, 0.3, "trunc")},
        {"floored", torch::div(x, 0.3, "floor")},
        {"difference", torch::sub(x, positive, 0.5)},
        {"reversed", 1 - x},
        {"largest", torch::maximum(x, positive * 0.5)},
        {"clamped", torch::clamp(x, -0.3, 0.4)},
        {"at_least", torch::clamp_min(x, 0.1)},
        {"lerp", torch::lerp(x, positive, 0.3)},
        {"where", torch::where(x > 0.2, x, -positive)},
        {"masked", x.masked_fill(x.lt(0), -7)},
        {"between", torch::logical_and(x.ge(-0.5), x.le(0.5)).logical_not()},
        {"unequal", x.ne(x.round())},
        {"sum", x.sum({1, 3}, true)},
        {"mean", x.mean(2)},
        {"product", rows.narrow(2, 0, 4).prod(2)},
        {"variance", x.var({2, 3})},
        {"deviation", x.std(1, /*unbiased=*/false)},
        {"norm", x.norm(2, 1)},
        {"length", torch::linalg_vector_norm(x, 1, at::IntArrayRef{3})},
        {"logsumexp", x.logsumexp(3)},
        {"max", std::get<0>(x.max(3))},
        {"max_place", std::get<1>(x.max(3))},
        {"argmin", x.argmin(2, true)},
        {"amin", x.amin({2, 3})},
        {"any", x.gt(1).any(3)},
        {"all", x.gt(-1).all(2)},
        {"cumsum", x.cumsum(3)},
        {"sorted", std::get<0>(rows.sort(2, /*descending=*/true))},
        {"softmin", torch::softmax(-x, 1)},
        {"permuted", x.permute({0, 2, 3, 1})},
        {"moved", torch::movedim(x, 1, 3)},
        {"flipped", x.flip({2, 3})},
        {"rolled", x.roll({2, -1}, {2, 3})},
        {"repeated", x.mean({2, 3}).repeat({1, 3})},
        {"interleaved", x.repeat_interleave(2, 1)},
        {"tiled", x.narrow(3, 0, 1).expand({-1, -1, -1, 4})},
        {"parts", parts[0] + parts[1] * parts[2]},
        {"halves", torch::cat({halves[1], halves[0]}, 3)},
        {"stacked", torch::stack({alone[2], alone[0]}, 1)},
        {"indexed", x.index_select(1, places)},
        {"index", x.index({torch::indexing::Slice(), places})},
        {"sliced", x.index({torch::indexing::Slice(), torch::indexing::Slice(), torch::indexing::Slice(1, 7, 2)})},
        {"gathered", rows.gather(2, torch::argsort(rows, int64_t{2}, false).narrow(2, 0, 5))},
        {"scattered", torch::zeros_like(rows).scatter_add(2, rows.argmax(2, true), rows.narrow(2, 0, 1))},
        {"lower", torch::tril(x, -1)},
        {"upper", torch::triu(x, 1)},
        {"reflected", torch::pad(x, {1, 2, 3, 0}, "reflect")},
        {"replicated", torch::pad(x, {1, 0, 0, 2}, "replicate")},
        {"padded", torch::constant_pad_nd(x, {1, 1}, 0.25)},
        {"unflattened", rows.unflatten(2, {6, 8})},
        {"squeezed", x.narrow(1, 0, 1).squeeze(1)},
        {"nearest",
         F::interpolate(x, F::InterpolateFuncOptions().scale_factor(std::vector<double>{2, 3}).mode(torch::kNearest))},
        {"bilinear", F::interpolate(x, F::InterpolateFuncOptions()
                                           .size(std::vector<int64_t>{5, 9})
                                           .mode(torch::kBilinear)
                                           .align_corners(true))},
        {"bicubic", F::interpolate(x, F::InterpolateFuncOptions()
                                          .size(std::vector<int64_t>{11, 12})
                                          .mode(torch::kBicubic)
                                          .align_corners(false))},
        {"shuffled", torch::pixel_shuffle(x.repeat({1, 4, 1, 1}), 2)},
        {"baddbmm", torch::baddbmm(rows.narrow(2, 0, 3), rows, rows.transpose(1, 2), 0.5, 2)},
        {"einsum", torch::einsum("bchw,bdhw->bcd", {x, positive})},
        {"dtypes", x.to(torch::kDouble).mul(2).to(torch::kFloat) + x.gt(0).to(torch::kLong)},
        {"steps", x + torch::arange(6) + torch::full({8, 1}, 0.5)},
    });
  };
  return {"operators", net, Batch(torch::randn({4, 3, 8, 6}))};
}

using Make = Case (*)();
constexpr Make kMakers[] = {mlp,
                            lenet,
                            resnet,
                            mobilenet,
                            efficientnet,
                            convnext,
                            unet,
                            densenet,
                            vit,
                            lstm,
                            bidirectional_gru,
                            rnn_with_state,
                            gpt,
                            llama,
                            bert,
                            vae,
                            generator,
                            tied_autoencoder,
                            deep_sets,
                            graph_convolution,
                            temporal_convolution,
                            fourier_operator,
                            siren,
                            tabular,
                            siamese,
                            several_outputs,
                            recommender,
                            group_norm,
                            super_resolution,
                            resized_images,
                            mixture_of_experts,
                            moving_mean,
                            position_grid,
                            operators};

}  // namespace

std::vector<Case> all() {
  std::vector<Case> cases;
  for (const Make make_case : kMakers) {
    torch::manual_seed(1);
    cases.push_back(make_case());
  }
  return cases;
}

Case named(const std::string& name) {
  for (Case& one : all())
    if (one.name == name) return one;
  throw std::runtime_error("no network " + name);
}

}  // namespace networks
