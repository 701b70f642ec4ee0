#include <levin/modules/adapters/peft_weights.h>
#include <levin/core/state/safetensors.h>
#include <levin/core/system/error.h>

namespace levin::adapters {

PeftWeights read_peft_weights(const std::filesystem::path& file) {
  PeftWeights weights;
  for (const auto& [key, value] : load_safetensors(file).to_dict()) {
    std::string name = to_text(key);
    if (!name.starts_with(kPeftPrefix))
      throw UsageError(file.string(), ": ", name, " is no name of an adapter: it does not begin with ", kPeftPrefix);
    name.erase(0, kPeftPrefix.size());
    if (name.ends_with(kFactorA))
      weights.factors[name.substr(0, name.size() - kFactorA.size())].a = value.to_tensor();
    else if (name.ends_with(kFactorB))
      weights.factors[name.substr(0, name.size() - kFactorB.size())].b = value.to_tensor();
    else if (name.ends_with(kMagnitude))
      weights.factors[name.substr(0, name.size() - kMagnitude.size())].magnitude = value.to_tensor();
    else if (name.find(".lora_") != std::string::npos)
      throw UsageError(file.string(), ": ", name, " belongs to a kind of adapter that is not supported");
    else
      weights.others[name] = value.to_tensor();
  }
  if (weights.factors.empty()) throw UsageError(file.string(), ": no adapters in this file");
  for (const auto& [layer, factors] : weights.factors) {
    const bool fits = factors.a.defined() && factors.b.defined() && factors.a.dim() == 2 && factors.b.dim() == 2 &&
                      factors.a.size(0) == factors.b.size(1) && factors.a.size(0) > 0;
    if (!fits) throw UsageError(file.string(), ": ", layer, " has no pair of factors [rank, in] and [out, rank]");
    if (factors.magnitude.defined() && factors.magnitude.sizes() != at::IntArrayRef{factors.b.size(0)})
      throw UsageError(file.string(), ": ", layer, " has magnitudes of ", factors.magnitude.sizes(), " for ",
                       factors.b.size(0), " outputs");
  }
  return weights;
}

void check_magnitudes(const PeftWeights& weights, bool dora, const std::string& file) {
  for (const auto& [layer, factors] : weights.factors)
    if (factors.magnitude.defined() != dora)
      throw UsageError(file, ": ", layer, dora ? " has no lora_magnitude_vector" : " has a lora_magnitude_vector",
                       ", and use_dora is ", dora ? "true" : "false", " in ", kPeftConfigFile);
}

bool is_transposed(at::IntArrayRef sizes, const Factors& factors, bool transposes_square, const std::string& what) {
  const std::vector<int64_t> straight = {factors.b.size(0), factors.a.size(1)};
  const std::vector<int64_t> transposed = {straight[1], straight[0]};
  const bool fits = sizes == straight, fits_transposed = sizes == transposed;
  if (!fits && !fits_transposed)
    throw UsageError(what, ": the adapter is for a weight of ", at::IntArrayRef(straight), ", and the weight is of ",
                     sizes);
  return fits && fits_transposed ? transposes_square : !fits;
}

std::optional<std::string> name_in(const std::vector<std::string>& all, const std::string& name) {
  std::optional<std::string> found;
  for (const std::string& one : all) {
    if (one == name) return one;
    if (!one.ends_with("." + name)) continue;
    if (found) return {};
    found = one;
  }
  return found;
}

}  // namespace levin::adapters
