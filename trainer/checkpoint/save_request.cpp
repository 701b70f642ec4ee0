#include <levin/trainer/checkpoint/save_request.h>
#include <levin/core/ranks/gather_states.h>

#include <algorithm>
#include <utility>

namespace levin {
namespace {

State state_of(const SaveRequest& request) {
  State removed = State::list();
  for (const std::filesystem::path& file : request.how.then_remove) removed.push_back(file.string());
  return State::dict({{"path", request.path.string()},
                      {"weights_only", request.how.weights_only},
                      {"link_as", request.how.link_as.string()},
                      {"then_remove", std::move(removed)},
                      {"upload_to", request.how.upload_to}});
}

SaveRequest request_in(const State& state) {
  SaveRequest request{
      .path = state.at("path").to_string(),
      .how = {.weights_only = state.at("weights_only").to_bool(), .link_as = state.at("link_as").to_string()}};
  request.how.upload_to = state.at("upload_to").to_string();
  for (const State& file : state.at("then_remove").items()) request.how.then_remove.emplace_back(file.to_string());
  return request;
}

}  // namespace

std::vector<SaveRequest> requests_of_all_ranks(const std::vector<SaveRequest>& own, Comm& comm) {
  State mine = State::list();
  for (const SaveRequest& request : own) mine.push_back(state_of(request));
  std::vector<SaveRequest> all;
  for (const State& of_rank : gather_states(mine, comm))
    for (const State& state : of_rank.items()) {
      SaveRequest request = request_in(state);
      if (std::ranges::find(all, request.path, &SaveRequest::path) == all.end()) all.push_back(std::move(request));
    }
  return all;
}

}  // namespace levin
