#include "tests/modules/metrics/reference.h"

#include <levin/core/state/state_file.h>

#include <fstream>
#include <map>
#include <utility>

#include "tests/catch.h"
#include "tests/modules/python_reference.h"
#include "tests/temporary_folder.h"

namespace {

using Json = nlohmann::ordered_json;

std::map<std::string, std::function<ReferenceRequest()>>& requests() {
  static std::map<std::string, std::function<ReferenceRequest()>> all;
  return all;
}

std::optional<Json> answers() {
  const TemporaryFolder folder;
  Json cases = Json::object();
  levin::State data = levin::State::dict();
  for (const auto& [name, request] : requests()) {
    ReferenceRequest made = request();
    cases[name] = {{"kind", made.kind}, {"cases", std::move(made.cases)}};
    data[name] = std::move(made.data);
  }
  levin::save_state(data, folder / "data.pt");
  std::ofstream(folder / "cases.json") << cases;
  return python_reference("all", Json(), folder.path().string());
}

}  // namespace

bool add_reference(const std::string& name, std::function<ReferenceRequest()> request) {
  requests()[name] = std::move(request);
  return true;
}

std::optional<nlohmann::ordered_json> reference(const std::string& name) {
  static const std::optional<Json> all = answers();
  if (!all) return std::nullopt;
  return all->at(name);
}
