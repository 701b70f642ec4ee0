#include <levin/core/state/atomic_file.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/readers/token_array.h>
#include <levin/program/commands/tokenize_files.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>

#include "tests/catch.h"
#include "tests/data/datasets/byte_tokenizer.h"
#include "tests/error_text.h"
#include "tests/program/cli/program.h"
#include "tests/temporary_folder.h"

using levin::cli::tokenize_files;
using levin::cli::TokenizeJob;
using levin::cli::TokenizeSummary;
using levin::data::TokenArray;
using levin::data::TokenType;
using namespace levin::testing;
namespace fs = std::filesystem;

namespace {

using TokenIds = std::vector<int64_t>;

/// A folder with the byte tokenizer, texts, and a job that makes tokens of them.
struct TextsFolder {
  TextsFolder() { write_byte_tokenizer(folder / "model", byte_tokenizer_config()); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder / name, std::ios::binary) << text;
    return (folder / name).string();
  }
  TokenizeJob job(const std::vector<std::string>& files, const std::string& out = "out.bin") const {
    return {.encoder = {.tokenizer = (folder / "model").string(), .loss_on = levin::data::LossOn::All},
            .files = files,
            .out = folder / out};
  }

  TemporaryFolder folder = {};
};

TokenIds tokens_in(const fs::path& file, TokenType type = TokenType::UInt16) {
  const TokenArray tokens(file, type);
  TokenIds ids(static_cast<size_t>(tokens.size()));
  tokens.read(0, tokens.size(), ids.data());
  return ids;
}

/// The tokens of documents, as the byte tokenizer makes them.
TokenIds tokens_of(const std::vector<std::string>& documents) {
  TokenIds ids;
  for (const std::string& text : documents) {
    ids.push_back(kBeginOfText);
    for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
    ids.push_back(kEndOfText);
  }
  return ids;
}

/// Text of about this size, in lines of different lengths.
std::string long_text(size_t bytes) {
  std::string text;
  for (size_t i = 0; text.size() < bytes; ++i)
    text += "line " + std::to_string(i * i % 9973) + (i % 7 == 0 ? "\n\n" : i % 5 == 0 ? " \n" : "\n");
  return text;
}

std::string bytes_of_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

int renames_left = 0;

/// Kills this process before the last of `renames_left` files gets its name.
int kill_at_rename(const char* stage) {
  if (std::string_view(stage) == "rename" && --renames_left == 0) ::raise(SIGKILL);
  return 0;
}

/// Runs the job in a child process that is killed before its n-th file gets its name. Returns whether it was killed.
bool killed_at(int renames, const TokenizeJob& job) {
  const pid_t child = ::fork();
  if (child == 0) {
    renames_left = renames;
    levin::set_file_stage_hook(kill_at_rename);
    tokenize_files(job);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status);
}

}  // namespace

TEST_CASE("texts and JSON lines become one file of tokens, a document behind the other") {
  const TextsFolder texts;
  const TokenizeJob job = texts.job({texts.write("a.txt", "first\ntext"), texts.write("b.txt", ""),
                                     texts.write("c.jsonl", "{\"text\": \"x\"}\n\n{\"text\": \"y\"}\n")});
  const TokenizeSummary made = tokenize_files(job);
  const TokenIds expected = tokens_of({"first\ntext", "x", "y"});
  CHECK(tokens_in(job.out) == expected);
  CHECK(made.tokens == static_cast<int64_t>(expected.size()));
  CHECK(made.new_tokens == made.tokens);
  CHECK(made.dtype == at::kUInt16);
  CHECK_FALSE(fs::exists(texts.folder / "out.bin.parts"));
  TokenizeJob array = texts.job(job.files, "out.npy");
  array.dtype = at::kUInt32;
  tokenize_files(array);
  CHECK(tokens_in(array.out, TokenType::Auto) == expected);
  CHECK(TokenArray(array.out, TokenType::Auto).dtype() == at::kUInt32);
}

