#include <levin/core/system/cores.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/readers/tar_shards.h>
#include <levin/data/remote/output_place.h>
#include <levin/program/commands/commands.h>
#include <levin/program/commands/tokenize_files.h>

#include <iostream>

namespace levin::cli {
namespace {

struct TokenizeFlags {
  std::string tokenizer =
      LEVIN_OPTION(tokenizer, "", "Folder of a model, its tokenizer.json, or a SentencePiece model (.model)");
  std::vector<std::string> in = LEVIN_OPTION(
      in, {}, "Files by name or pattern: 'texts/*.txt', one text each, or data-{0..9}.jsonl.gz, one a line");
  std::string out = LEVIN_OPTION(out, "", "The file of tokens, such as train.bin; .npy: an array of NumPy");
  std::string dtype =
      LEVIN_OPTION(dtype, "auto", "Type of the tokens; auto: uint16 if the vocabulary fits, else uint32",
                   {.choices = {"auto", "uint16", "uint32"}});
  std::string text_field = LEVIN_OPTION(text_field, "text", "Of JSON lines, the field with the text");
  bool no_eos = LEVIN_OPTION(no_eos, false, "Put no end-of-text token behind the documents");
  std::string eos_token =
      LEVIN_OPTION(eos_token, "", "The end-of-text token; empty: eos_token of tokenizer_config.json");
  Choice<data::ChatTemplate> chat_template = LEVIN_OPTION(
      chat_template, data::ChatTemplate::Auto, "Format of chats in JSON lines; auto: that of tokenizer_config.json");
  int64_t threads = LEVIN_OPTION(threads, 0, "Threads; 0: one for each core", {.min = 0, .max = 1024});
};

/// Returns a number with a mark between thousands: "1,234,567".
std::string with_marks(int64_t number) {
  std::string text = std::to_string(number);
  for (auto at = static_cast<int64_t>(text.size()) - 3; at > 0; at -= 3) text.insert(static_cast<size_t>(at), ",");
  return text;
}

int run_tokenize(const TokenizeFlags& flags, const Words& words) {
  if (flags.tokenizer.empty()) throw UsageError("--tokenizer: not set; it names a folder with a tokenizer.json");
  std::vector<std::string> patterns = flags.in;
  patterns.insert(patterns.end(), words.begin(), words.end());
  if (patterns.empty()) throw UsageError("--in: not set; it names the files to read, such as 'texts/*.txt'");
  if (flags.out.empty()) throw UsageError("--out: not set; it names the file to write, such as train.bin");
  const OutputPlace place("--out", flags.out);
  TokenizeJob job{.encoder = {.tokenizer = flags.tokenizer,
                              .loss_on = data::LossOn::All,
                              .chat_template = flags.chat_template,
                              .append_eos = !flags.no_eos,
                              .eos_token = flags.eos_token},
                  .files = data::find_shards(patterns, "--in"),
                  .out = place.path(),
                  .threads = flags.threads > 0 ? flags.threads : cores_of_process()};
  job.encoder.fields.text_field = flags.text_field;
  if (flags.dtype != "auto") job.dtype = flags.dtype == "uint16" ? at::kUInt16 : at::kUInt32;
  const TokenizeSummary made = tokenize_files(job);
  place.finish();
  std::cout << flags.out << ": " << with_marks(made.tokens) << " tokens ("
            << (made.dtype == at::kUInt16 ? "uint16" : "uint32") << ")";
  if (made.seconds > 0)
    std::cout << ", " << with_marks(static_cast<int64_t>(static_cast<double>(made.new_tokens) / made.seconds))
              << " a second";
  if (made.taken_parts > 0) std::cout << "; " << made.taken_parts << " parts were there already";
  std::cout << std::endl;
  return 0;
}

}  // namespace

Command tokenize_command() {
  return make_command(
      {.name = "tokenize",
       .summary = "Write texts as a file of tokens, for TokenFile",
       .usage = "--tokenizer DIR --in FILE... --out FILE",
       .about =
           R"(The file is that of nanoGPT: the numbers of the tokens one after another, as uint16 or uint32 without a header.
Lines of .jsonl files are read as TextJsonl reads them; any other file is one text. gzip, zstd, xz, bzip2 and lz4 are
unpacked. If the command is killed, the same command resumes: finished parts are in OUT.parts.)",
       .most = kAnyNumber,
       .values = {{"tokenizer", "DIR"}, {"in", "FILE"}, {"out", "FILE"}}},
      run_tokenize);
}

}  // namespace levin::cli
