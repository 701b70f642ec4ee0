#include <levin/modules/transformers/families.h>

namespace levin::nn {

std::span<const Family> families() {
  static constexpr Family all[] = {{"gemma", read_gemma},
                                   {"gemma2", read_gemma2},
                                   {"gemma3_text", read_gemma3_text},
                                   {"gpt2", read_gpt2},
                                   {"gpt_neox", read_gpt_neox},
                                   {"granite", read_granite},
                                   {"llama", read_llama},
                                   {"mistral", read_mistral},
                                   {"olmo2", read_olmo2},
                                   {"phi", read_phi},
                                   {"phi3", read_phi3},
                                   {"qwen2", read_qwen2},
                                   {"qwen3", read_qwen3},
                                   {"smollm3", read_smollm3},
                                   {"stablelm", read_stablelm},
                                   {"starcoder2", read_starcoder2}};
  return all;
}

}  // namespace levin::nn
