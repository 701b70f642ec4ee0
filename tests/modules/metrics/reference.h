#pragma once
#include <levin/core/state/state.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

/// What torchmetrics shall compute for a test: cases of one kind ("metrics", "texts", "wrappers", "curves"; see
/// metrics_reference.py), and batches by name.
struct ReferenceRequest {
  std::string kind = {};
  nlohmann::ordered_json cases = {};
  levin::State data = levin::State::dict();
};

/// Names a request, at namespace scope. All of them are answered by one start of Python, which takes seconds.
bool add_reference(const std::string& name, std::function<ReferenceRequest()> request);

/// Returns the answers to a request; nothing, with a warning, if there is no Python with torchmetrics.
std::optional<nlohmann::ordered_json> reference(const std::string& name);
