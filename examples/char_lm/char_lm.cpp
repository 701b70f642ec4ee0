// A small transformer that learns to write like a text, character by character. Without a text file it generates one.
//
//   example_char_lm [TEXT_FILE [EPOCHS]]
#include <levin/data/datasets/text.h>
#include <levin/levin.h>
#include <levin/modules/nn/language_model.h>

#include <fstream>
#include <iostream>
#include <random>

constexpr int64_t kBlockSize = 32;

void write_sentences(const std::string& file, int count) {
  const std::vector<std::string> who = {"The cat", "A dog", "My neighbour", "The old captain", "Nobody"};
  const std::vector<std::string> does = {"sees", "follows", "paints", "forgets"};
  const std::vector<std::string> what = {"the moon", "a red boat", "the train to the coast", "every word", "a bird"};
  const std::vector<std::string> when = {"at night", "in winter", "before noon", "again and again"};
  std::mt19937 random(0);
  const auto one_of = [&](const std::vector<std::string>& words) { return words[random() % words.size()]; };
  std::ofstream out(file);
  for (int i = 0; i < count; ++i)
    out << one_of(who) << ' ' << one_of(does) << ' ' << one_of(what) << ' ' << one_of(when) << ".\n";
}

int main(int argc, char** argv) {
  torch::manual_seed(0);
  const std::string file = argc > 1 ? argv[1] : "sentences.txt";
  if (argc == 1) write_sentences(file, 800);

  levin::data::Text data({.file = file, .text = {.block_size = kBlockSize}, .batch_size = 16});
  const levin::nn::LanguageModelOptions options{.gpt = {.vocab_size = data.vocabulary().size(),
                                                        .block_size = kBlockSize,
                                                        .layers = 2,
                                                        .heads = 4,
                                                        .embedding = 64},
                                                .optimizer = {"AdamW", levin::optim::AdamWOptions{.lr = 3e-3}}};
  const auto model = levin::make_module<levin::nn::LanguageModel>(options);
  levin::Trainer trainer(
      {.max_epochs = argc > 2 ? std::stoi(argv[2]) : 4, .gradient_clip_val = 1.0, .name = "example_char_lm"});
  const auto result = trainer.fit(*model, data);

  // The prompt is the start of the validation text; the model continues it.
  levin::Batch window;
  data.dataset(levin::data::Split::Val)->get_batch(levin::data::Indices(0, 1), window);
  const auto prompt = window.input().narrow(1, 0, 20);
  const auto text = model->generate(prompt, 200, {.temperature = 0.8, .top_k = 10});
  std::cout << data.vocabulary().decode(text) << "\nval_loss " << result.metrics.at("val_loss") << ", val_perplexity "
            << result.metrics.at("val_perplexity") << "\n";
  return result.metrics.at("val_loss") < 1.5 ? 0 : 1;
}
