#include <levin/trainer/launch/environment.h>
#include <levin/core/system/error.h>
#include <levin/trainer/launch/process_manager.h>

#include <charconv>
#include <cstdlib>
#include <fstream>
#include <string_view>

namespace levin {
namespace {

// Ports from 10000 to 29999: below are those of services, above the ephemeral ports (from 32768 on Linux).
constexpr int64_t kFirstPort = 10000, kPorts = 20000;

/// Reads environment variables and throws UsageError for wrong values.
class Variables {
 public:
  Variables(const GetEnv& get_env, const std::string& process_manager)
      : get_env_(get_env), process_manager_(process_manager) {}

  const std::string& process_manager() const { return process_manager_; }

  bool has(const char* name) const { return !text(name).empty(); }
  /// Returns the value; empty if unset.
  std::string text(const char* name) const {
    const char* value = get_env_(name);
    return value == nullptr ? "" : value;
  }
  std::optional<int64_t> number(const char* name) const {
    const std::string value = text(name);
    if (value.empty()) return {};
    int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || end != value.data() + value.size() || number < 0)
      throw UsageError("the environment's ", name, ": expected a number, got \"", value, "\"");
    return number;
  }
  int64_t needed(const char* name, const char* launcher) const {
    const std::optional<int64_t> value = number(name);
    if (!value)
      throw UsageError("the environment is that of ", launcher, ", but ", name,
                       " is not set; set it, or unset the rest");
    return *value;
  }

