#include "tests/hosts/c/delete_dlpack.h"
#include "tests/hosts/c/fuzz_calls.h"

levin_status call_library(Drawing& draw) {
  levin_device device = LEVIN_INIT(levin_device);
  switch (draw.below(6)) {
    case 0:
      return CALL(levin_abi_version) == LEVIN_ABI_VERSION ? LEVIN_OK : LEVIN_FAILED;
    case 1:
      if (CALL(levin_version) == nullptr || CALL(levin_build) == nullptr || CALL(levin_error) == nullptr) std::abort();
      return LEVIN_OK;
    case 2:
      return CALL(levin_seed, draw.below(100));
    case 3:
      if (CALL(levin_device_count) < 1) std::abort();
      return LEVIN_OK;
    case 4: {
      const levin_array from = draw.array(), to = draw.array();
      return CALL(levin_array_copy, &from, &to);
    }
    default:
      return CALL(levin_device_info, draw.wrong(2) ? -1 : static_cast<int32_t>(draw.wrong(2)),
                  draw.wrong(5) ? nullptr : &device);
  }
}

/// A tensor of DLPack out of an array and back, and one that another library describes, well or not.
levin_status call_dlpack(Drawing& draw) {
  const levin_array array = draw.array();
  levin_array* const back = draw.out();
  if (draw.once_in(2)) {
    struct {
      void* data;
      int32_t device_type, device_id, rank;
      uint8_t code, bits;
      uint16_t lanes;
      const int64_t *shape, *strides;
      uint64_t offset;
      void *context, *deleter;
    } made = {array.data,
              static_cast<int32_t>(draw.below(4)),
              draw.wrong(3) ? -1 : 0,
              array.rank,
              static_cast<uint8_t>(draw.below(4)),
              static_cast<uint8_t>(draw.once_in(2) ? 32 : 8 * draw.below(10)),
              static_cast<uint16_t>(draw.once_in(5) ? 2 : 1),
              array.shape,
              array.strides,
              0,
              nullptr,
              nullptr};
    const levin_status status = CALL(levin_array_of_dlpack, reinterpret_cast<DLManagedTensor*>(&made), back);
    if (status != LEVIN_OK || back->device_type != LEVIN_CPU) return status;
    const levin_array to = draw.array(1);
    return CALL(levin_array_copy, back, &to);
  }
  DLManagedTensor* tensor = nullptr;
  const levin_status status = CALL(levin_array_to_dlpack, &array, draw.wrong(9) ? nullptr : &tensor);
  if (tensor == nullptr) return status;
  const levin_status described = CALL(levin_array_of_dlpack, tensor, back);
  delete_dlpack(tensor);
  return described;
}

levin_status call_model(Drawing& draw) {
  switch (draw.below(17)) {
    case 0: {
      const levin_config config = draw.config();
      levin_model* made = nullptr;
      const char* const weights = draw.once_in(4) ? draw.path(".pt") : nullptr;
      const levin_status status =
          CALL(levin_model_create, draw.wrong(5) ? nullptr : &config, weights, draw.wrong(5) ? nullptr : &made);
      return draw.keep(&HandlesOfThread::models, made, status);
    }
    case 1:
      CALL(levin_model_destroy, draw.to_destroy(&HandlesOfThread::models));
      return LEVIN_OK;
    case 2:
      return CALL(levin_model_save, draw.model(), draw.path(draw.once_in(2) ? ".pt" : ".safetensors"));
    case 3:
      return draw.once_in(2) ? CALL(levin_model_input_count, draw.model(), draw.number())
                             : CALL(levin_model_output_count, draw.model(), draw.number());
    case 4:
      return draw.once_in(2) ? CALL(levin_model_input, draw.model(), draw.below(3), draw.out())
                             : CALL(levin_model_output, draw.model(), draw.below(2), draw.out());
    case 5:
      return CALL(levin_model_result_count, draw.model(), draw.number());
    case 6:
    case 7:
      return CALL(levin_model_result, draw.model(), draw.below(3), draw.out());
    case 8:
      return draw.once_in(2) ? CALL(levin_model_weight_count, draw.model(), draw.number())
                             : CALL(levin_model_weight, draw.model(), draw.below(6), draw.out());
    case 9: {
      int64_t elements = 0;
      return CALL(levin_model_weights_size, draw.model(), draw.wrong(5) ? nullptr : &elements);
    }
    case 10: {
      static thread_local std::array<float, 32> all = {};  // of the model of the first config there are 17
      const int64_t size = draw.wrong(3) ? static_cast<int64_t>(draw.below(all.size())) : 17;
      levin_array flat = LEVIN_INIT(levin_array);
      flat.data = all.data();
      flat.rank = 1;
      flat.shape = &size;
      if (draw.wrong(5)) flat = draw.array();
      return draw.once_in(2) ? CALL(levin_model_get_weights, draw.model(), draw.wrong(9) ? nullptr : &flat)
                             : CALL(levin_model_set_weights, draw.model(), draw.wrong(9) ? nullptr : &flat);
    }
    case 11: {
      const levin_array mean = draw.array();
      const double weights[] = {1, static_cast<double>(draw.below(4)) - 1, 0, 2};
      return CALL(levin_mean, draw.arrays(), draw.once_in(2) ? weights : nullptr, draw.once_in(2) ? 1 : draw.count(),
                  &mean);
    }
    default:
      return CALL(levin_model_run, draw.model(), draw.function(), draw.arrays(), draw.count());
  }
}

levin_status call_call(Drawing& draw) {
  levin_call* made = nullptr;
  switch (draw.below(9)) {
    case 0:
    case 1: {
      const levin_status status = CALL(levin_model_call, draw.model(), draw.function(), draw.arrays(), draw.count(),
                                       draw.wanted(), draw.wrong(9) ? nullptr : &made);
      return draw.keep(&HandlesOfThread::calls, made, status);
    }
    case 2: {
      const levin_status status =
          CALL(levin_session_call, draw.session(), draw.function(), draw.arrays(), draw.count(), draw.wanted(), &made);
      return draw.keep(&HandlesOfThread::calls, made, status);
    }
    case 3:
    case 4:
      return CALL(levin_call_backward, draw.a_call(), draw.gradient(), draw.wrong(3) ? draw.below(3) : 1);
    case 5:
      return draw.once_in(2) ? CALL(levin_call_output_count, draw.a_call(), draw.number())
                             : CALL(levin_call_output, draw.a_call(), draw.below(2), draw.out());
    case 6:
      return draw.once_in(2) ? CALL(levin_call_input_gradient_count, draw.a_call(), draw.number())
                             : CALL(levin_call_input_gradient, draw.a_call(), draw.below(2), draw.out());
    case 7:
      return draw.once_in(2) ? CALL(levin_call_weight_gradient_count, draw.a_call(), draw.number())
                             : CALL(levin_call_weight_gradient, draw.a_call(), draw.below(5), draw.out());
    default:
      CALL(levin_call_destroy, draw.to_destroy(&HandlesOfThread::calls));
      return LEVIN_OK;
  }
}
