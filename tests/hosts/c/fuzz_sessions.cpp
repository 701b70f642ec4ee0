#include <cstring>

#include "tests/hosts/c/fuzz_calls.h"

namespace {

levin_status begin_alone(void* context, const levin_operation* operation, void** request) {
  if (static_cast<Drawing*>(context)->wrong(9)) return LEVIN_FAILED;
  static constexpr std::array<size_t, 10> kBytes = {4, 8, 4, 8, 1, 1, 1, 2, 2, 2};
  if (operation->to != operation->from && operation->to != nullptr && operation->from != nullptr)
    std::memcpy(operation->to, operation->from,
                static_cast<size_t>(operation->count) * kBytes.at(static_cast<size_t>(operation->dtype)));
  *request = nullptr;
  return LEVIN_OK;
}

/// One rank, which is all there are.
levin_ranks one_rank(Drawing& draw) {
  levin_ranks ranks = LEVIN_INIT(levin_ranks);
  ranks.context = &draw;
  ranks.size = ranks.local_size = 1;
  ranks.begin = begin_alone;
  ranks.test = [](void*, void*, int32_t* ended) {
    *ended = 1;
    return levin_status{LEVIN_OK};
  };
  ranks.part = [](void* context, const int32_t*, int32_t, levin_ranks* part) {
    *part = one_rank(*static_cast<Drawing*>(context));
    return levin_status{LEVIN_OK};
  };
  ranks.release = [](void*, int32_t) {};
  if (draw.wrong(4)) ranks.rank = static_cast<int32_t>(draw.below(4)) - 2;
  if (draw.wrong(4)) ranks.part = nullptr;
  return ranks;
}

/// Three batches of an epoch, and an end by a failure or a request after some of them.
levin_status next_batch(void* context, int64_t, int64_t batch, levin_array* arrays, size_t capacity, size_t* count) {
  auto& draw = *static_cast<Drawing*>(context);
  if (draw.wrong(5)) return 9;
  if (draw.once_in(8)) CALL(levin_session_request_stop, draw.any_session(), nullptr);
  if (batch > 2) return LEVIN_OK;
  const size_t given = draw.count();
  for (size_t i = 0; i < given && i < capacity; ++i) arrays[i] = draw.array(i);
  *count = given;
  return LEVIN_OK;
}

/// A loss that calls the model inside of the step.
levin_status loss_of_host(void* context, levin_session* session, double* loss) {
  auto& draw = *static_cast<Drawing*>(context);
  levin_call* made = nullptr;
  levin_status status = CALL(levin_session_call, session, nullptr, draw.arrays(), draw.count(), draw.wanted(), &made);
  if (status == LEVIN_OK) status = CALL(levin_call_backward, made, draw.gradient(), 1);
  levin_call_destroy(made);
  *loss = 1;
  return draw.wrong(5) ? 77 : status;
}

levin_status save_state(void* context, levin_state_writer* writer) {
  auto& draw = *static_cast<Drawing*>(context);
  if (draw.wrong(5)) return 5;
  return CALL(levin_state_write, writer, draw.wrong(5) ? nullptr : "bytes", draw.below(6));
}
levin_status load_state(void* context, const void*, size_t) {
  return static_cast<Drawing*>(context)->wrong(5) ? LEVIN_INVALID : LEVIN_OK;
}

levin_status call_start(Drawing& draw, const levin_host_state& state, const levin_source& source) {
  const levin_config config = draw.config();
  const levin_ranks ranks = one_rank(draw);
  levin_log_sink sink = LEVIN_INIT(levin_log_sink);
  sink.log = [](void*, const char* name, double, int64_t, int64_t) {
    if (name == nullptr) std::abort();
  };
  if (draw.wrong(9)) sink.log = nullptr;
  levin_session_options options = LEVIN_INIT(levin_session_options);
  if (!draw.wrong(9)) options.config = &config;
  if (draw.once_in(3)) options.model = draw.model();
  if (draw.once_in(6)) options.ckpt_path = draw.wrong(2) ? "absent.ckpt" : draw.path(".ckpt");
  if (draw.once_in(3)) options.log_sink = &sink;
  if (draw.once_in(6)) options.ranks = &ranks;
  options.host_saves = draw.once_in(4);
  options.join_launcher = draw.once_in(4);
  options.batches_per_epoch = draw.wrong(4) ? -1 : static_cast<int64_t>(draw.below(3));
  if (draw.wrong(9)) options.struct_size = draw.below(9);
  levin_session* made = nullptr;
  const levin_status status =
      CALL(levin_session_start, draw.wrong(9) ? nullptr : &options, draw.wrong(9) ? nullptr : &made);
  draw.keep(&HandlesOfThread::sessions, made, status);
  if (made == nullptr) return status;
  switch (draw.below(8)) {  // what is refused after the first step
    case 0:
      return CALL(levin_session_fit, made, &source, draw.once_in(2) ? nullptr : &source);
    case 1:
      CALL(levin_session_register_state, made, "state", &state);
      return CALL(levin_session_save, made, draw.path(".ckpt"));
    default:
      return status;
  }
}

/// What the thread that trains calls.
levin_status call_session_with(Drawing& draw, levin_session* session) {
  int32_t flag = 0;
  levin_source source = LEVIN_INIT(levin_source);
  source.context = &draw;
  source.next = draw.wrong(5) ? nullptr : next_batch;
  levin_host_state state = LEVIN_INIT(levin_host_state);
  state.context = &draw;
  state.save = save_state;
  state.load = draw.wrong(5) ? nullptr : load_state;
  levin_step_result result = LEVIN_INIT(levin_step_result);
  if (draw.wrong(9)) result.struct_size = draw.below(9);
  levin_step_result* const told = draw.once_in(3) ? nullptr : &result;
  switch (draw.below(25)) {
    case 0:
    case 1:
      return call_start(draw, state, source);
    case 2:
    case 3:
      return CALL(levin_session_next, session, draw.wrong(9) ? nullptr : &flag);
    case 4:
    case 5:
    case 6:
    case 7:
      return CALL(levin_session_step, session, draw.arrays(), draw.count(), told);
    case 8: {
      levin_call* const calls[] = {draw.a_call(), draw.a_call()};
      return CALL(levin_session_step_calls, session, 1, calls, draw.below(3), told);
    }
    case 9:
      return CALL(levin_session_step_loss, session, draw.wrong(5) ? nullptr : loss_of_host, &draw, told);
    case 10:
      return CALL(levin_session_loss, session, draw.real());
    case 11:
      return CALL(levin_session_end_epoch, session);
    case 12:
      return CALL(levin_session_log, session, draw.wrong(5) ? nullptr : "own", 1.5);
    case 13:
      return CALL(levin_session_save, draw.once_in(3) ? session : nullptr, draw.path(".ckpt"));
    case 14:
      return CALL(levin_session_due_to_save, session, draw.wrong(5) ? nullptr : &flag);
    case 15:
      return CALL(levin_session_register_state, session, draw.wrong(5) ? nullptr : "state", &state);
    case 16:
      return CALL(levin_session_rate, session, draw.wrong(3) ? -1 : 0, draw.wrong(3) ? -1 : 0, draw.real());
    case 17:
      return CALL(levin_session_set_rate, session, draw.wrong(3) ? -1 : 0, draw.wrong(3) ? -1.0 : 0.01);
    case 18: {
      levin_model* made = nullptr;
      const levin_status status = CALL(levin_session_model, session, draw.wrong(9) ? nullptr : &made);
      return draw.keep(&HandlesOfThread::models, made, status);
    }
    case 19:
      return CALL(levin_session_validate, session, draw.wrong(5) ? nullptr : &source);
    case 20:
      return CALL(levin_session_fit, session, draw.wrong(5) ? nullptr : &source, draw.once_in(2) ? nullptr : &source);
    case 21: {
      levin_result ended = LEVIN_INIT(levin_result);
      return CALL(levin_session_finish, draw.once_in(20) ? session : nullptr, draw.once_in(2) ? nullptr : &ended);
    }
    case 22:
      return draw.once_in(2) ? CALL(levin_session_register_replay, session, "replay", draw.replay())
                             : CALL(levin_session_register_rollout, session, nullptr, draw.rollout());
    case 23:
      return CALL(levin_session_register_rollout, session, "rollout", draw.rollout());
    default:
      return CALL(levin_session_publish, session);
  }
}

}  // namespace

