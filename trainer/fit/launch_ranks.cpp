#include <levin/trainer/fit/launch_ranks.h>
#include <levin/core/ranks/gather_states.h>
#include <levin/core/ranks/host_address.h>
#include <levin/core/state/crc32.h>
#include <levin/core/state/file_bytes.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/core/system/private_folder.h>
#include <levin/core/system/signals.h>
#include <levin/trainer/launch/supervisor.h>
#include <levin/trainer/run/run_context.h>
#include <signal.h>
#include <torch/version.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>

namespace levin {
namespace {

/// The settings that the user must give if several machines train together without a launcher.
struct Machine {
  std::string master_addr = "127.0.0.1";
  int64_t master_port = 0, node_rank = 0;
};

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int64_t number_in(const char* name) {
  const std::string text = variable(name);
  if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos || text.size() > 9)
    throw UsageError("the environment's ", name, ": expected a number, got \"", text, "\"");
  return std::stoll(text);
}

std::chrono::milliseconds timeout_of(const ResolvedOptions& options) {
  return std::chrono::milliseconds(static_cast<int64_t>(options->timeout_seconds * 1000));
}

Machine this_machine(int64_t num_nodes, std::chrono::milliseconds timeout) {
  Machine machine;
  if (!variable("MASTER_PORT").empty()) machine.master_port = number_in("MASTER_PORT");
  if (num_nodes == 1) return machine;
  for (const char* name : {"MASTER_ADDR", "MASTER_PORT", "NODE_RANK"})
    if (variable(name).empty())
      throw UsageError("trainer.num_nodes: ", num_nodes,
                       " machines, and no launcher has started this process; start it "
                       "with torchrun, srun or mpirun, or on each machine with MASTER_ADDR, MASTER_PORT and NODE_RANK "
                       "in the environment (",
                       name, " is not set)");
  machine.master_addr = variable("MASTER_ADDR");
  check_resolvable(machine.master_addr, "MASTER_ADDR", timeout);
  machine.node_rank = number_in("NODE_RANK");
  if (machine.node_rank >= num_nodes)
    throw UsageError("the environment's NODE_RANK is ", machine.node_rank, ", and trainer.num_nodes ", num_nodes);
  return machine;
}

/// Returns the folder for the output of the ranks; empty if the run writes no files.
std::filesystem::path log_folder_of(const ResolvedOptions& options) {
  if (!options.has_run_folder()) return {};
  return options.runs_folder() / ("ranks_of_process_" + std::to_string(::getpid()));
}

/// Returns a text that differs between builds of the program.
std::string describe_program() {
  const FileBytes file = map_file_bytes("/proc/self/exe");
  return c10::str("LibTorch ", TORCH_VERSION, ", ", file.size, " bytes with the checksum ", std::hex,
                  crc32_of(file.text()));
}

/// Throws if the ranks run different builds, whose collectives would not match.
void check_same_program(Comm& comm) {
  static const std::string own = describe_program();
  const std::string first = broadcast_text(own, comm);
  if (first != own)
    throw UsageError("rank ", comm.rank(), " runs another program than rank 0 (", own, ", not ", first,
                     "); copy the same build to all machines");
}

}  // namespace

std::optional<int> launch_ranks(const ResolvedOptions& options, const Placement& placement) {
  if (!placement.needs_supervisor()) return {};
  const auto ranks = static_cast<int64_t>(placement.devices.size());
  if (options->launcher == Launcher::None) refuse_missing_ranks(options, placement);
  const Machine machine = this_machine(placement.num_nodes, timeout_of(options));
  const std::string secret = variable("LEVIN_SECRET");
  if (placement.num_nodes > 1 && secret.empty() && machine.node_rank == 0)
    console::info(c10::str("whoever reaches port ", machine.master_port,
                           " of this machine can take part in the run; LEVIN_SECRET, the same text in the environment "
                           "of all machines, turns others away"));
  std::filesystem::path logs = log_folder_of(options);
  // Without a run folder the output is gone with the run, except for the last lines of a rank that failed.
  std::optional<PrivateFolder> temporary;
  if (logs.empty()) logs = temporary.emplace("ranks").path();
  if (!options->quiet)
    console::info(c10::str("starts ", ranks, " ranks (", placement.strategy.why,
                           "); the output of all but the first is in ", logs.string(),
                           temporary ? " until the run ends, since it has no folder" : ""));
  return supervise({.ranks = ranks,
                    .node_rank = machine.node_rank,
                    .num_nodes = placement.num_nodes,
                    .master_addr = machine.master_addr,
                    .master_port = machine.master_port,
                    .secret = secret,
                    .max_restarts = options->max_restarts,
                    .log_folder = logs,
                    .keeps_logs = !temporary});
}

