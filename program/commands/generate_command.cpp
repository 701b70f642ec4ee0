#include <ATen/Context.h>
#include <ATen/ops/tensor.h>
#include <levin/core/state/atomic_file.h>
#include <levin/core/system/error.h>
#include <levin/core/system/json_text.h>
#include <levin/data/data_module.h>
#include <levin/data/datasets/readers/tokenizer_settings.h>
#include <levin/data/remote/local_path.h>
#include <levin/data/remote/output_place.h>
#include <levin/data/tokenizer.h>
#include <levin/modules/adapters/lora.h>
#include <levin/modules/transformers/causal_lm.h>
#include <levin/program/cli/command_line.h>
#include <levin/program/commands/commands.h>
#include <levin/program/commands/trained_module.h>

#include <fstream>
#include <iostream>

namespace levin::cli {
namespace {

struct GenerateFlags {
  std::string folder = LEVIN_OPTION(
      folder, "", "Folder of the model, with tokenizer.json; unset: that of the config's model, a CausalLM");
  std::string adapter = LEVIN_OPTION(adapter, "", "With --folder: a folder with a LoRA adapter of PEFT's format");
  std::string tokenizer = LEVIN_OPTION(
      tokenizer, "", "A tokenizer.json, a folder that has one, or a SentencePiece model; unset: the model's folder");
  std::vector<std::string> prompt = LEVIN_OPTION(prompt, {}, "Text to continue; several: one after the other");
  std::string file = LEVIN_OPTION(file, "", "File of which each line is a prompt");
  std::string out = LEVIN_OPTION(
      out, "", "File that gets a JSON object a line, {\"prompt\": ..., \"text\": ...}; unset: the text goes to stdout");
  int64_t tokens = LEVIN_OPTION(tokens, 100, "Most tokens of a continuation", {.min = 1});
  double temperature = LEVIN_OPTION(
      temperature, 0, "0: always the most likely token; above: draw, the more evenly the higher", {.min = 0});
  std::optional<int64_t> top_k = LEVIN_OPTION(top_k, {}, "Draw among the k most likely tokens", {.min = 1});
  std::optional<double> top_p =
      LEVIN_OPTION(top_p, {}, "Draw among the most likely tokens that have this probability together",
                   {.max = 1, .exclusive_min = 0});
  std::vector<std::string> stop = LEVIN_OPTION(stop, {}, "Texts that end a continuation, and are not part of it");
  bool no_cache = LEVIN_OPTION(no_cache, false, "Compute keys and values again for each token, to save their memory");
};

std::vector<std::string> prompts_of(const GenerateFlags& flags) {
  std::vector<std::string> prompts = flags.prompt;
  if (!flags.file.empty()) {
    std::ifstream in(local_path(flags.file));
    if (!in) throw UsageError("--file: ", flags.file, " cannot be read");
    for (std::string line; std::getline(in, line);) {
      if (line.ends_with('\r')) line.pop_back();
      if (!line.empty()) prompts.push_back(line);
    }
  }
  if (prompts.empty()) throw UsageError("--prompt: missing; give a text to continue, or --file with one a line");
  return prompts;
}

/// Returns the length of the text before the first of the stop texts; none if it has none of them.
std::optional<size_t> stop_in(const std::string& text, const std::vector<std::string>& stops) {
  std::optional<size_t> first;
  for (const std::string& stop : stops)
    if (const size_t at = text.find(stop); !stop.empty() && at != std::string::npos && (!first || at < *first))
      first = at;
  return first;
}

/// Writes a text that grows; an end that may yet become a stop text, or another character, waits.
class Stream {
 public:
  explicit Stream(bool prints, size_t longest_stop) : prints_(prints), held_(longest_stop) {}
  void grow(const std::string& text, bool is_whole) {
    if (!prints_) return;
    size_t end = is_whole ? text.size() : text.size() - std::min(text.size(), held_);
    while (!is_whole && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    constexpr std::string_view kUnfinished = "\xEF\xBF\xBD";
    while (!is_whole && std::string_view(text).substr(0, end).ends_with(kUnfinished)) end -= kUnfinished.size();
    if (end <= written_) return;
    std::cout << std::string_view(text).substr(written_, end - written_) << std::flush;
    written_ = end;
  }

 private:
  bool prints_;
  size_t held_, written_ = 0;
};

struct Generator {
  nn::CausalLM& model;
  const Tokenizer& tokenizer;
  const GenerateFlags& flags;

