#include <levin/core/system/error.h>
#include <levin/program/commands/commands.h>
#include <levin/program/commands/fit_view.h>
#include <levin/program/commands/run_module.h>

namespace levin::cli {
namespace {

struct FitFlags {
  bool dry_run = LEVIN_OPTION(
      dry_run, false, "Build everything, run two batches of each loop, say what the fit would do, and write nothing");
  std::vector<double> bandwidth =
      LEVIN_OPTION(bandwidth, {}, "For --dry-run of several ranks: Gbit/s of the network between them [10 100 400]",
                   {.exclusive_min = 0});
  bool tui = LEVIN_OPTION(tui, false,
                          "In a terminal, show the run as levin watch does, with its output below the curves, in place "
                          "of the progress bar");
};

int run_fit(const FitFlags& flags, const Words& words) {
  if (flags.tui && flags.dry_run) throw UsageError("--tui: a dry run has no curves; leave out --tui or --dry-run");
  if (flags.tui) return fit_in_view(words);
  return run_module("fit", words, {.dry_run = flags.dry_run, .bandwidths = flags.bandwidth});
}

}  // namespace

Command fit_command() {
  return make_command({.name = "fit",
                       .summary = "Train the module of a config",
                       .rest = Rest::ConfigFlags,
                       .values = {{"bandwidth", "NUMBER..."}}},
                      run_fit);
}

}  // namespace levin::cli
