#include <levin/core/ranks/secret.h>
#include <levin/core/system/error.h>
#include <levin/core/system/signals.h>
#include <levin/program/cli/take_flag.h>
#include <levin/program/commands/commands.h>
#include <levin/program/runs/run_server.h>
#include <signal.h>

#include <cstdlib>
#include <iostream>

namespace levin::cli {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kPort = 8765;
constexpr int64_t kMostPort = 65535;
constexpr size_t kTokenSize = 32;

constexpr const char* kServeHelp =
    R"(levin serve shows the runs in a folder and below it in a browser, and follows those that run.

Usage: levin serve [FOLDER] [--port INT] [--host ADDRESS [--token TEXT]] [--allow-host NAME]

  --port INT         The port; 0: a free one [8765]
  --host ADDRESS     The address to listen on [127.0.0.1, which only this machine reaches]
  --token TEXT       Who opens the page must know it. For another address than this machine's there is always one, and
                     it is drawn if none is given; the address that is printed has it
  --allow-host NAME  A name by which browsers may reach the server, such as that of a proxy

The server reads runs alone, and writes nothing. Ctrl-C ends it. For a run on another machine, forward the port:
ssh -L 8765:127.0.0.1:8765 MACHINE
)";

}  // namespace

int serve_command(std::vector<std::string> arguments) {
  if (take_switch(arguments, "--help")) {
    std::cout << kServeHelp << std::flush;
    return 0;
  }
  runs::RunServerOptions options{.port = take_count(arguments, "--port", /*least=*/0).value_or(kPort)};
  if (options.port > kMostPort) throw UsageError("--port: expected at most ", kMostPort, ", got ", options.port);
  options.host = take_flag(arguments, "--host").value_or(options.host);
  if (options.host.empty()) throw UsageError("--host: expected an address, such as 127.0.0.1 or 0.0.0.0");
  options.token = take_flag(arguments, "--token").value_or("");
  if (const auto name = take_flag(arguments, "--allow-host")) options.allowed_hosts.push_back(*name);
  if (arguments.size() > 1 || (arguments.size() == 1 && arguments[0].starts_with("--")))
    throw UsageError("levin serve: expected one folder; `levin serve --help` says more");
  options.root = arguments.empty() ? "." : arguments[0];
  if (!fs::is_directory(options.root))
    throw UsageError("levin serve: ", options.root.string(), ": there is no such folder");
  if (options.token.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") !=
      std::string::npos)
    throw UsageError("--token: expected letters, digits, - and _ alone");
  if (!runs::is_local(options.host) && options.token.empty()) options.token = make_secret().substr(0, kTokenSize);
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

}  // namespace levin::cli
