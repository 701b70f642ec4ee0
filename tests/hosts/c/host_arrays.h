#pragma once
#include <levin/c_api.h>
#include <torch/torch.h>

#include <string>

#include "tests/catch.h"

/// Describes a tensor of the test's as a host would describe its array; the tensor must stay where it is.
inline levin_array array_of(const torch::Tensor& tensor, const char* name = nullptr) {
  static const std::vector<std::pair<torch::Dtype, levin_dtype>> dtypes = {
      {torch::kFloat, LEVIN_FLOAT32}, {torch::kDouble, LEVIN_FLOAT64}, {torch::kInt, LEVIN_INT32},
      {torch::kLong, LEVIN_INT64},    {torch::kByte, LEVIN_UINT8},     {torch::kBool, LEVIN_BOOL}};
  levin_array array = LEVIN_INIT(levin_array);
  array.name = name;
  array.data = tensor.data_ptr();
  for (const auto& [dtype, code] : dtypes)
    if (tensor.scalar_type() == dtype) array.dtype = code;
  array.rank = static_cast<int32_t>(tensor.dim());
  array.shape = tensor.sizes().data();
  array.strides = tensor.strides().data();
  return array;
}

/// Returns a copy of a result as a tensor of its dtype.
inline torch::Tensor tensor_of_result(const levin_array& array) {
  static const std::vector<torch::Dtype> dtypes = {torch::kFloat, torch::kDouble, torch::kInt, torch::kLong,
                                                   torch::kByte,  torch::kBool,   torch::kChar};
  if (array.data == nullptr) return {};
  return torch::from_blob(array.data, torch::IntArrayRef(array.shape, static_cast<size_t>(array.rank)),
                          torch::IntArrayRef(array.strides, static_cast<size_t>(array.rank)),
                          dtypes.at(static_cast<size_t>(array.dtype)))
      .clone();
}

/// Fails the test with levin's text if a call fails.
inline void ok(levin_status status) {
  INFO(levin_error());
  REQUIRE(status == LEVIN_OK);
}

/// Checks that a call was refused, and that the text has these words.
inline void refused(levin_status status, const std::string& words, levin_status expected = LEVIN_INVALID) {
  INFO(levin_error());
  CHECK(status == expected);
  CHECK(std::string(levin_error()).find(words) != std::string::npos);
}

/// A config of one text.
inline levin_config config_of(const char* text) {
  levin_config config = LEVIN_INIT(levin_config);
  config.text = text;
  return config;
}

/// Starts a session of a config's text.
inline levin_session* start(const std::string& text, const std::string& ckpt_path = "", levin_model* model = nullptr) {
  const levin_config config = config_of(text.c_str());
  levin_session_options options = LEVIN_INIT(levin_session_options);
  options.config = &config;
  options.model = model;
  if (!ckpt_path.empty()) options.ckpt_path = ckpt_path.c_str();
  levin_session* session = nullptr;
  ok(levin_session_start(&options, &session));
  return session;
}

/// Returns all floating-point weights of a session's model, one after another.
inline torch::Tensor weights_of(levin_session* session) {
  levin_model* model = nullptr;
  ok(levin_session_model(session, &model));
  int64_t size = 0;
  ok(levin_model_weights_size(model, &size));
  torch::Tensor flat = torch::empty({size}, torch::kDouble);
  const levin_array array = array_of(flat);
  ok(levin_model_get_weights(model, &array));
  levin_model_destroy(model);
  return flat;
}
