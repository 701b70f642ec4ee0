#include <levin/core/system/error.h>
#include <levin/trainer/loggers/http.h>

namespace levin {
namespace {

constexpr const char* kWithoutCurl =
    "this levin is built without libcurl (LEVIN_CURL=OFF) and sends nothing to servers; use a logger that writes "
    "files, such as CSVLogger, or build levin with libcurl4-openssl-dev";

}  // namespace

HttpAnswer send_http(const HttpRequest& request) { throw Error(request.url, ": ", kWithoutCurl); }

void check_http_url(const std::string& option, const std::string& /*url*/) {
  throw UsageError(option, ": ", kWithoutCurl);
}

}  // namespace levin
