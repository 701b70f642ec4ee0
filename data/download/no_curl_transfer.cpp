#include <levin/data/download/curl_transfer.h>

namespace levin::data {

TransferEnd fetch_rest(const std::string& /*url*/, PartFile& /*part*/, std::optional<int64_t> /*size*/,
                       double /*timeout_seconds*/) {
  return {.unreachable = true, .reason = "this levin is built without libcurl (LEVIN_CURL=OFF)"};
}

}  // namespace levin::data
