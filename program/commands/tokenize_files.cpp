#include <levin/program/commands/tokenize_files.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/core/system/json_text.h>
#include <levin/core/system/start_thread.h>
#include <levin/data/download/sha256.h>
#include <levin/program/commands/token_parts.h>
#include <levin/program/commands/token_pieces.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace levin::cli {
namespace {

namespace fs = std::filesystem;
using TokenizeClock = std::chrono::steady_clock;

/// Files are opened together up to these limits, so that small ones share the threads.
constexpr uint64_t kMostStretchBytes = uint64_t{64} << 20;
constexpr size_t kMostOpenFiles = 256;
constexpr double kSecondsBetweenReports = 10;

/// Files that are opened together.
using Stretch = std::vector<std::string>;

std::vector<Stretch> stretches_of(const std::vector<std::string>& files) {
  std::vector<Stretch> stretches;
  uint64_t bytes = 0;
  for (const std::string& file : files) {
    std::error_code error;
    const uint64_t size = fs::file_size(file, error);
    if (error) throw UsageError(file, ": cannot be read: ", error.message());
    if (stretches.empty() || bytes + size > kMostStretchBytes || stretches.back().size() == kMostOpenFiles) {
      stretches.emplace_back();
      bytes = 0;
    }
    stretches.back().push_back(file);
    bytes += size;
  }
  return stretches;
}

/// Says what is written of what. With another text, parts of an earlier process are of no use.
std::string plan_of(const TokenizeJob& job, at::ScalarType dtype) {
  const fs::path tokenizer = job.encoder.tokenizer;
  const bool is_folder = fs::is_directory(tokenizer);
  const fs::path folder = is_folder ? tokenizer : tokenizer.parent_path();
  nlohmann::ordered_json plan;
  plan["dtype"] = c10::toString(dtype);
  plan["options"] = schema_of<data::SampleEncoderOptions>().get(&job.encoder);
  plan["part_bytes"] = job.part_bytes;
  for (const fs::path& file : {is_folder ? folder / "tokenizer.json" : tokenizer, folder / "tokenizer_config.json",
                               folder / "chat_template.jinja"})
    if (fs::exists(file)) plan["tokenizer"].push_back(data::sha256_of(file));
  for (const std::string& file : job.files)
    plan["files"].push_back({file, fs::file_size(file), fs::last_write_time(file).time_since_epoch().count()});
  return json_text(plan, 1);
}

/// One run over the files.
class Tokenization {
 public:
  explicit Tokenization(const TokenizeJob& job)
      : job_(job), encoder_(job.encoder), summary_{.dtype = job.dtype.value_or(smallest_dtype())} {}

  TokenizeSummary run() {
    const std::vector<Stretch> stretches = stretches_of(job_.files);
    TokenParts parts(job_.out, summary_.dtype, plan_of(job_, summary_.dtype));
    for (int64_t i = 0; i < static_cast<int64_t>(stretches.size()); ++i) {
      if (const auto finished = parts.finished(i))
        summary_.taken_parts += *finished;
      else
        make_parts(stretches[static_cast<size_t>(i)], i, parts);
    }
    summary_.new_tokens = new_tokens_;
    summary_.tokens = parts.join(static_cast<int64_t>(stretches.size()));
    summary_.seconds = seconds();
    return summary_;
  }

 private:
  at::ScalarType smallest_dtype() const {
    return encoder_.tokenizer().vocab_size() <= 65536 ? at::kUInt16 : at::kUInt32;
  }

  double seconds() const { return std::chrono::duration<double>(TokenizeClock::now() - begin_).count(); }

  /// Makes the parts of a stretch that are not there, each in one of several threads. Throws the error of the first
  /// part that fails; others stay for the next process.
  void make_parts(const Stretch& files, int64_t stretch, const TokenParts& parts) {
    const TokenPieces pieces(files, encoder_, job_.part_bytes);
    const int64_t count = pieces.parts();
    std::vector<std::exception_ptr> errors(static_cast<size_t>(count));
    std::atomic<int64_t> next = 0;
    std::atomic<bool> failed = false;
    const auto work = [&] {
      for (int64_t part = next++; part < count && !failed; part = next++) {
        try {
          make_part(pieces, stretch, part, parts);
        } catch (...) {
          errors[static_cast<size_t>(part)] = std::current_exception();
          failed = true;
        }
      }
    };
    run_in_threads(work, std::min(job_.threads, count));
    for (const std::exception_ptr& error : errors)
      if (error) std::rethrow_exception(error);
    parts.finish(stretch, count);
  }

  template <class Work>
  static void run_in_threads(const Work& work, int64_t count) {
    std::vector<std::thread> threads;
    threads.reserve(static_cast<size_t>(std::max<int64_t>(count, 0)));
    try {
      for (int64_t i = 1; i < count; ++i) threads.push_back(start_thread("making tokens", work));
    } catch (const Error&) {
      // Those that there are do it.
    }
    work();
    for (std::thread& thread : threads) thread.join();
  }

  void make_part(const TokenPieces& pieces, int64_t stretch, int64_t part, const TokenParts& parts) {
    if (parts.has(stretch, part)) {
      const std::lock_guard lock(mutex_);
      ++summary_.taken_parts;
      return;
    }
    const std::vector<int32_t> tokens = pieces.encode(part, encoder_);
    parts.write(stretch, part, tokens);
    const std::lock_guard lock(mutex_);
    new_tokens_ += static_cast<int64_t>(tokens.size());
    if (seconds() < reported_ + kSecondsBetweenReports) return;
    reported_ = seconds();
    console::info(c10::str(new_tokens_, " tokens, ", static_cast<int64_t>(static_cast<double>(new_tokens_) / reported_),
                           " a second"));
  }

  const TokenizeJob& job_;
  const data::SampleEncoder encoder_;
  const TokenizeClock::time_point begin_ = TokenizeClock::now();
  TokenizeSummary summary_;
  std::mutex mutex_ = {};
  int64_t new_tokens_ = 0;
  double reported_ = 0;
};

}  // namespace

TokenizeSummary tokenize_files(const TokenizeJob& job) { return Tokenization(job).run(); }

}  // namespace levin::cli