  /// Returns the continuation of a prompt, which is printed as it comes if it goes to stdout.
  std::string continued(const std::string& prompt) const {
    const Encoding encoding = tokenizer.encode(prompt, {.with_offsets = false, .truncate = false});
    if (encoding.ids.empty()) throw UsageError("--prompt: '", prompt, "' has no token");
    const int64_t given = static_cast<int64_t>(encoding.ids.size());
    const at::Tensor tokens = at::tensor(encoding.ids, at::kInt).to(at::kLong).unsqueeze(0);
    size_t longest = 0;
    for (const std::string& stop : flags.stop) longest = std::max(longest, stop.size());
    Stream stream(flags.out.empty(), longest);
    std::string text;
    const auto new_text = [&](const at::Tensor& all) {
      return text_of(all.select(0, 0).narrow(0, given, all.size(1) - given));
    };
    const auto after_token = [&](const at::Tensor& all) {
      text = new_text(all);
      const std::optional<size_t> stop = stop_in(text, flags.stop);
      if (stop) text.resize(*stop);
      stream.grow(text, stop.has_value());
      return !stop;
    };
    nn::PromptOptions how = {.use_cache = !flags.no_cache};
    // The text so far is needed to print it, and to find what stops it.
    const bool follows = flags.out.empty() || !flags.stop.empty();
    if (follows) how.after_token = after_token;
    const at::Tensor all = model.generate(
        tokens, flags.tokens, {.temperature = flags.temperature, .top_k = flags.top_k, .top_p = flags.top_p}, how);
    if (!follows) return new_text(all);
    stream.grow(text, true);
    return text;
  }

  std::string text_of(const at::Tensor& tokens) const {
    const at::Tensor ids = tokens.to(at::kCPU, at::kInt).contiguous();
    return tokenizer.decode({ids.const_data_ptr<int32_t>(), static_cast<size_t>(ids.numel())});
  }
};

/// Returns the words with --folder and --adapter as the config's flags.
Words with_model(const GenerateFlags& flags, Words words) {
  if (flags.folder.empty()) {
    if (!flags.adapter.empty()) throw UsageError("--adapter: goes with --folder; a config has model.adapter");
    return words;
  }
  words.insert(words.begin(), {"--model.class", "CausalLM", "--model.folder", flags.folder});
  if (!flags.adapter.empty())
    words.insert(words.begin() + 4, {"--model.adapter.class", "LoRA", "--model.adapter.folder", flags.adapter});
  return words;
}

int run_generate(const GenerateFlags& flags, const Words& words) {
  const CommandLine line = read_command_line(schema_of<RunOptions>(), "fit", with_model(flags, words));
  const ReadOptions options = read_run_options(line.config);
  if (!options.model) throw UsageError("--folder: missing; name a model's folder, or a config with a CausalLM");
  const std::vector<std::string> prompts = prompts_of(flags);
  const OutputPlace place("--out", flags.out);
  if (options.trainer.seed) at::manual_seed(static_cast<uint64_t>(*options.trainer.seed));
  const auto module = options.model.make("model");
  auto* const model = dynamic_cast<nn::CausalLM*>(module.get());
  if (model == nullptr) throw UsageError("model: ", options.model.class_name(), " generates no text; CausalLM does");
  const TrainedWeights trained = find_trained_weights(options, line.flags.ckpt_path);
  const TrainedModule ready(*module, nullptr, trained, line.flags.ckpt_path);
  const Tokenizer tokenizer = data::open_tokenizer(flags.tokenizer.empty() ? model->options.folder : flags.tokenizer);
  const Generator generator{*model, tokenizer, flags};
  std::string lines;
  for (const std::string& prompt : prompts) {
    const std::string text = generator.continued(prompt);
    if (flags.out.empty())
      std::cout << std::endl;
    else
      lines += json_text({{"prompt", prompt}, {"text", text}}) + "\n";
  }
  if (!flags.out.empty()) write_text_file_atomically(followed(place.path()), lines);
  place.finish();
  return 0;
}

}  // namespace

Command generate_command() {
  return make_command(
      {.name = "generate",
       .summary = "Continue texts with a language model",
       .usage = "--folder FOLDER --prompt TEXT",
       .about =
           R"(A config's model and --ckpt-path may stand in place of --folder, as for predict. The model's end-of-text
tokens end a continuation. trainer.seed makes draws repeat.)",
       .rest = Rest::FitFlags,
       .values = {{"folder", "FOLDER"}, {"adapter", "FOLDER"}, {"prompt", "TEXT"}, {"file", "FILE"}, {"out", "FILE"}}},
      run_generate);
}

}  // namespace levin::cli
