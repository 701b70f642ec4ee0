#include <levin/core/system/error.h>
#include <levin/data/remote/http_call.h>

namespace levin::data {

HttpReply call_http(const HttpCall& /*call*/) {
  throw UsageError(
      "this levin is built without libcurl (LEVIN_CURL=OFF) and reads no files of servers; give a local file, or build "
      "levin with libcurl4-openssl-dev");
}

}  // namespace levin::data
