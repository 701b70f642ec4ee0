// The program of trainings drawn from the schema: `levin`'s commands with odd_parts.cpp, and
//
//   session CONFIG [CKPT]    the config's fit by steps of a session, with the batches of the data
//   host CONFIG              the same, with a loss that the host computes
//   forks                    reads commands from standard input and runs each in a child process (`run_forks`)
//   again CONFIG             a fit that ThrowAt of the config ends, and then a second fit of the same module without
//                            ThrowAt: exits with 3 if it ends otherwise than that of a new module with its weights
#include <levin/levin.h>
#include <levin/program/cli/command_line.h>
#include <levin/program/config/run_options.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

#include "tests/trainer/pairs/odd_parts.h"

namespace {

/// The parts that a config names.
struct Made {
  explicit Made(const std::string& file)
      : options(levin::cli::read_run_options(
            levin::cli::read_command_line(levin::schema_of<levin::cli::RunOptions>(), "fit", {"--config", file})
                .config)) {
    if (options.trainer.seed) torch::manual_seed(static_cast<uint64_t>(*options.trainer.seed));
    module = options.model.make("model");
    data = options.data.make("data");
  }
  levin::cli::RunOptions options;
  std::shared_ptr<levin::LightningModule> module;
  std::shared_ptr<levin::data::DataModule> data;
};

/// Returns the ranks that divide the data among each other.
int64_t data_parallel_ranks(const levin::TrainerOptions& options) {
  const char* const ranks = std::getenv("WORLD_SIZE");
  return ranks != nullptr ? std::stoll(ranks) / options.mesh.tensor : 1;
}

int run_session(const std::string& file, const std::string& ckpt_path, bool host_computes) {
  Made made(file);
  if (const auto code = levin::launch(made.options.trainer)) return *code;
  const levin::data::Loaders measured = made.data->train_dataloader();
  for (const auto& loader : measured) loader->shard(0, data_parallel_ranks(made.options.trainer));
  levin::Trainer trainer(made.options.trainer);
  const std::optional<int64_t> size = measured.size() == 1 ? measured[0].size() : std::nullopt;
  levin::Session session = trainer.start(
      made.module, {.ckpt_path = ckpt_path,
                    .batches_per_epoch =
                        size ? std::optional(trainer.options()->limit_train_batches.of(*size, "limit_train_batches"))
                             : std::nullopt});
  levin::SessionLoader batches = session.loader(made.data->train_dataloader());
  const bool validates = !trainer.options()->limit_val_batches.is_none() && made.data->val_dataloader().size() != 0;
  int64_t number = 0;
  while (session.next()) {
    levin::StepResult done;
    if (host_computes) {
      levin::data::LoadedBatch loaded = batches.next();
      done = session.step([&] { return pairs::host_loss(session.module(), loaded.batch, number); });
      done.ended_epoch = loaded.last;
      if (loaded.last) session.end_epoch();
      number = loaded.last ? 0 : number + 1;
    } else {
      done = session.step(batches.next());
    }
    if (done.ended_epoch && validates) session.validate(made.data->val_dataloader());
  }
  session.finish();
  return 0;
}

/// Returns the names of the weights in which two modules differ.
std::string different_weights(const torch::nn::Module& a, const torch::nn::Module& b) {
  std::string names;
  const auto compare = [&](const auto& one, const auto& other) {
    for (const auto& item : one)
      if (!at::allclose(item.value(), other[item.key()], /*rtol=*/0, /*atol=*/0, /*equal_nan=*/true))
        names += " " + item.key();
  };
  compare(a.named_parameters(), b.named_parameters());
  compare(a.named_buffers(), b.named_buffers());
  return names;
}

/// Gives a module another one's weights, in their dtypes.
void copy_weights(torch::nn::Module& to, const torch::nn::Module& from) {
  for (auto& item : to.named_parameters()) item.value().set_data(from.named_parameters()[item.key()].detach().clone());
  for (auto& item : to.named_buffers()) item.value().set_data(from.named_buffers()[item.key()].clone());
}

int fit_again(const std::string& file) {
  Made made(file);
  std::string thrown;
  try {
    levin::Trainer(made.options.trainer).fit(made.module, made.data);
  } catch (const levin::UsageError&) {
    throw;
  } catch (const std::exception& error) {
    thrown = error.what();
  }
  if (thrown.find("thrown by ThrowAt") == std::string::npos) {
    std::cout << "the hook was not called, or its exception is lost: " << thrown << "\n";
    return thrown.empty() ? 0 : 3;
  }
  Made second(file), fresh(file);
  copy_weights(*fresh.module, *made.module);
  for (Made* const one : {&second, &fresh})
    std::erase_if(one->options.trainer.callbacks, [](const levin::CallbackEntry& entry) {
      return entry.callback->state_key().find("ThrowAt") != std::string::npos;
    });
  second.options.trainer.name = "second";
  fresh.options.trainer.name = "fresh";
  levin::Trainer(second.options.trainer).fit(made.module, second.data);
  levin::Trainer(fresh.options.trainer).fit(fresh.module, fresh.data);
  const std::string names = different_weights(*made.module, *fresh.module);
  if (!names.empty()) std::cout << "the second fit differs from that of a new module in" << names << "\n";
  return names.empty() ? 0 : 3;
}

int run(int argc, char** argv) try {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() >= 2 && (words[0] == "session" || words[0] == "host"))
    return run_session(words[1], words.size() > 2 ? words[2] : "", words[0] == "host");
  if (words.size() == 2 && words[0] == "again") return fit_again(words[1]);
  return levin::cli::main(argc, argv);
} catch (const levin::UsageError& error) {
  std::cerr << "error: " << error.what() << std::endl;
  return 2;
} catch (const std::exception& error) {
  std::cerr << "error: " << error.what() << std::endl;
  return 1;
}

/// Runs a command in this process, which is a child of `run_forks`.
[[noreturn]] void run_child(const nlohmann::json& command) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int input = ::open("/dev/null", O_RDONLY), output = ::creat(command["output"].get<std::string>().c_str(), 0644);
  if (::chdir(command["folder"].get<std::string>().c_str()) != 0 || input < 0 || output < 0) std::abort();
  ::dup2(input, STDIN_FILENO);
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) ::dup2(output, stream);
  auto words = command["words"].get<std::vector<std::string>>();
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  std::exit(run(static_cast<int>(pointers.size()), pointers.data()));
}

/// Reads commands from standard input, each a line {"folder", "output", "words"}, and runs them in child processes,
/// which need not load the libraries again. Prints "ready", and then each exit code, or minus the signal.
int run_forks() {
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    const pid_t child = ::fork();
    if (child == 0) run_child(nlohmann::json::parse(line));
    int status = 0;
    ::waitpid(child, &status, 0);
    std::cout << (WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status)) << std::endl;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return argc == 2 && argv[1] == std::string("forks") ? run_forks() : run(argc, argv); }
