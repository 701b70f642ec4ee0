// Trains a tiny module with every logger on, and prints what each tenth of the run took: memory, and the instructions
// (or, where the kernel does not count them, CPU seconds) of the training thread. usage: logger_soak FOLDER STEPS
// MLFLOW_URI WEBHOOK_URL
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "tests/small_modules.h"

namespace {

/// Counts the instructions of this thread in user space.
class Instructions {
 public:
  Instructions() {
    perf_event_attr what = {};
    what.type = PERF_TYPE_HARDWARE;
    what.size = sizeof what;
    what.config = PERF_COUNT_HW_INSTRUCTIONS;
    what.exclude_kernel = what.exclude_hv = 1;
    file_ = static_cast<int>(::syscall(SYS_perf_event_open, &what, 0, -1, -1, 0));
  }
  ~Instructions() {
    if (file_ >= 0) ::close(file_);
  }
  Instructions(const Instructions&) = delete;
  Instructions& operator=(const Instructions&) = delete;
  const char* unit() const { return file_ >= 0 ? "instructions" : "CPU seconds"; }
  double now() const {
    uint64_t count = 0;
    if (file_ >= 0 && ::read(file_, &count, sizeof count) == sizeof count) return static_cast<double>(count);
    timespec time = {};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }

 private:
  int file_ = -1;
};

int64_t resident_kb() {
  std::ifstream file("/proc/self/statm");
  int64_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * ::sysconf(_SC_PAGESIZE) / 1024;
}

/// Measures at the end of each tenth.
struct Tenths : levin::Callback {
  explicit Tenths(int64_t all_steps) : steps(all_steps) {}
  void on_fit_start(levin::Run&) override {
    counter = std::make_shared<Instructions>();
    before = counter->now();
  }
  void on_train_batch_end(levin::Run& run) override {
    const int64_t step = run.state().global_step;
    if (step % (steps / 10) != 0) return;
    const double now = counter->now();
    cost.push_back(now - before);
    memory.push_back(resident_kb());
    before = counter->now();
  }
  int64_t steps;
  std::shared_ptr<Instructions> counter = {};
  double before = 0;
  std::vector<double> cost = {};
  std::vector<int64_t> memory = {};
};

}  // namespace

int main(int, char** arguments) {
  const int64_t steps = std::stoll(arguments[2]);
  const auto tenths = std::make_shared<Tenths>(steps);
  levin::Trainer trainer(
      {.logger = levin::LoggerChoice::Parts{{"CSVLogger"},
                                            {"JSONLinesLogger"},
                                            {"TensorBoardLogger", levin::TensorBoardLoggerOptions{.log_graph = true}},
                                            {"MLflowLogger", levin::MLflowLoggerOptions{.tracking_uri = arguments[3]}},
                                            {"WandbLogger"},
                                            {"WebhookLogger", levin::WebhookLoggerOptions{.url = arguments[4],
                                                                                          .monitor = "train_loss"}}},
       .callbacks = {tenths},
       .max_epochs = -1,
       .max_steps = steps,
       .log_every_n_steps = 10,
       .enable_checkpointing = false,
       .enable_progress_bar = false,
       .enable_model_summary = false,
       .default_root_dir = arguments[1],
       .name = "soak",
       .num_threads = 1});
  ToyModule module(torch::nn::Sequential(torch::nn::Linear(4, 1)));
  const levin::RunResult result = trainer.fit(module, ToyData(4000).loader(4));
  std::cout << nlohmann::json{{"steps", result.global_step},
                              {"folder", result.folder.string()},
                              {"unit", tenths->counter->unit()},
                              {"cost", tenths->cost},
                              {"memory_kb", tenths->memory}}
            << std::endl;
}
