#pragma once
#include <levin/modules/transformers/config_fields.h>
#include <levin/modules/transformers/decoder_config.h>

#include <span>
#include <string>
#include <vector>

namespace levin::nn {

/// A family of decoders: how a config.json with its `model_type` is read.
struct Family {
  const char* name;
  DecoderConfig (*read)(ConfigFields& fields, const std::vector<std::string>& ignored);
};

/// Returns all families, by name. The functions throw levin::UsageError for values that levin does not compute.
std::span<const Family> families();

// Each in a file of its own, with those that are like it.
DecoderConfig read_gemma(ConfigFields& fields, const std::vector<std::string>& ignored);
DecoderConfig read_gemma2(ConfigFields& fields, const std::vector<std::string>& ignored);
DecoderConfig read_gemma3_text(ConfigFields& fields, const std::vector<std::string>& ignored);
DecoderConfig read_gpt2(ConfigFields& fields, const std::vector<std::string>& ignored);
DecoderConfig read_gpt_neox(ConfigFields& fields, const std::vector<std::string>& ignored);
DecoderConfig read_granite(ConfigFields& fields, const std::vector<std::string>& ignored);
DecoderConfig read_llama(ConfigFields& fields, const std::vector<std::string>& ignored);
DecoderConfig read_mistral(ConfigFields& fields, const std::vector<std::string>& ignored);
DecoderConfig read_olmo2(ConfigFields& fields, const std::vector<std::string>& ignored);
DecoderConfig read_phi(ConfigFields& fields, const std::vector<std::string>& ignored);
DecoderConfig read_phi3(ConfigFields& fields, const std::vector<std::string>& ignored);
DecoderConfig read_qwen2(ConfigFields& fields, const std::vector<std::string>& ignored);
DecoderConfig read_qwen3(ConfigFields& fields, const std::vector<std::string>& ignored);
DecoderConfig read_smollm3(ConfigFields& fields, const std::vector<std::string>& ignored);
DecoderConfig read_stablelm(ConfigFields& fields, const std::vector<std::string>& ignored);
DecoderConfig read_starcoder2(ConfigFields& fields, const std::vector<std::string>& ignored);

}  // namespace levin::nn
