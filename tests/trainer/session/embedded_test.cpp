// A program that embeds levin (TrainerOptions::embedded) keeps its process to itself.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <exception>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/captured_stderr.h"
#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"
#include "tests/trainer/session/sessions.h"

namespace {

/// What a library could change of a process.
struct ProcessState {
  using Handler = std::pair<int, void (*)(int)>;  // flags and handler
  std::map<int, Handler> handlers = {};
  int threads = at::get_num_threads();
  torch::Tensor random_numbers = at::detail::getDefaultCPUGenerator().get_state();
  std::terminate_handler terminate = std::get_terminate();
  bool deterministic = at::globalContext().deterministicAlgorithms();
  std::set<std::string> environment = {};
  bool operator==(const ProcessState& other) const {
    return handlers == other.handlers && threads == other.threads && terminate == other.terminate &&
           torch::equal(random_numbers, other.random_numbers) && deterministic == other.deterministic &&
           environment == other.environment;
  }
};

ProcessState process_state() {
  ProcessState state;
  for (int number = 1; number < 32; ++number) {
    struct sigaction action = {};
    if (::sigaction(number, nullptr, &action) == 0) state.handlers[number] = {action.sa_flags, action.sa_handler};
  }
  for (char** variable = ::environ; *variable != nullptr; ++variable) state.environment.insert(*variable);
  return state;
}

/// Runs `body` with stdout and stderr going to a file, in an empty working folder; returns what was written to both,
/// and the names of new files.
std::string traces_of(const std::function<void()>& body) {
  const TemporaryFolder folder, out;
  const std::filesystem::path before = std::filesystem::current_path(), file = out / "output.txt";
  const std::array<int, 2> saved = {::dup(STDOUT_FILENO), ::dup(STDERR_FILENO)};
  std::fflush(nullptr);
  FILE* const written = std::fopen(file.c_str(), "w");
  for (const int number : {STDOUT_FILENO, STDERR_FILENO}) ::dup2(::fileno(written), number);
  std::filesystem::current_path(folder.path());
  std::exception_ptr error;
  try {
    body();
  } catch (...) {
    error = std::current_exception();
  }
  std::cout << std::flush;
  std::fflush(nullptr);
  ::dup2(saved[0], STDOUT_FILENO);
  ::dup2(saved[1], STDERR_FILENO);
  for (const int number : saved) ::close(number);
  std::fclose(written);
  std::filesystem::current_path(before);
  if (error) std::rethrow_exception(error);
  std::string traces = read_bytes(file);
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) traces += entry.path().string();
  return traces;
}

/// Warns in each way: by levin, by LibTorch, and by an optimizer that trains nothing.
struct Warning : ToyModule {
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    TORCH_WARN("LibTorch has an opinion");
    return loss_of(batch) * (warns_of_nan ? std::nan("") : 1.0);
  }
  bool warns_of_nan = false;
};

}  // namespace

TEST_CASE("an embedded fit and session print nothing, write nothing and change nothing of the process") {
  const ToyData data(12);
  levin::TrainerOptions options = levin::TrainerOptions::embedded();
  options.seed = 3;
  options.max_steps = 6;
  const auto fitted = new_module(), driven = new_module();
  const ProcessState before = process_state();
  ProcessState inside;
  const std::string traces = traces_of([&] {
    levin::Trainer trainer(options);
    const levin::RunResult result = trainer.fit(*fitted, data.loader(4), data.loader(4));
    CHECK(result.global_step == 6);
    CHECK(result.folder.empty());
    CHECK(result.metrics.count("train_loss") == 1);
    levin::Session session = trainer.start(driven);
    levin::SessionLoader batches = session.loader(data.loader(4));
    while (session.next()) session.step(batches.next());
    inside = process_state();
    session.finish();
  });
  CHECK(traces == "");
  CHECK((process_state() == before));
  CHECK((inside == before));
  CHECK(bit_equal(fitted->parameters(), driven->parameters()));
}

TEST_CASE("warnings of an embedded run are in its result and in the session") {
  const ToyData data(8);
  levin::TrainerOptions options = levin::TrainerOptions::embedded();
  options.max_steps = 3;
  options.log_every_n_steps = 1;
  const auto has = [](const std::vector<std::string>& warnings, const char* part) {
    return std::any_of(warnings.begin(), warnings.end(), [&](const std::string& one) { return contains(one, part); });
  };
  const std::string traces = traces_of([&] {
    levin::Session session = levin::Trainer(options).start([] {
      auto module = std::make_shared<Warning>();
      module->warns_of_nan = true;
      return module;
    }());
    while (session.next()) session.step(levin::Batch(data.input, data.target));
    CHECK(has(session.warnings(), "the loss was NaN or infinite first in step 1"));
    const std::vector<std::string> warnings = session.finish().warnings;
    CHECK(has(warnings, "LibTorch has an opinion"));
    CHECK(warnings.size() == 2);
  });
  CHECK(traces == "");
  // Printed warnings are in the result as well.
  options.print_warnings = true;
  const CapturedStderr captured;
  Warning module;
  module.warns_of_nan = true;
  const levin::RunResult result = levin::Trainer(options).fit(module, data.loader(4));
  CHECK(has(result.warnings, "the loss was NaN"));
  CHECK(contains(captured.text(), "warning: the loss was NaN"));
}

TEST_CASE("errors of an embedded run are exceptions, and nothing else") {
  struct Failing : ToyModule {
    levin::StepOutput training_step(const levin::Batch&, int64_t) override { throw std::runtime_error("no light"); }
  };
  const ToyData data(8);
  levin::TrainerOptions options = levin::TrainerOptions::embedded();
  options.max_steps = 3;
  std::string text;
  const std::string traces = traces_of([&] {
    Failing module;
    text = error_text<std::runtime_error>([&] { levin::Trainer(options).fit(module, data.loader(4)); });
    options.devices = 2;
    options.accelerator = "cpu";
    CHECK(contains(error_text<levin::UsageError>([&] { levin::Trainer trainer(options); }), "trainer.launcher: none"));
  });
  CHECK(text == "no light");
  CHECK(traces == "");
}

TEST_CASE("each option of embedded() can be set by itself, and contradictions are named") {
  levin::TrainerOptions options;
  options.keep_torch_settings = true;
  options.num_threads = 3;
  CHECK(contains(error_text<levin::UsageError>([&] { levin::check_options(options); }),
                 "trainer.keep_torch_settings and trainer.num_threads contradict each other"));
  const levin::TrainerOptions embedded = levin::TrainerOptions::embedded();
  CHECK_NOTHROW(levin::check_options(embedded));
  CHECK_FALSE(levin::resolve(embedded).has_run_folder());
  // A run that keeps the settings leaves those that others set meanwhile.
  const ToyData data(8);
  struct Setting : ToyModule {
    void on_train_start(levin::Run&) override { at::set_num_threads(threads); }
    int threads = 1;
  };
  const int before = at::get_num_threads();
  levin::TrainerOptions short_run = embedded;
  short_run.max_steps = 1;
  Setting module;
  module.threads = before == 1 ? 2 : 1;
  levin::Trainer(short_run).fit(module, data.loader(4));
  CHECK(at::get_num_threads() == module.threads);
  at::set_num_threads(before);
}
