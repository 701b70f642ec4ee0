// The environment variables of launchers.
#include <levin/trainer/launch/environment.h>
#include <levin/trainer/launch/start_identity.h>

#include <map>

#include "tests/catch.h"
#include "tests/error_text.h"

namespace {

using Variables = std::map<std::string, std::string>;

std::optional<levin::LaunchEnvironment> find(const Variables& variables, const std::string& process_manager = {}) {
  const auto get = [&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
  return levin::find_launch_environment(get, process_manager);
}

std::string place(const Variables& variables) {
  const auto found = find(variables);
  if (!found) return "none";
  return c10::str(found->launcher, ": rank ", found->rank, "/", found->world_size, ", local ", found->local_rank, "/",
                  found->local_world_size, ", node ", found->node_rank, "/", found->num_nodes(), ", ",
                  found->master_addr, ":", found->master_port);
}

std::string error_of(const Variables& variables) {
  return error_text<levin::UsageError>([&] { find(variables); });
}

const Variables kTorchrun = {
    {"RANK", "3"},       {"WORLD_SIZE", "4"},      {"LOCAL_RANK", "1"},     {"LOCAL_WORLD_SIZE", "2"},
    {"GROUP_RANK", "1"}, {"MASTER_PORT", "29400"}, {"MASTER_ADDR", "node0"}};

Variables with(Variables variables, const std::string& name, const std::string& value) {
  variables[name] = value;
  return variables;
}

Variables without(Variables variables, const std::string& name) {
  variables.erase(name);
  return variables;
}

}  // namespace

TEST_CASE("each start has its own id, which repeats if the start is repeated") {
  const auto start = [](const Variables& variables, const std::string& command = "fit") {
    return levin::find_start(
        [&](const char* name) -> const char* {
          const auto found = variables.find(name);
          return found == variables.end() ? nullptr : found->second.c_str();
        },
        command, "parent");
  };
  CHECK(start({}).id.empty());
  CHECK(start({}).of_fit(1).empty());
  const Variables job = {{"SLURM_JOB_ID", "7"}, {"SLURM_CLUSTER_NAME", "a"}};
  CHECK(start(with(job, "SLURM_RESTART_COUNT", "2")).id == start(job).id);
  CHECK(start(with(job, "SLURM_RESTART_COUNT", "2")).restarts == 2);
  CHECK(start(with(job, "SLURM_JOB_ID", "8")).id != start(job).id);
  CHECK(start(with(job, "SLURM_CLUSTER_NAME", "b")).id != start(job).id);
  // A script has several commands; a task of an array is queued again under another job's number.
  CHECK(start(job, "fit --seed 2").id != start(job).id);
  CHECK(start(job).of_fit(1) != start(job).of_fit(2));
  const Variables task = {{"SLURM_ARRAY_JOB_ID", "7"}, {"SLURM_ARRAY_TASK_ID", "1"}, {"SLURM_JOB_ID", "9"}};
  CHECK(start(with(task, "SLURM_ARRAY_TASK_ID", "2")).id != start(task).id);
  CHECK(start(with(task, "SLURM_JOB_ID", "12")).id == start(task).id);
  // torchrun calls each run "none" unless the user names it, so that "none" identifies no run.
  const Variables named = with(kTorchrun, "TORCHELASTIC_RUN_ID", "mine");
  CHECK(contains(start(named).id, "mine"));
  CHECK_FALSE(start(named).is_unique);
  const Variables nameless = with(kTorchrun, "TORCHELASTIC_RUN_ID", "none");
  CHECK(contains(start(nameless).id, "parent"));
  CHECK(start(nameless).is_unique);
  CHECK(start(with(nameless, "TORCHELASTIC_RESTART_COUNT", "1")).restarts == 1);
  // levin's supervisor has read the job's number.
  CHECK(start(with(job, levin::kStartVariable, "handed down")).id == "handed down");
}

TEST_CASE("without a launcher there is no environment") {
  CHECK(place({}) == "none");
  CHECK(place({{"PATH", "/bin"}, {"WORLD_SIZE", "2"}}) == "none");
  // A batch script of SLURM is no task.
  CHECK(place({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_JOB_ID", "7"}}) == "none");
}

TEST_CASE("torchrun's variables give rank, node and address") {
  CHECK(place(kTorchrun) == "torchrun: rank 3/4, local 1/2, node 1/2, node0:29400");
  CHECK_FALSE(find(kTorchrun)->store_is_served);
  const auto served =
      find(with(with(kTorchrun, "TORCHELASTIC_USE_AGENT_STORE", "True"), "TORCHELASTIC_RESTART_COUNT", "2"));
  CHECK(served->store_is_served);
  CHECK(served->restarts == 2);
  CHECK(served->key != find(kTorchrun)->key);
  CHECK(find(with(kTorchrun, "LEVIN_SUPERVISOR", "77"))->launcher == "levin");
  CHECK(contains(error_of(without(kTorchrun, "MASTER_ADDR")), "MASTER_ADDR is not set"));
  CHECK(contains(error_of(without(kTorchrun, "MASTER_PORT")), "MASTER_PORT is not set"));
  CHECK(contains(error_of(with(kTorchrun, "RANK", "x")), "RANK: expected a number, got \"x\""));
  CHECK(contains(error_of(with(kTorchrun, "RANK", "4")), "rank 4 of 4"));
  CHECK(contains(error_of(with(kTorchrun, "LOCAL_RANK", "2")), "local rank 2 of 2"));
}

TEST_CASE("mpirun's variables give the rank, before those of the SLURM job that it runs in") {
  const Variables here = {{"OMPI_COMM_WORLD_RANK", "1"},       {"OMPI_COMM_WORLD_SIZE", "2"},
                          {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                          {"PMIX_NAMESPACE", "job.1"},         {"SLURM_PROCID", "0"},
                          {"SLURM_STEP_NUM_TASKS", "1"},       {"SLURM_LOCALID", "0"}};
  const std::string found = place(here);
  CHECK(contains(found, "mpirun: rank 1/2, local 1/2, node 0/1, 127.0.0.1:"));
  CHECK(place(with(here, "OMPI_COMM_WORLD_RANK", "0")).substr(found.rfind(':')) == found.substr(found.rfind(':')));
  CHECK(place(with(here, "PMIX_NAMESPACE", "job.2")) != found);
  const Variables several = with(here, "OMPI_COMM_WORLD_LOCAL_SIZE", "1");
  CHECK(contains(error_of(with(several, "OMPI_COMM_WORLD_LOCAL_RANK", "0")), "mpirun -x MASTER_ADDR=HOST"));
  const Variables reached = with(with(several, "OMPI_COMM_WORLD_LOCAL_RANK", "0"), "OMPI_MCA_orte_hnp_uri",
                                 "123.0;tcp://10.0.0.5,172.17.0.1:4567");
  CHECK(contains(place(reached), "node 1/2, 10.0.0.5:"));
  CHECK(contains(place(with(reached, "MASTER_ADDR", "head")), ", head:"));
}

TEST_CASE("the variables of MPICH's mpirun give the rank, before those of the SLURM job that it runs in") {
  const Variables here = {{"PMI_RANK", "1"},        {"PMI_SIZE", "2"},     {"MPI_LOCALRANKID", "1"},
                          {"MPI_LOCALNRANKS", "2"}, {"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"},
                          {"SLURM_LOCALID", "0"}};
  CHECK(contains(place(here), "mpirun: rank 1/2, local 1/2, node 0/1, 127.0.0.1:"));
  const auto job = [&](const Variables& variables, const std::string& process_manager) {
    const auto found = find(variables, process_manager);
    return found->key + ":" + std::to_string(found->master_port);
  };
  CHECK(job(here, "7") == job(with(here, "PMI_RANK", "0"), "7"));
  CHECK(job(here, "7") != job(here, "8"));
  const Variables several = with(with(here, "MPI_LOCALNRANKS", "1"), "MPI_LOCALRANKID", "0");
  CHECK(contains(error_of(several), "mpirun -genv MASTER_ADDR HOST"));
  // The process managers of several machines are other processes.
  const Variables reached = with(several, "MASTER_ADDR", "head");
  CHECK(contains(place(reached), "node 1/2, head:"));
  CHECK(job(reached, "7") == job(reached, "8"));
  // Other process managers say no local rank, and srun with a PMI of its own is srun.
  const Variables bare = without(without(here, "MPI_LOCALRANKID"), "MPI_LOCALNRANKS");
  CHECK(contains(place(bare), "SLURM: rank 0/1"));
  CHECK(contains(place(without(bare, "SLURM_PROCID")), "mpirun: rank 1/2, local 1/2"));
  CHECK(contains(error_of(with(here, "PMI_RANK", "2")), "rank 2 of 2"));
}

TEST_CASE("srun's variables give rank, node and address") {
  const Variables task = {{"SLURM_PROCID", "5"},
                          {"SLURM_STEP_NUM_TASKS", "7"},
                          {"SLURM_LOCALID", "1"},
                          {"SLURM_NODEID", "2"},
                          {"SLURM_STEP_TASKS_PER_NODE", "2(x3),1"},
                          {"SLURM_STEP_NODELIST", "gpu[08-10],head"},
                          {"SLURM_JOB_ID", "42"},
                          {"SLURM_STEP_ID", "0"}};
  CHECK(contains(place(task), "SLURM: rank 5/7, local 1/2, node 2/4, gpu08:"));
  CHECK(find(task)->master_port == find(with(task, "SLURM_PROCID", "0"))->master_port);
  CHECK(find(task)->master_port != find(with(task, "SLURM_STEP_ID", "1"))->master_port);
  CHECK(contains(place(with(task, "MASTER_PORT", "1234")), "gpu08:1234"));
  CHECK(contains(error_of(without(task, "SLURM_LOCALID")), "SLURM_LOCALID is not set"));
}

TEST_CASE("LSF's variables give rank, node and address") {
  CHECK(contains(place({{"LSB_JOBID", "9"},
                        {"JSM_NAMESPACE_RANK", "1"},
                        {"JSM_NAMESPACE_SIZE", "4"},
                        {"JSM_NAMESPACE_LOCAL_RANK", "1"},
                        {"JSM_NAMESPACE_LOCAL_SIZE", "4"}}),
                 "LSF: rank 1/4, local 1/4, node 0/1, 127.0.0.1:"));
}

TEST_CASE("lists of hosts are expanded, and wrong ones refused") {
  const auto expanded = [](const std::string& list) {
    std::string all;
    for (const std::string& host : levin::expand_host_list(list)) all += (all.empty() ? "" : " ") + host;
    return all;
  };
  CHECK(expanded("node1") == "node1");
  CHECK(expanded("node[01-03,7],gpu5") == "node01 node02 node03 node7 gpu5");
  CHECK(expanded("r[1-2]n[1-2]") == "r1n1 r2n1 r1n2 r2n2");
  CHECK(expanded("n[9-11]-ib") == "n9-ib n10-ib n11-ib");
  CHECK(expanded("n[098-101]") == "n098 n099 n100 n101");
  for (const char* wrong : {"", "a,", "n[", "n[1", "n[3-1]", "n[a]", "n[1-]", ",a", "n[1-999999999]", "n]1["}) {
    INFO(wrong);
    CHECK(contains(error_text<levin::UsageError>([&] { levin::expand_host_list(wrong); }), "is no list of hosts"));
  }
}