 private:
  const GetEnv& get_env_;
  const std::string& process_manager_;
};

/// Returns a port derived from the job's name, the same on all its ranks.
int64_t port_of(std::string_view job) {
  uint64_t hash = 14695981039346656037U;  // FNV-1a
  for (const char c : job) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return kFirstPort + static_cast<int64_t>(hash % static_cast<uint64_t>(kPorts));
}

void check(const LaunchEnvironment& found) {
  if (found.world_size < 1 || found.rank >= found.world_size)
    throw UsageError("the environment of ", found.launcher, " says rank ", found.rank, " of ", found.world_size);
  if (found.local_world_size < 1 || found.local_rank >= found.local_world_size)
    throw UsageError("the environment of ", found.launcher, " says local rank ", found.local_rank, " of ",
                     found.local_world_size, " on this machine");
}

/// Applies MASTER_ADDR and MASTER_PORT, if they are set.
void take_master(const Variables& variables, LaunchEnvironment& found) {
  if (variables.has("MASTER_ADDR")) found.master_addr = variables.text("MASTER_ADDR");
  if (const auto port = variables.number("MASTER_PORT")) found.master_port = *port;
}

/// Source: https://pytorch.org/docs/stable/elastic/run.html#environment-variables
std::optional<LaunchEnvironment> of_torchrun(const Variables& variables) {
  if (!variables.has("RANK") || !variables.has("WORLD_SIZE")) return {};
  LaunchEnvironment found;
  found.launcher = variables.has("LEVIN_SUPERVISOR") ? "levin" : "torchrun";
  const char* const launcher = found.launcher.c_str();
  found.rank = variables.needed("RANK", launcher);
  found.world_size = variables.needed("WORLD_SIZE", launcher);
  found.local_rank = variables.number("LOCAL_RANK").value_or(found.rank);
  found.local_world_size = variables.number("LOCAL_WORLD_SIZE").value_or(found.world_size);
  found.node_rank = variables.number("GROUP_RANK").value_or(found.rank / std::max<int64_t>(1, found.local_world_size));
  if (found.world_size > 1 && !variables.has("MASTER_ADDR"))
    throw UsageError("the environment says RANK and WORLD_SIZE, but MASTER_ADDR is not set: the host of rank 0");
  if (found.world_size > 1) variables.needed("MASTER_PORT", launcher);
  take_master(variables, found);
  found.store_is_served = variables.text("TORCHELASTIC_USE_AGENT_STORE") == "True";
  found.restarts = variables.number("TORCHELASTIC_RESTART_COUNT").value_or(0);
  found.key = variables.text("TORCHELASTIC_RUN_ID") + "/" + variables.text("TORCHELASTIC_RESTART_COUNT");
  return found;
}

/// Returns the host of mpirun, from the address that its ranks connect to: "123.0;tcp://10.0.0.1,172.17.0.1:4567".
std::string host_of_mpirun(const Variables& variables) {
  for (const char* name : {"OMPI_MCA_orte_hnp_uri", "PMIX_SERVER_URI41", "PMIX_SERVER_URI4"}) {
    const std::string uri = variables.text(name);
    const size_t begin = uri.find("tcp://");
    if (begin == std::string::npos) continue;
    return uri.substr(begin + 6, uri.find_first_of(",:", begin + 6) - begin - 6);
  }
  return {};
}

void require_master_addr(const LaunchEnvironment& found, const char* flags) {
  if (found.master_addr.empty())
    throw UsageError(
        "mpirun started ranks on several machines, and which is rank 0's cannot be derived; pass it with mpirun ",
        flags);
}

/// Source: https://docs.open-mpi.org/en/main/tuning-apps/environment-var.html
std::optional<LaunchEnvironment> of_mpirun(const Variables& variables) {
  if (!variables.has("OMPI_COMM_WORLD_RANK")) return {};
  LaunchEnvironment found;
  found.launcher = "mpirun";
  found.rank = variables.needed("OMPI_COMM_WORLD_RANK", "mpirun");
  found.world_size = variables.needed("OMPI_COMM_WORLD_SIZE", "mpirun");
  found.local_rank = variables.needed("OMPI_COMM_WORLD_LOCAL_RANK", "mpirun");
  found.local_world_size = variables.needed("OMPI_COMM_WORLD_LOCAL_SIZE", "mpirun");
  found.node_rank = found.rank / std::max<int64_t>(1, found.local_world_size);
  const bool one_machine = found.local_world_size == found.world_size;
  found.master_addr = one_machine ? "127.0.0.1" : host_of_mpirun(variables);
  for (const char* name : {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "OMPI_MCA_orte_ess_jobid"})
    if (found.master_port == 0 && variables.has(name)) found.master_port = port_of(variables.text(name));
  take_master(variables, found);
  require_master_addr(found, "-x MASTER_ADDR=HOST -x MASTER_PORT=PORT");
  if (found.master_port == 0) found.master_port = port_of("mpirun");
  return found;
}

/// For MPICH's mpirun (seen with 4.0.2), and others whose process manager is hydra, as Intel MPI's. The variables name
/// neither the machines nor the job.
std::optional<LaunchEnvironment> of_hydra(const Variables& variables) {
  if (!variables.has("PMI_RANK") || !variables.has("PMI_SIZE")) return {};
  if (!variables.has("MPI_LOCALRANKID") && variables.has("SLURM_PROCID")) return {};  // srun has its own PMI
  LaunchEnvironment found;
  found.launcher = "mpirun";
  found.rank = variables.needed("PMI_RANK", "mpirun");
  found.world_size = variables.needed("PMI_SIZE", "mpirun");
  found.local_rank = variables.number("MPI_LOCALRANKID").value_or(found.rank);
  found.local_world_size = variables.number("MPI_LOCALNRANKS").value_or(found.world_size);
  found.node_rank = found.rank / std::max<int64_t>(1, found.local_world_size);
  if (found.local_world_size == found.world_size) {
    found.master_addr = "127.0.0.1";
    found.key = variables.process_manager();
  }
  found.master_port = port_of("mpirun" + found.key);
  take_master(variables, found);
  require_master_addr(found, "-genv MASTER_ADDR HOST -genv MASTER_PORT PORT");
  return found;
}

/// Returns the number of tasks on node `node`. "2(x3),1" means two on each of the first three nodes and one on the
/// fourth.
int64_t tasks_of_node(const std::string& per_node, int64_t node) {
  std::string_view rest = per_node;
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    const std::string part(rest.substr(0, comma));
    const size_t times = part.find("(x");
    const int64_t nodes = times == std::string::npos ? 1 : std::atoll(part.c_str() + times + 2);
    if (node < nodes) return std::atoll(part.c_str());
    node -= nodes;
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  return 0;
}

/// For a process that srun started as a task of a step. A batch script is not such a task.
/// Source: https://slurm.schedmd.com/srun.html, output environment variables
std::optional<LaunchEnvironment> of_srun(const Variables& variables) {
  if (!variables.has("SLURM_PROCID") || !variables.has("SLURM_STEP_NUM_TASKS")) return {};
  LaunchEnvironment found;
  found.launcher = "SLURM";
  found.rank = variables.needed("SLURM_PROCID", "srun");
  found.world_size = variables.needed("SLURM_STEP_NUM_TASKS", "srun");
  found.local_rank = variables.needed("SLURM_LOCALID", "srun");
  found.node_rank = variables.number("SLURM_NODEID").value_or(0);
  found.local_world_size = tasks_of_node(variables.text("SLURM_STEP_TASKS_PER_NODE"), found.node_rank);
  if (found.local_world_size == 0) found.local_world_size = found.world_size;
  std::string hosts = variables.text("SLURM_STEP_NODELIST");
  if (hosts.empty()) hosts = variables.text("SLURM_JOB_NODELIST");
  const bool one_machine = found.local_world_size == found.world_size;
  found.master_addr = one_machine || hosts.empty() ? "127.0.0.1" : expand_host_list(hosts).front();
  found.key = variables.text("SLURM_JOB_ID") + "." + variables.text("SLURM_STEP_ID");
  found.master_port = port_of(found.key);
  take_master(variables, found);
  return found;
}

/// Source: https://www.ibm.com/docs/en/spectrum-lsf, environment variables of jobs and of jsrun
std::optional<LaunchEnvironment> of_lsf(const Variables& variables) {
  if (!variables.has("LSB_JOBID") || !variables.has("JSM_NAMESPACE_RANK")) return {};
  LaunchEnvironment found;
  found.launcher = "LSF";
  found.rank = variables.needed("JSM_NAMESPACE_RANK", "LSF");
  found.world_size = variables.needed("JSM_NAMESPACE_SIZE", "LSF");
  found.local_rank = variables.needed("JSM_NAMESPACE_LOCAL_RANK", "LSF");
  found.local_world_size = variables.number("JSM_NAMESPACE_LOCAL_SIZE").value_or(found.world_size);
  found.node_rank = found.rank / std::max<int64_t>(1, found.local_world_size);
  found.key = variables.text("LSB_JOBID");
  found.master_port = port_of(found.key);
  found.master_addr = "127.0.0.1";
  // One line per slot. The first is the machine from which the job was launched, which runs no rank.
  if (const std::string file = variables.text("LSB_DJOB_RANKFILE"); !file.empty()) {
    std::ifstream lines(file);
    std::string launch_host, host;
    if (!std::getline(lines, launch_host))
      throw UsageError("LSB_DJOB_RANKFILE: ", file, " cannot be read, and says where rank 0 is; set MASTER_ADDR");
    while (std::getline(lines, host) && host == launch_host) continue;
    found.master_addr = host.empty() ? launch_host : host;
  }
  take_master(variables, found);
  return found;
}

}  // namespace