levin_status call_session(Drawing& draw) {
  levin_session* const session = draw.session();
  const levin_status status = call_session_with(draw, session);
  // An error inside of a step has ended it, and a session that was stopped trains no more.
  if (draw.once_in(status == LEVIN_OK ? 60 : 4)) {
    draw.forget(&HandlesOfThread::sessions, session);
    CALL(levin_session_destroy, session);
  }
  return status;
}

/// What any thread may ask of a session.
levin_status call_from_any_thread(Drawing& draw) {
  const char* text = nullptr;
  const char** const place = draw.wrong(5) ? nullptr : &text;
  switch (draw.below(9)) {
    case 0: {
      levin_session_state state = LEVIN_INIT(levin_session_state);
      return CALL(levin_session_get_state, draw.any_session(), draw.wrong(5) ? nullptr : &state);
    }
    case 1:
      return CALL(levin_session_metric, draw.any_session(), draw.once_in(2) ? nullptr : "train_loss", draw.real());
    case 2:
      return CALL(levin_session_metrics, draw.any_session(), place);
    case 3:
      return CALL(levin_session_warnings, draw.any_session(), place);
    case 4:
      return CALL(levin_session_request_stop, draw.once_in(40) ? draw.any_session() : nullptr, "enough");
    case 5:
      return CALL(levin_session_request_save, draw.once_in(5) ? draw.any_session() : nullptr, draw.path(".ckpt"));
    case 6:
      return CALL(levin_session_pause, draw.any_session());
    case 7:
      return CALL(levin_session_resume, draw.any_session());
    default: {
      levin_reader* made = nullptr;
      const levin_status status = CALL(levin_reader_create, draw.any_session(), draw.wrong(9) ? nullptr : &made);
      return draw.keep(&HandlesOfThread::readers, made, status);
    }
  }
}

levin_status call_reader(Drawing& draw) {
  int64_t step = 0;
  switch (draw.below(6)) {
    case 0:
      return CALL(levin_reader_update, draw.reader(), draw.once_in(2) ? nullptr : &step);
    case 1:
      return CALL(levin_reader_result_count, draw.reader(), draw.number());
    case 2:
      return CALL(levin_reader_result, draw.reader(), draw.below(2), draw.out());
    case 3:
      CALL(levin_reader_destroy, draw.to_destroy(&HandlesOfThread::readers));
      return LEVIN_OK;
    default:
      return CALL(levin_reader_run, draw.reader(), draw.function(), draw.arrays(), draw.count());
  }
}
