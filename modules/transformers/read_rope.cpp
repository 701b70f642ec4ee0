#include <levin/modules/transformers/read_rope.h>
#include <levin/core/system/error.h>

#include <cmath>
#include <utility>

namespace levin::nn {
namespace {

constexpr std::pair<const char*, RopeScaling> kRopeTypes[] = {
    {"default", RopeScaling::Default}, {"linear", RopeScaling::Linear},     {"dynamic", RopeScaling::Dynamic},
    {"yarn", RopeScaling::Yarn},       {"longrope", RopeScaling::LongRope}, {"llama3", RopeScaling::Llama3}};

RopeScaling rope_type(ConfigFields& of_rope, const RopeDefaults& defaults) {
  const std::string old_word = of_rope.word("type", "default");
  std::string word = of_rope.word("rope_type", old_word);
  if (defaults.yarn_is_longrope && (word == "su" || word == "yarn")) word = "longrope";
  std::string known;
  for (const auto& [name, type] : kRopeTypes) {
    if (word == name) return type;
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  of_rope.fail("rope_type", "levin does not know ", word, "; it knows ", known);
}

double yarn_magnitude(double scale, double multiplier) {
  return scale <= 1 ? 1 : 0.1 * multiplier * std::log(scale) + 1;
}

void read_yarn(ConfigFields& of_rope, RopeConfig& rope) {
  // Python takes a zero for "not set".
  const auto or_default = [](double value, double otherwise) { return value == 0 ? otherwise : value; };
  rope.beta_fast = or_default(of_rope.number("beta_fast", 32), 32);
  rope.beta_slow = or_default(of_rope.number("beta_slow", 1), 1);
  rope.truncate = of_rope.flag("truncate", true);
  const double mscale = of_rope.number("mscale", 0), mscale_all_dim = of_rope.number("mscale_all_dim", 0);
  const double magnitude = mscale != 0 && mscale_all_dim != 0
                               ? yarn_magnitude(rope.factor, mscale) / yarn_magnitude(rope.factor, mscale_all_dim)
                               : yarn_magnitude(rope.factor, 1);
  rope.attention_factor = of_rope.number("attention_factor", magnitude);
}

void read_longrope(ConfigFields& of_rope, RopeConfig& rope) {
  rope.short_factors = of_rope.numbers("short_factor");
  rope.long_factors = of_rope.numbers("long_factor");
  for (const auto& [name, factors] :
       {std::pair("short_factor", &rope.short_factors), std::pair("long_factor", &rope.long_factors)})
    if (static_cast<int64_t>(factors->size()) != rope.dims / 2)
      of_rope.fail(name, "has ", factors->size(), " numbers, ", rope.dims / 2, " are needed: one for each pair of the ",
                   rope.dims, " rotated numbers of a head");
  if (rope.original_positions < 2) of_rope.fail("original_max_position_embeddings", "is at least 2");
  const double original = std::log(static_cast<double>(rope.original_positions));
  rope.attention_factor =
      of_rope.number("attention_factor", rope.factor <= 1 ? 1 : std::sqrt(1 + std::log(rope.factor) / original));
}

void read_llama3(ConfigFields& of_rope, RopeConfig& rope) {
  rope.low_freq_factor = of_rope.number("low_freq_factor");
  rope.high_freq_factor = of_rope.number("high_freq_factor");
  if (rope.low_freq_factor <= 0 || rope.high_freq_factor <= rope.low_freq_factor)
    of_rope.fail("high_freq_factor", "is above low_freq_factor, and that above 0");
}

/// Returns how many numbers of a head are rotated.
int64_t rotated(ConfigFields& fields, ConfigFields& of_rope, int64_t head_size, const RopeDefaults& defaults) {
  const double outside = fields.number("partial_rotary_factor", defaults.partial);
  const double part = of_rope.number("partial_rotary_factor", outside);
  if (!defaults.takes_partial && part != 1)
    fields.fail("partial_rotary_factor", "is ", part, ", and this family rotates whole heads");
  const auto dims = static_cast<int64_t>(static_cast<double>(head_size) * part);
  if (part <= 0 || part > 1 || dims < 2 || dims % 2 != 0)
    fields.fail("partial_rotary_factor", "a part of ", part, " of a head of ", head_size, " numbers gives ", dims,
                " rotated ones; an even number of at least 2 is needed");
  return dims;
}

}  // namespace

RopeConfig read_rope_object(ConfigFields& fields, const ConfigFields::Json* object, const std::string& path,
                            int64_t head_size, const RopeDefaults& defaults, const std::vector<std::string>& ignored) {
  const ConfigFields::Json nothing = ConfigFields::Json::object();
  ConfigFields of_rope(object ? *object : nothing, fields.place() + path + ".");
  RopeConfig rope = {.scaling = rope_type(of_rope, defaults)};
  rope.theta = of_rope.number("rope_theta", defaults.theta);
  if (rope.theta <= 0) fields.fail("rope_theta", "is above 0, got ", rope.theta);
  rope.dims = rotated(fields, of_rope, head_size, defaults);
  rope.max_positions = fields.whole("max_position_embeddings", 2048);
  const int64_t otherwise = defaults.original_positions > 0 ? defaults.original_positions : rope.max_positions;
  const int64_t inside = of_rope.whole("original_max_position_embeddings", otherwise);
  rope.original_positions = fields.whole("original_max_position_embeddings",
                                         defaults.original_positions > 0 ? defaults.original_positions : inside);
  const bool may_lack_factor = rope.scaling == RopeScaling::Yarn || rope.scaling == RopeScaling::LongRope;
  if (rope.scaling == RopeScaling::Default)
    of_rope.skip("factor");
  else
    rope.factor = of_rope.number("factor", may_lack_factor ? std::optional(static_cast<double>(rope.max_positions) /
                                                                           static_cast<double>(rope.original_positions))
                                                           : std::nullopt);
  if (rope.factor <= 0) of_rope.fail("factor", "is above 0");
  if (rope.scaling == RopeScaling::Dynamic && rope.dims <= 2)
    of_rope.fail("rope_type", "dynamic needs more than 2 rotated numbers of a head");
  if (rope.scaling == RopeScaling::Yarn) read_yarn(of_rope, rope);
  if (rope.scaling == RopeScaling::LongRope) read_longrope(of_rope, rope);
  if (rope.scaling == RopeScaling::Llama3) read_llama3(of_rope, rope);
  of_rope.check_all_read(ignored, path + ".");
  return rope;
}

RopeConfig read_rope(ConfigFields& fields, int64_t head_size, const RopeDefaults& defaults,
                     const std::vector<std::string>& ignored) {
  const ConfigFields::Json* const old_object = fields.find("rope_scaling");
  const ConfigFields::Json* const new_object = fields.find("rope_parameters");
  const bool is_old = old_object != nullptr && !old_object->empty();
  RopeDefaults with_theta = defaults;
  with_theta.theta = fields.number("rope_theta", defaults.theta);
  return read_rope_object(fields, is_old ? old_object : new_object, is_old ? "rope_scaling" : "rope_parameters",
                          head_size, with_theta, ignored);
}

}  // namespace levin::nn
