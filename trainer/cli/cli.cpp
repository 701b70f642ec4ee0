#include <levin/trainer/cli/cli.h>
#include <c10/util/Exception.h>
#include <levin/trainer/cli/commands.h>
#include <levin/trainer/cli/config_file.h>
#include <levin/trainer/cli/flags.h>
#include <levin/trainer/core/error.h>

#include <iostream>
#include <nlohmann/json.hpp>

namespace levin::cli {
namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;

constexpr const char* kHelp =
    R"(levin trains LibTorch models.

Usage: levin COMMAND [ARGUMENTS]

  fit, validate, test, predict --config FILE... [--FLAG VALUE...]
                    Run a module; `levin fit --help` shows the flags, with --config those of its classes too
  config show       Print the resolved config of such a command line
  list KIND         Show models, data, optimizers, lr_schedulers, callbacks or loggers
  --version         Show the versions of levin, LibTorch, CUDA, NCCL and the compiler
  --help            Show this text

Options come from config files, then LEVIN__SECTION__KEY in the environment, then flags; later ones win.
)";

/// What a command line says; nothing where it only asked for help.
std::optional<RunOptions> read_options(const std::string& command, const std::vector<std::string>& arguments) {
  const Schema& schema = schema_of<RunOptions>();
  Json config = Json::object();
  for (const std::string& path : config_files_of(arguments)) {
    Json file = read_config_file(path);
    lift_seed_and_name(file);
    merge(config, file);
  }
  const std::vector<Override> environment = environment_overrides();
  std::vector<Override> classes = environment;
  for (Override& chosen : class_overrides(arguments)) classes.push_back(std::move(chosen));
  Json with_classes = config;
  apply(schema, with_classes, std::move(classes));
  Flags flags = read_flags(command, arguments, with_classes);
  if (!flags.help.empty()) {
    std::cout << flags.help << std::flush;
    return {};
  }
  if (!flags.ckpt_path.empty())
    throw UsageError("--ckpt-path: ", flags.ckpt_path,
                     " cannot be read yet in this version; leave it out (model.weights reads a state_dict)");
  std::vector<Override> all = environment;
  all.insert(all.end(), flags.overrides.begin(), flags.overrides.end());
  apply(schema, config, std::move(all));
  return read_run_options(std::move(config));
}

int config_command(const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments[0] != "show")
    throw UsageError("levin config: expected show", arguments.empty() ? "" : ", got " + arguments[0]);
  if (const auto options = read_options("config show", {arguments.begin() + 1, arguments.end()}))
    std::cout << resolved_config(*options).dump(2) << std::endl;
  return 0;
}

int dispatch(const std::vector<std::string>& arguments) {
  raise_duplicate_registrations();
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h" || arguments[0] == "help") {
    std::cout << kHelp << std::flush;
    return arguments.empty() ? kUsage : 0;
  }
  const std::string& command = arguments[0];
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  if (command == "--version") {
    std::cout << version_text() << std::flush;
    return 0;
  }
  if (is_run_command(command)) {
    const std::optional<RunOptions> options = read_options(command, rest);
    return options ? run_command(command, *options) : 0;
  }
  if (command == "config") return config_command(rest);
  if (command != "list")
    throw UsageError("no command '", command, "'",
                     did_you_mean(command, {"fit", "validate", "test", "predict", "config", "list"}),
                     "; there are: fit, validate, test, predict, config, list");
  list_command(rest);
  return 0;
}

int fail(const std::string& message, int code) {
  std::cout.flush();
  std::cerr << "levin: error: " << message << std::endl;
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return dispatch({argv + (argc > 0 ? 1 : 0), argv + argc});
  } catch (const UsageError& error) {
    return fail(error.what(), kUsage);
  } catch (const c10::Error& error) {
    return fail(error.what_without_backtrace(), kFailed);
  } catch (const std::exception& error) {
    return fail(error.what(), kFailed);
  } catch (...) {
    return fail("an exception that is no std::exception", kFailed);
  }
}

}  // namespace levin::cli
