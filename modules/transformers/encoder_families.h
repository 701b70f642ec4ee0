#pragma once
#include <levin/modules/transformers/config_fields.h>
#include <levin/modules/transformers/encoder_config.h>

#include <span>

namespace levin::nn {

/// A family of encoders: how a config.json with its `model_type` is read.
struct EncoderFamily {
  const char* name;
  EncoderConfig (*read)(ConfigFields& fields);
};

/// In a source of its own.
EncoderConfig read_modernbert(ConfigFields& fields);

/// Returns all families, by name. The functions throw levin::UsageError for values that levin does not compute.
std::span<const EncoderFamily> encoder_family_table();

}  // namespace levin::nn