TEST_CASE("a text that several threads share has the same tokens as in one piece") {
  const TextsFolder texts;
  const std::string text = long_text(200'000);
  TokenizeJob job = texts.job({texts.write("a.txt", text)});
  job.threads = 3;
  job.part_bytes = 10'000;
  tokenize_files(job);
  CHECK(tokens_in(job.out) == tokens_of({text}));
}

TEST_CASE("a killed process is continued, and the file is the same as without the kill") {
  const TextsFolder texts;
  std::string lines;
  for (int i = 0; i < 300; ++i) lines += "{\"text\": \"document " + std::to_string(i * i) + "\"}\n";
  const std::vector<std::string> files = {texts.write("a.jsonl", lines), texts.write("b.txt", long_text(5000))};
  TokenizeJob whole = texts.job(files, "whole.bin");
  whole.part_bytes = 2000;
  const TokenizeSummary at_once = tokenize_files(whole);
  TokenizeJob job = whole;
  job.out = texts.folder / "killed.bin";
  // Before the plan, its first part, later ones, the count of parts, and the whole file.
  int kills = 0;
  for (const int renames : {1, 2, 5, 4, 1000}) {
    if (!killed_at(renames, job)) break;
    ++kills;
    CHECK_FALSE(fs::exists(job.out));
  }
  CHECK(kills == 4);
  CHECK(bytes_of_file(job.out) == bytes_of_file(whole.out));
  fs::remove(job.out);
  REQUIRE(killed_at(6, job));
  const TokenizeSummary rest = tokenize_files(job);
  CHECK(rest.taken_parts == 4);
  CHECK(rest.tokens == at_once.tokens);
  CHECK(rest.new_tokens < at_once.tokens);
  CHECK(bytes_of_file(job.out) == bytes_of_file(whole.out));
}

TEST_CASE("parts of other options or other texts are not taken") {
  const TextsFolder texts;
  TokenizeJob job = texts.job({texts.write("a.txt", long_text(9000))});
  job.part_bytes = 1000;
  REQUIRE(killed_at(5, job));
  job.encoder.append_eos = false;
  CHECK(tokenize_files(job).taken_parts == 0);
  REQUIRE(killed_at(5, job));
  texts.write("a.txt", long_text(8000));
  CHECK(tokenize_files(job).taken_parts == 0);
  CHECK(tokens_in(job.out).size() == long_text(8000).size() + 1);
  fs::create_directory(texts.folder / "out.bin.parts");
  texts.write("out.bin.parts/mine", "keep");
  CHECK(contains(error_text<levin::UsageError>([&] { tokenize_files(job); }), "holds files that are no parts of"));
  CHECK(fs::exists(texts.folder / "out.bin.parts" / "mine"));
}

TEST_CASE("an error names the line, and leaves no file of tokens") {
  const TextsFolder texts;
  TokenizeJob job = texts.job({texts.write("a.jsonl", "{\"text\": \"x\"}\nbroken\n")});
  CHECK(contains(error_text<levin::UsageError>([&] { tokenize_files(job); }), "a.jsonl: line 2: is no JSON"));
  CHECK_FALSE(fs::exists(job.out));
  job.files = {texts.write("b.txt", "good\n\xff bad")};
  CHECK(contains(error_text<levin::UsageError>([&] { tokenize_files(job); }), "b.txt: "));
  CHECK_FALSE(fs::exists(job.out));
}

TEST_CASE("levin tokenize says what it wrote, and what is missing") {
  const TextsFolder texts;
  texts.write("a.txt", "one");
  texts.write("b.txt", "two");
  const std::string model = (texts.folder / "model").string(), out = (texts.folder / "t.bin").string();
  const ProgramRun run =
      run_program({"tokenize", "--tokenizer", model, "--in", (texts.folder / "*.txt").string(), "--out", out});
  INFO(run.err);
  CHECK(run.code == 0);
  CHECK(run.out.starts_with(out + ": 10 tokens (uint16)"));
  CHECK(tokens_in(out) == tokens_of({"one", "two"}));
  for (const std::string missing : {"--tokenizer", "--in", "--out"}) {
    std::vector<std::string> words = {"tokenize"};
    for (const auto& [flag, value] : {std::pair<std::string, std::string>{"--tokenizer", model},
                                      {"--in", (texts.folder / "*.txt").string()},
                                      {"--out", out}}) {
      if (flag == missing) continue;
      words.push_back(flag);
      words.push_back(value);
    }
    const ProgramRun refused = run_program(words);
    CHECK(refused.code == 2);
    CHECK(contains(refused.err, missing + ": not set"));
  }
}