std::optional<LaunchEnvironment> find_launch_environment(const GetEnv& get_env, const std::string& process_manager) {
  const Variables variables(get_env, process_manager);
  for (const auto find : {of_torchrun, of_mpirun, of_hydra, of_srun, of_lsf})
    if (std::optional<LaunchEnvironment> found = find(variables)) {
      check(*found);
      found->secret = variables.text("LEVIN_SECRET");
      return found;
    }
  return {};
}

Rendezvous rendezvous_of(const LaunchEnvironment& environment, const std::string& again) {
  const bool several_machines = environment.local_world_size != environment.world_size;
  // torchrun's store is c10d's TCPStore, which has no secret.
  const bool by_torchrun =
      environment.store_is_served && environment.launcher != "levin" && environment.launcher != kHostAsLauncher;
  return {.rank = environment.rank,
          .world_size = environment.world_size,
          .master_addr = several_machines || by_torchrun ? environment.master_addr : "127.0.0.1",
          .master_port = environment.master_port,
          .hosts_store = environment.rank == 0 && !environment.store_is_served,
          .key = environment.key + "/" + again,
          .several_machines = several_machines,
          .secret = several_machines && !by_torchrun ? environment.secret : ""};
}

std::optional<LaunchEnvironment> find_launch_environment() {
  return find_launch_environment([](const char* name) { return std::getenv(name); },
                                 std::getenv("PMI_RANK") == nullptr ? "" : process_manager());
}

}  // namespace levin
