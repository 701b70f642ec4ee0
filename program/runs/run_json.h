#pragma once
#include <nlohmann/json.hpp>
#include <string_view>

namespace levin::runs {

/// Reads a JSON text of a run's folder, which anybody may have written; of a name that an object has twice the last
/// value counts. Returns a discarded value for text that is no JSON, and for more levels than recursive code can take.
///
/// Unlike nlohmann::ordered_json::parse it takes no longer for each member the more of them there are.
nlohmann::ordered_json parse_run_json(std::string_view text);

}  // namespace levin::runs
