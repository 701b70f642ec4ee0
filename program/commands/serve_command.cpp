#include <levin/core/ranks/secret.h>
#include <levin/core/system/error.h>
#include <levin/core/system/signals.h>
#include <levin/program/commands/commands.h>
#include <levin/program/runs/run_server.h>
#include <signal.h>

#include <cstdlib>
#include <iostream>

namespace levin::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kTokenSize = 32;

struct ServeFlags {
  int64_t port = LEVIN_OPTION(port, 8765, "The port; 0: a free one", {.min = 0, .max = 65535});
  std::string host =
      LEVIN_OPTION(host, "127.0.0.1", "The address to listen on; 127.0.0.1: only this machine reaches it");
  std::string token = LEVIN_OPTION(token, "",
                                   "Who opens the page must know it. For another address than this machine's there is "
                                   "always one, and it is drawn if none is given; the address that is printed has it");
  bool control = LEVIN_OPTION(control, false,
                              "The pages can pause, continue and stop runs. There is always a token then, as for "
                              "another address than this machine's");
  std::vector<std::string> allow_host =
      LEVIN_OPTION(allow_host, {}, "Names by which browsers may reach the server, such as that of a proxy");
};

int run_serve(const ServeFlags& flags, const Words& words) {
  if (flags.host.empty()) throw UsageError("--host: expected an address, such as 127.0.0.1 or 0.0.0.0");
  runs::RunServerOptions options{.root = words.empty() ? "." : words[0],
                                 .host = flags.host,
                                 .port = flags.port,
                                 .token = flags.token,
                                 .allowed_hosts = flags.allow_host,
                                 .can_ask = flags.control};
  runs::require_folder("levin serve: ", options.root);
  if (options.token.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") !=
      std::string::npos)
    throw UsageError("--token: expected letters, digits, - and _ alone");
  if ((options.can_ask || !runs::is_local(options.host)) && options.token.empty())
    options.token = make_secret().substr(0, kTokenSize);
  const SignalGuard guard({{SIGTERM, SignalAction::Stop}, {SIGINT, SignalAction::Stop}});
  const bool has_ended = runs::serve_runs(
      options,
      [&](const std::string& address) {
        std::cout << "serves " << options.root.string() << " at " << address << std::endl;
      },
      [] { return received_signal() != 0; });
  if (!has_ended) std::_Exit(0);  // a very large run is being read, and nothing is written
  return 0;
}

}  // namespace

Command serve_command() {
  return make_command(
      {.name = "serve",
       .summary = "Show the runs in a folder and below it in a browser, and follow those that run",
       .usage = "[FOLDER]",
       .about =
           R"(The server reads runs alone, and writes nothing unless --control is given. Ctrl-C ends it. For a run on another machine,
forward the port: ssh -L 8765:127.0.0.1:8765 MACHINE)",
       .most = 1,
       .values = {{"host", "ADDRESS"}, {"allow_host", "NAME..."}}},
      run_serve);
}

}  // namespace levin::cli
