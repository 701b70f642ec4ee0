#include <levin/core/run/trainer_state.h>

#include <utility>

namespace levin {

State TrainerState::state_dict() const {
  State steps = State::list();
  for (const int64_t at_validation : metric_steps) steps.push_back(at_validation);
  return State::dict({
      {"stage", static_cast<int64_t>(stage)},
      {"epoch", epoch},
      {"batch_in_epoch", batch_in_epoch},
      {"batches_seen", batches_seen},
      {"global_step", global_step},
      {"samples_seen", samples_seen},
      {"tokens_seen", tokens_seen},
      {"skipped_steps", skipped_steps},
      {"accumulate_grad_batches", accumulate_grad_batches},
      {"reference_weight", reference_weight},
      {"window", State::dict({{"position", window.position},
                              {"size", window.size},
                              {"first_weight", window.first_weight},
                              {"sum_of_weights", window.sum_of_weights}})},
      {"batch_phase", static_cast<int64_t>(batch_phase)},
      {"stepped", stepped},
      {"last_batch", last_batch},
      {"time_to_validate", time_to_validate},
      {"batches_of_last_epoch", batches_of_last_epoch},
      {"evaluation_loader", evaluation_loader},
      {"evaluation_batch", evaluation_batch},
      {"elapsed_seconds", elapsed_seconds},
      {"validated_seconds", validated_seconds},
      {"validations", validations},
      {"metric_steps", std::move(steps)},
  });
}

void TrainerState::load_state_dict(const State& state) {
  stage = static_cast<Stage>(state.at("stage").to_int());
  epoch = state.at("epoch").to_int();
  batch_in_epoch = state.at("batch_in_epoch").to_int();
  batches_seen = state.at("batches_seen").to_int();
  global_step = state.at("global_step").to_int();
  samples_seen = state.at("samples_seen").to_int();
  const State* tokens = state.find("tokens_seen");
  tokens_seen = tokens != nullptr ? tokens->to_int() : 0;
  const State& skipped = state.at("skipped_steps");
  skipped_steps = skipped.is_none() ? 0 : skipped.to_int();
  accumulate_grad_batches = state.at("accumulate_grad_batches").to_int();
  const State* reference = state.find("reference_weight");
  reference_weight = reference != nullptr ? reference->to_double() : 0;
  const State& saved_window = state.at("window");
  window.position = saved_window.at("position").to_int();
  window.size = saved_window.at("size").to_int();
  window.first_weight = saved_window.at("first_weight").to_double();
  window.sum_of_weights = saved_window.at("sum_of_weights").to_double();
  batch_phase = BatchPhase(state.at("batch_phase").to_int());
  stepped = state.at("stepped").to_bool();
  last_batch = state.at("last_batch").to_bool();
  time_to_validate = state.at("time_to_validate").to_bool();
  batches_of_last_epoch = state.at("batches_of_last_epoch").to_int();
  evaluation_loader = state.at("evaluation_loader").to_int();
  evaluation_batch = state.at("evaluation_batch").to_int();
  elapsed_seconds = state.at("elapsed_seconds").to_double();
  validated_seconds = state.at("validated_seconds").to_double();
  const State* count = state.find("validations");
  validations = count != nullptr ? count->to_int() : 0;
  metric_steps.clear();
  if (const State* steps = state.find("metric_steps"))
    for (const State& at_validation : steps->items()) metric_steps.push_back(at_validation.to_int());
}

}  // namespace levin
