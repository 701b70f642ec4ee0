#include <levin/trainer/core/system/error.h>
#include <levin/trainer/runs/run_server.h>

namespace levin::runs {

void serve_runs(const RunServerOptions& /*options*/, const std::function<void(const std::string&)>& /*ready*/,
                const std::function<bool()>& /*ends*/) {
  throw UsageError(
      "levin serve: levin was built without cpp-httplib; install libcpp-httplib-dev and build it again, or use "
      "`levin report`");
}

}  // namespace levin::runs
