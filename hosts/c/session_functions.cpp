#include <levin/hosts/c/host_session.h>
#include <levin/hosts/c/status.h>

using namespace levin::c;

struct levin_state_writer {
  std::string bytes;
};

namespace {

levin_step_result* checked(levin_step_result* result) {
  return result == nullptr ? nullptr : &sized(result, "the result");
}

}  // namespace

levin_status levin_session_start(const levin_session_options* options, levin_session** session) {
  return guarded("levin_session_start", [&] {
    given(session, "the session") = nullptr;
    *session = sessions().add(std::make_shared<HostSession>(sized(options, "the options")));
  });
}

void levin_session_destroy(levin_session* session) {
  guarded("levin_session_destroy", [&] {
    if (const auto held = sessions().take(session)) held->close();
  });
}

levin_status levin_session_next(levin_session* session, int32_t* wanted) {
  return guarded("levin_session_next", [&] { given(wanted, "wanted") = sessions().at(session)->next(); });
}

levin_status levin_session_step(levin_session* session, const levin_array* inputs, size_t count,
                                levin_step_result* result) {
  return guarded("levin_session_step", [&] { sessions().at(session)->step(inputs, count, checked(result)); });
}

levin_status levin_session_call(levin_session* session, const char* function, const levin_array* inputs, size_t count,
                                int32_t wanted, levin_call** call) {
  return guarded("levin_session_call", [&] {
    given(call, "the call") = nullptr;
    *call = calls().add(sessions().at(session)->call(inputs, count, function, wanted));
  });
}

levin_status levin_session_step_calls(levin_session* session, double loss, levin_call* const* calls_of_loss,
                                      size_t count, levin_step_result* result) {
  return guarded("levin_session_step_calls", [&] {
    const auto held = sessions().at(session);
    if (count > 0) given(calls_of_loss, "the calls");
    std::vector<std::shared_ptr<Call>> all;
    for (size_t i = 0; i < count; ++i) all.push_back(calls().at(calls_of_loss[i]));
    held->step_calls(loss, all, checked(result));
  });
}

levin_status levin_session_step_loss(levin_session* session, levin_loss_function function, void* context,
                                     levin_step_result* result) {
  return guarded("levin_session_step_loss", [&] {
    if (function == nullptr) throw levin::UsageError("the function is null");
    const auto loss = [&] {
      double value = 0;
      check_host(function(context, session, &value), "of the loss");
      return value;
    };
    sessions().at(session)->step_loss(loss, checked(result));
  });
}

levin_status levin_session_loss(levin_session* session, double* loss) {
  return guarded("levin_session_loss", [&] { given(loss, "the loss") = sessions().at(session)->loss(); });
}

levin_status levin_session_end_epoch(levin_session* session) {
  return guarded("levin_session_end_epoch", [&] { sessions().at(session)->end_epoch(); });
}

levin_status levin_session_log(levin_session* session, const char* name, double value) {
  return guarded("levin_session_log", [&] { sessions().at(session)->session().log(&given(name, "the name"), value); });
}

levin_status levin_session_save(levin_session* session, const char* path) {
  return guarded("levin_session_save", [&] { sessions().at(session)->session().save(text_of(path)); });
}

levin_status levin_session_due_to_save(levin_session* session, int32_t* due) {
  return guarded("levin_session_due_to_save",
                 [&] { given(due, "due") = sessions().at(session)->session().due_to_save(); });
}

levin_status levin_state_write(levin_state_writer* writer, const void* bytes, size_t size) {
  return guarded("levin_state_write", [&] {
    if (size > 0 && bytes == nullptr) throw levin::UsageError("the bytes are null");
    given(writer, "the writer").bytes.append(static_cast<const char*>(bytes), size);
  });
}

levin_status levin_session_register_state(levin_session* session, const char* name, const levin_host_state* state) {
  return guarded("levin_session_register_state", [&] {
    const levin_host_state held = sized(state, "the state");
    if (held.save == nullptr || held.load == nullptr) throw levin::UsageError("the state needs save and load");
    sessions().at(session)->session().register_state(
        &given(name, "the name"),
        [held]() -> levin::State {
          levin_state_writer writer;
          check_host(held.save(held.context, &writer), "save");
          return levin::State::Bytes{std::move(writer.bytes)};
        },
        [held](const levin::State& saved) {
          const std::string& bytes = saved.to_bytes();
          check_host(held.load(held.context, bytes.data(), bytes.size()), "load");
        });
  });
}

levin_status levin_session_rate(levin_session* session, int32_t optimizer, int32_t group, double* rate) {
  return guarded("levin_session_rate", [&] {
    if (optimizer < 0 || group < 0) throw levin::UsageError("the optimizer and the group are counted from 0");
    given(rate, "the rate") =
        sessions().at(session)->session().optimizer(static_cast<size_t>(optimizer)).lr(static_cast<size_t>(group));
  });
}

levin_status levin_session_set_rate(levin_session* session, int32_t optimizer, double rate) {
  return guarded("levin_session_set_rate", [&] {
    if (optimizer < 0) throw levin::UsageError("optimizers are counted from 0");
    sessions().at(session)->session().optimizer(static_cast<size_t>(optimizer)).set_lr(rate);
  });
}

levin_status levin_session_model(levin_session* session, levin_model** model) {
  return guarded("levin_session_model", [&] {
    given(model, "the model") = nullptr;
    *model = models().add(std::make_shared<Model>(sessions().at(session)->model()->module()));
  });
}

levin_status levin_session_validate(levin_session* session, const levin_source* source) {
  return guarded("levin_session_validate", [&] { sessions().at(session)->validate(given(source, "the source")); });
}

levin_status levin_session_fit(levin_session* session, const levin_source* train, const levin_source* validation) {
  return guarded("levin_session_fit", [&] { sessions().at(session)->fit(given(train, "train"), validation); });
}

levin_status levin_session_finish(levin_session* session, levin_result* result) {
  return guarded("levin_session_finish", [&] {
    if (result != nullptr) sized(result, "the result");
    const levin::RunResult ended = sessions().at(session)->finish();
    if (result == nullptr) return;
    result->stopped = ended.status == "stopped";
    result->epochs = ended.epochs;
    result->steps = ended.global_step;
    result->batches = ended.batches;
    result->non_finite_step = ended.non_finite_step.value_or(-1);
    result->seconds = ended.wall_seconds;
  });
}

levin_status levin_session_publish(levin_session* session) {
  return guarded("levin_session_publish", [&] { sessions().at(session)->publish(); });
}
