#include <ATen/TensorOperators.h>
#include <ATen/ops/isfinite.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/npy.h>
#include <levin/data/files/npy_file.h>
#include <levin/program/guess/array_model.h>
#include <levin/program/guess/common.h>
#include <levin/program/guess/kinds.h>

#include <c10/util/accumulate.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

namespace levin::cli {
namespace {

namespace fs = std::filesystem;

const std::set<std::string> kInputs = {"x", "input", "inputs", "image", "images", "data", "feature", "features"};
const std::set<std::string> kTargets = {"y", "target", "targets", "label", "labels", "class", "classes"};

bool has_word_of(const std::set<std::string>& names, const fs::path& file) {
  return std::ranges::any_of(words_of_name(file), [&](const std::string& word) { return names.contains(word); });
}

bool is_npz(const fs::path& file) { return file.extension() == ".npz"; }

/// The arrays of one part, and the names by which the config finds them.
struct Arrays {
  fs::path input_file = {}, target_file = {};
  std::string input_key = {}, target_key = {};  ///< of a .npz file
  at::Tensor input = {}, target = {};

  std::string input_name() const { return input_file.string() + (input_key.empty() ? "" : ": " + input_key); }
  std::string target_name() const {
    return (target_file.empty() ? input_file : target_file).string() + (target_key.empty() ? "" : ": " + target_key);
  }
};

/// Sets `key` to a name that fits, unless it has one of the training part already.
void take_key(const std::string& name, std::string& key) {
  if (key.empty() || part_of(key) != Part::Train) key = name;
}

/// Tells of arrays of a .npz file that the config does not use.
void tell_unused(const fs::path& file, const std::vector<std::string>& names, const Arrays& arrays, Guess& guess) {
  std::vector<std::string> unused;
  for (const std::string& name : names)
    if (name != arrays.input_key && name != arrays.target_key) unused.push_back(name);
  if (unused.empty()) return;
  guess.broken.push_back({file.string() + ": of its arrays these are not used: " + listed(unused),
                          "arrays for validation and test go to files of their own, named val.npz and test.npz, with "
                          "the names " +
                              arrays.input_key + " and " + arrays.target_key});
}

/// Reads the two arrays of a .npz file: by their names, or else the larger one as input.
bool read_npz(const fs::path& file, Arrays& arrays, Guess& guess) {
  const auto all = data::npz_headers(file);
  std::vector<std::string> names;
  for (const auto& [name, header] : all) {
    names.push_back(name);
    if (has_word_of(kInputs, name)) take_key(name, arrays.input_key);
    if (has_word_of(kTargets, name)) take_key(name, arrays.target_key);
  }
  if (all.size() == 2 && (arrays.input_key.empty() || arrays.target_key.empty())) {
    const bool first =
        c10::multiply_integers(all.begin()->second.shape) >= c10::multiply_integers(all.rbegin()->second.shape);
    arrays.input_key = first ? all.begin()->first : all.rbegin()->first;
    arrays.target_key = first ? all.rbegin()->first : all.begin()->first;
  }
  if (arrays.input_key.empty() || arrays.target_key.empty() || arrays.input_key == arrays.target_key) {
    guess.stops.push_back(
        {file.string() + ": it is not clear which arrays are inputs and targets; it holds " + listed(names),
         "save them by the names input and target: np.savez(\"data.npz\", input=x, target=y)"});
    return false;
  }
  tell_unused(file, names, arrays, guess);
  arrays.input_file = file;
  const auto read = data::read_npz(file, {arrays.input_key, arrays.target_key});
  arrays.input = read.at(arrays.input_key);
  arrays.target = read.at(arrays.target_key);
  return true;
}

/// Reads the arrays of a part; nothing, with a stop, if they cannot be read or one is missing. `needs_target`: inputs
/// alone are no part.
std::optional<Arrays> read(const Paths& files, const GuessOptions& options, bool needs_target, Guess& guess) {
  Arrays arrays;
  for (const fs::path& file : files) {
    const bool is_named = file == fs::path(options.target) || file.filename() == options.target;
    const bool is_target = options.target.empty() ? has_word_of(kTargets, file) : is_named;
    if (is_npz(file))
      arrays.input_file = file;
    else if (is_target)
      arrays.target_file = file;
    else if (arrays.input_file.empty() || has_word_of(kInputs, file))
      arrays.input_file = file;
  }
  if (is_npz(arrays.input_file)) arrays.target_file.clear();
  if (needs_target && arrays.target_file.empty() && !options.target.empty()) arrays.target_file = options.target;
  std::vector<std::string> unused;
  for (const fs::path& file : files)
    if (file != arrays.input_file && file != arrays.target_file) unused.push_back(file.filename().string());
  if (!unused.empty())
    guess.broken.push_back({"of the arrays these are not used: " + listed(unused),
                            "name one file in place of the folder, or put inputs and targets alone into a folder"});
  const fs::path some = files.front();
  const bool lacks_target = !is_npz(arrays.input_file) && arrays.target_file.empty();
  if (arrays.input_file.empty() || (needs_target && lacks_target)) {
    guess.stops.push_back(
        {some.string() + ": an array alone, without " + (arrays.input_file.empty() ? "inputs" : "targets"),
         "put both into one folder, as x.npy and y.npy, or name the targets: --target y.npy"});
    return {};
  }
  try {
    if (is_npz(arrays.input_file)) {
      const fs::path file = std::exchange(arrays.input_file, {});
      if (!read_npz(file, arrays, guess)) return {};
      return arrays;
    }
    arrays.input = data::map_npy(arrays.input_file);
    if (!arrays.target_file.empty()) arrays.target = data::map_npy(arrays.target_file);
  } catch (const UsageError& error) {
    guess.stops.push_back(fault_of(error, "copy the file again, or save it again: np.save(\"x.npy\", x)"));
    return {};
  }
  return arrays;
}

/// Stops the guess if some of the samples looked at hold no numbers.
void check_finite(const at::Tensor& array, const std::string& name, const GuessOptions& options, Guess& guess) {
  if (!array.is_floating_point() || array.size(0) == 0) return;
  const std::vector<size_t> which = to_look_at(static_cast<size_t>(array.size(0)), options);
  const auto wrong = std::ranges::count_if(
      which, [&](size_t index) { return !at::isfinite(array[static_cast<int64_t>(index)]).all().item<bool>(); });
  if (wrong > 0)
    guess.stops.push_back({name + ": NaN or infinite values in " + counted(wrong, "sample") + " of " +
                               std::to_string(which.size()) + " looked at",
                           "a loss of such values is NaN; leave these samples out, or put numbers in their place: "
                           "np.nan_to_num(x)"});
}

void look(const Arrays& arrays, const std::string& part, const GuessOptions& options, Guess& guess) {
  const std::string before = part.empty() ? "" : part + ": ";
  guess.seen.push_back(before + "inputs  " + arrays.input_name() + "  " + shape_text(arrays.input));
  if (!arrays.target.defined()) {
    guess.seen.push_back(before + "no targets, for predict alone");
    return check_finite(arrays.input, arrays.input_name(), options, guess);
  }
  guess.seen.push_back(before + "targets " + arrays.target_name() + "  " + shape_text(arrays.target));
  if (arrays.input.dim() == 0 || arrays.target.dim() == 0 || arrays.input.size(0) != arrays.target.size(0)) {
    guess.stops.push_back({arrays.input_name() + " and " + arrays.target_name() +
                               " have different numbers of samples, in their first dimension",
                           "save as many targets as inputs"});
    return;
  }
  check_finite(arrays.input, arrays.input_name(), options, guess);
  check_finite(arrays.target, arrays.target_name(), options, guess);
}

/// Sets what whole numbers are divided by, unless they are bytes of the whole range: their largest value.
void set_divisor(const at::Tensor& input, const GuessOptions& options, CommentedConfig& config) {
  if (!c10::isIntegralType(input.scalar_type(), /*includeBool=*/false) || input.size(0) == 0) return;
  constexpr int64_t kHalfOfBytes = 127;
  int64_t most = 0;
  for (const size_t index : to_look_at(static_cast<size_t>(input.size(0)), options)) {
    const at::Tensor sample = input[static_cast<int64_t>(index)].to(at::kLong);
    if (sample.numel() > 0) most = std::max(most, sample.abs().max().item<int64_t>());
  }
  const bool is_usual = input.scalar_type() == at::kByte ? most > kHalfOfBytes : most <= 1;
  if (!is_usual && most > 0)
    config.set("data", "divide_by", static_cast<double>(most),
               "the largest value, so that the model sees numbers up to 1");
}

bool is_float32(const at::Tensor& array) { return array.scalar_type() == at::kFloat; }

void set_files(CommentedConfig& config, const std::string& prefix, const Arrays& arrays) {
  config.set("data", prefix + "input", arrays.input_file.string());
  if (!arrays.target_file.empty()) config.set("data", prefix + "target", arrays.target_file.string());
}

}  // namespace

Paths beside_array(const fs::path& file, const Paths& all) {
  const bool is_target = has_word_of(kTargets, file);
  Paths kept;
  for (const fs::path& other : all) {
    const bool is_itself = other.filename() == file.filename();
    const bool plays_its_part = part_of(other) == part_of(file) && has_word_of(kTargets, other) == is_target;
    if (is_itself || (!is_npz(other) && !plays_its_part)) kept.push_back(other);
  }
  return kept;
}

Guess guess_arrays(const Paths& files, const GuessOptions& options) {
  Guess guess{.kind = "arrays of NumPy"};
  std::array<Paths, 3> parts;
  for (const fs::path& file : files) parts[static_cast<size_t>(part_of(file))].push_back(file);
  if (parts[0].empty()) parts[0] = files;
  const std::array<const char*, 3> names = {"train", "val", "test"};
  std::array<std::optional<Arrays>, 3> read_parts;
  const bool is_one = parts[1].empty() && parts[2].empty();
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].empty()) continue;
    const bool is_test = i + 1 == parts.size();
    read_parts[i] = read(parts[i], options, !is_test, guess);
    if (read_parts[i]) look(*read_parts[i], is_one ? "" : names[i], options, guess);
  }
  const std::optional<Arrays>& train = read_parts[0];
  if (!train || !guess.stops.empty()) return guess;
  const std::optional<ArrayTarget> target = array_target(train->target, train->target_name(), guess);
  if (!target) return guess;
  guess.seen.push_back(target->classes > 0
                           ? std::to_string(target->classes) + " classes"
                           : "the targets are " + counted(target->numbers, "number") + " of each sample");
  set_training(guess.config, "arrays", kGuessedArrayEpochs);
  set_array_model(train->input.sizes().slice(1).vec(), train->input.scalar_type(), *target, train->input_name(), guess);
  if (!guess.stops.empty()) return guess;
  CommentedConfig& config = guess.config;
  config.set("data", "class", "Npy");
  const char* const prefixes[] = {"", "val_", "test_"};
  for (size_t i = 0; i < read_parts.size(); ++i)
    if (read_parts[i]) set_files(config, prefixes[i], *read_parts[i]);
  if (!train->input_key.empty()) {
    config.set("data", "input_key", train->input_key);
    config.set("data", "target_key", train->target_key);
  }
  if (!is_float32(train->input) || (target->classes == 0 && !is_float32(train->target)))
    config.set("data", "dtype", "float32",
               "levin's models take float32; bytes are divided by 255, if nothing else is set");
  set_divisor(train->input, options, config);
  if (read_parts[1])
    set_best_checkpoint(config);
  else
    set_val_fraction(config, train->input.size(0));
  config.set("data", "batch_size", kGuessedBatch);
  return guess;
}

}  // namespace levin::cli