void refuse_missing_ranks(const ResolvedOptions& options, const Placement& placement) {
  if (!placement.needs_supervisor()) return;
  const bool by_others = options->launcher == Launcher::None;
  throw UsageError(
      by_others ? "trainer.launcher: none, and " : "trainer.strategy: ", placement.strategy.name, " (",
      placement.strategy.why, ") needs ", static_cast<int64_t>(placement.devices.size()) * placement.num_nodes,
      " ranks; ",
      by_others ? "" : "call levin::launch(options) at the beginning of main, before the Trainer is made, or ",
      "start them with torchrun, srun or mpirun");
}

std::shared_ptr<ProcessGroup> join_ranks(const Placement& placement, const ResolvedOptions& options) {
  if (placement.is_dry_run)
    return ProcessGroup::of_absent_ranks(placement.environment->world_size, placement.devices.front());
  static std::mutex mutex;
  struct Shared {
    std::weak_ptr<ProcessGroup> group = {};
    int64_t starts = 0;
  };
  static std::map<std::string, Shared> groups;  // by what the ranks meet by: a host may have several communicators
  const std::lock_guard lock(mutex);
  auto& [shared, starts] = groups[placement.environment ? placement.environment->key : ""];
  if (std::shared_ptr<ProcessGroup> group = shared.lock()) return group;
  if (!variable("LEVIN_SUPERVISOR").empty()) write_stack_on(SIGQUIT);
  const std::string start = std::to_string(starts++);
  const Rendezvous alone{.master_port = 0, .hosts_store = true, .key = start};
  auto group =
      std::make_shared<ProcessGroup>(placement.environment ? rendezvous_of(*placement.environment, start) : alone,
                                     placement.devices.front(), timeout_of(options), options->process_group_backend);
  shared = group;
  return group;
}

void check_same_run(const RunContext& run) {
  Comm& comm = run.parts.comm();
  if (comm.processes() == 1) return;
  check_same_program(comm);
  const std::string& own = run.state.config.json;
  const std::string first = broadcast_text(own, comm);
  const std::string digest = broadcast_text(run.state.config.digest, comm);
  if (first == own && digest == run.state.config.digest) return;
  if (first == own)
    throw UsageError("rank ", comm.rank(),
                     " has other values in the environment for the config's ${env:...} than rank 0; start all ranks "
                     "with the same environment");
  const auto differs = std::mismatch(first.begin(), first.end(), own.begin(), own.end());
  const auto line = [](const std::string& text, size_t at) {
    const size_t begin = text.rfind('\n', at);
    const size_t from = begin == std::string::npos ? 0 : begin + 1;
    const size_t trimmed = text.find_first_not_of(' ', from);
    return text.substr(trimmed, text.find('\n', at) - trimmed);
  };
  throw UsageError("rank ", comm.rank(), " was started with another config than rank 0: ",
                   line(own, static_cast<size_t>(differs.second - own.begin())), " in place of ",
                   line(first, static_cast<size_t>(differs.first - first.begin())),
                   "; start all ranks with the same options");
}

std::string describe_position(const TrainerState& counters) {
  return c10::str(" (in step ", counters.global_step + 1, ", batch ", counters.batch_in_epoch, " of epoch ",
                  counters.epoch, counters.batch_phase == BatchPhase::Validating ? ", in validation" : "", ")");
}

void write_newest_calls(const ProcessGroup& ranks, const std::filesystem::path& folder) {
  if (folder.empty()) return;
  std::ofstream out(folder / ("calls_of_rank_" + std::to_string(ranks.rank()) + ".txt"));
  out << ranks.newest_calls();
}

}  // namespace levin
