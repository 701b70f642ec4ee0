#include <levin/core/ranks/secret.h>
#include <levin/core/system/error.h>
#include <levin/core/system/private_folder.h>
#include <levin/program/cli/shell_word.h>
#include <levin/program/commands/commands.h>
#include <levin/program/commands/run_module.h>
#include <levin/trainer/launch/supervisor.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <sstream>

namespace levin::cli {
namespace {

struct LaunchFlags {
  std::string hosts = LEVIN_OPTION(
      hosts, "", "The machines; on the first the ranks meet. Checkout, data and program lie at the same paths on all");
  int64_t port = LEVIN_OPTION(port, 29500, "Where they meet", {.min = 1, .max = 65535});
  std::string ssh = LEVIN_OPTION(ssh, "ssh", "How a machine is reached");
  bool run =
      LEVIN_OPTION(run, false, "Run the commands and watch them; without it they are printed, one for each machine");
};

std::vector<std::string> split_hosts(const std::string& list) {
  std::vector<std::string> hosts;
  std::istringstream in(list);
  for (std::string host; std::getline(in, host, ',');) {
    if (host.empty() || host[0] == '-' || host.find_first_of(" '\"") != std::string::npos)
      throw UsageError("--hosts: \"", host, "\" is no name of a machine");
    hosts.push_back(host);
  }
  if (hosts.empty()) throw UsageError("--hosts: expected names of machines, with commas between them");
  return hosts;
}

/// Returns the address of the first machine for the others: ssh's "user@host" without the user.
std::string address_of(const std::string& host) { return host.substr(host.find('@') + 1); }

/// Returns the command for machine `node`. It first reads the secret from `secret_file`, if any, and removes the file.
std::string command_on(size_t node, const std::vector<std::string>& hosts, int64_t port,
                       const std::vector<std::string>& run, const std::string& secret_file) {
  std::string command = "cd " + shell_word(std::filesystem::current_path().string()) + " && ";
  if (!secret_file.empty())
    command += "LEVIN_SECRET=$(cat " + secret_file + ") && export LEVIN_SECRET && rm -f " + secret_file + " && ";
  command += "exec env MASTER_ADDR=" + address_of(hosts.front()) + " MASTER_PORT=" + std::to_string(port) +
             " NODE_RANK=" + std::to_string(node) + " " +
             shell_word(std::filesystem::read_symlink("/proc/self/exe").string());
  for (const std::string& word : run) command += " " + shell_word(word);
  command += " --num-nodes " + std::to_string(hosts.size());
  return secret_file.empty() ? command : "exec /bin/sh -c " + shell_word(command);
}

/// Returns a command that copies the secret to a machine and then starts `command` there. Other users can see process
/// arguments, so the secret goes through standard input into a private file.
std::string run_on(const std::string& host, const std::string& ssh, const std::string& command,
                   const std::string& secret_file) {
  const std::string write = shell_word("umask 077 && cat > " + secret_file);
  // With a terminal, the remote command ends with the connection.
  return "printf '%s\\n' \"$LEVIN_SECRET\" | " + ssh + " " + host + " " + write + " && exec " + ssh + " -tt " + host +
         " " + shell_word(command);
}

int run_launch(const LaunchFlags& flags, const Words& run) {
  if (flags.hosts.empty()) throw UsageError("levin launch: --hosts is missing; name the machines: --hosts a,b,c");
  if (run.empty())
    throw UsageError("levin launch: what to run is missing: fit, validate, test or predict, with its flags");
  if (!is_run_command(run[0])) throw UsageError("levin launch: expected fit, validate, test or predict, got ", run[0]);
  for (const std::string& word : run)
    if (word.rfind("--num-nodes", 0) == 0 || word.rfind("--nb-gpu-nodes", 0) == 0)
      throw UsageError("levin launch: ", word, ": the number of machines is that of --hosts");
  const std::vector<std::string> hosts = split_hosts(flags.hosts);
  SupervisedRun nodes{.ranks = static_cast<int64_t>(hosts.size()), .called = "node"};
  if (!flags.run) {
    for (size_t node = 0; node < hosts.size(); ++node)
      std::cout << flags.ssh << " " << hosts[node] << " " << shell_word(command_on(node, hosts, flags.port, run, ""))
                << "\n";
    return 0;
  }
  const char* const given = std::getenv("LEVIN_SECRET");
  nodes.secret = given != nullptr && *given != '\0' ? given : make_secret();
  const std::string files = "~/.levin_secret_" + make_secret().substr(0, 16) + "_";
  for (size_t node = 0; node < hosts.size(); ++node) {
    const std::string file = files + std::to_string(node);
    nodes.commands.push_back(
        {"/bin/sh", "-c", run_on(hosts[node], flags.ssh, command_on(node, hosts, flags.port, run, file), file)});
  }
  PrivateFolder logs("launch");
  logs.keep();
  nodes.log_folder = logs.path();
  std::cout << "starts " << hosts.size() << " machines; the output of all but " << hosts.front() << " is in "
            << nodes.log_folder.string() << std::endl;
  return supervise(nodes);
}

}  // namespace

Command launch_command() {
  return make_command(
      {.name = "launch",
       .summary = "Print the commands that train on several machines, or run them by ssh",
       .usage = "--hosts HOST,HOST,... fit --config FILE... [--FLAG VALUE...]",
       .about = R"(With --run the machines share a secret, which no command line shows, and turn others away. For
printed commands set LEVIN_SECRET to the same text on all machines.)",
       .rest = Rest::Command,
       .values = {{"hosts", "LIST"}, {"ssh", "COMMAND"}}},
      run_launch);
}

}  // namespace levin::cli
