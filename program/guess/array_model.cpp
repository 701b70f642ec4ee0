#include <levin/program/guess/array_model.h>
#include <levin/data/transforms/engine/image_batch.h>
#include <levin/program/guess/common.h>

#include <c10/util/accumulate.h>

namespace levin::cli {
namespace {

constexpr int64_t kMostClasses = 10'000;

bool is_color(int64_t size) { return size == 1 || size == 3; }

void set_table_model(int64_t features, const ArrayTarget& target, CommentedConfig& config) {
  config.set("model", "class", target.classes > 0 ? "MLPClassifier" : "MLPRegressor");
  config.set("model", "features", features);
  if (target.classes > 0) config.set("model", "num_classes", target.classes);
  if (target.classes == 0 && target.numbers > 1) config.set("model", "outputs", target.numbers);
  set_optimizer(config);
}

/// The mlp takes images of any shape with three dimensions; it sees no more in them than rows of numbers.
void set_mlp(const std::vector<int64_t>& shape, int64_t classes, CommentedConfig& config, const std::string& comment) {
  config.set("model", "class", "ImageClassifier");
  config.set("model", "net", "mlp", comment);
  config.set("model", "num_classes", classes);
  config.set("model", "image_shape", shape);
  set_optimizer(config);
}

}  // namespace

std::string shape_text(const at::Tensor& array) { return data::describe(array); }

std::optional<ArrayTarget> array_target(const at::Tensor& target, const std::string& name, Guess& guess) {
  const auto stop = [&](const std::string& what, const std::string& advice) {
    guess.stops.push_back({name + ": " + what, advice});
    return std::nullopt;
  };
  if (target.is_complex()) return stop("complex targets", "save numbers, or class numbers");
  if (target.is_floating_point()) {
    if (target.dim() == 1) return ArrayTarget{};
    if (target.dim() == 2) return ArrayTarget{.numbers = target.size(1)};
    return stop("targets " + shape_text(target), "save them as [samples] or [samples, numbers]: y.reshape(len(y), -1)");
  }
  const at::Tensor whole = target.to(at::kLong);
  if (target.dim() == 2 && target.numel() > 0 && whole.ge(0).logical_and(whole.le(1)).all().item<bool>()) {
    if (whole.sum(1).eq(1).all().item<bool>())
      return stop("targets " + shape_text(target) + ", one 1 in each row",
                  "save the class numbers in their place: np.save(\"y.npy\", y.argmax(1))");
    return stop(
        "targets " + shape_text(target) + ", several classes of one sample",
        "levin's classifiers give one class to each sample; save y.astype(\"float32\") to predict the numbers 0 "
        "and 1, or write a module with a loss for each class (levin new)");
  }
  if (target.dim() != 1 || target.scalar_type() == at::kBool)
    return stop("targets " + shape_text(target),
                "save class numbers as int64 [samples]: np.save(\"y.npy\", y.reshape(-1).astype(\"int64\"))");
  if (target.numel() == 0) return stop("no targets", "save one for each sample");
  const auto least = target.min().item<int64_t>(), most = target.max().item<int64_t>();
  if (least < 0 || most >= kMostClasses)
    return stop("class numbers from " + std::to_string(least) + " to " + std::to_string(most),
                "classes are numbered 0, 1, 2, ...; save numbers to predict as float32: y.astype(\"float32\")");
  if (most == 0) return stop("one class alone, 0", "add samples of other classes");
  return ArrayTarget{.classes = most + 1};
}

void set_array_model(const std::vector<int64_t>& sample, at::ScalarType dtype, const ArrayTarget& target,
                     const std::string& name, Guess& guess) {
  const auto stop = [&](const std::string& what, const std::string& advice) {
    guess.stops.push_back({name + ": " + what, advice});
  };
  if (c10::isComplexType(dtype))
    return stop("complex inputs", "save real and imaginary parts as numbers beside each other");
  if (sample.empty()) return stop("inputs [samples]", "save them as [samples, 1]: x.reshape(-1, 1)");
  if (c10::multiply_integers(sample) == 0) return stop("samples without a value", "save numbers");
  if (sample.size() == 1) return set_table_model(sample[0], target, guess.config);
  const std::string flat = "save them as rows of numbers: x.reshape(len(x), -1)";
  if (target.classes == 0) return stop("levin has no model of its own that predicts numbers from such inputs", flat);
  if (sample.size() == 3 && is_color(sample[0])) {
    set_image_model(guess.config, sample, target.classes);
  } else if (sample.size() == 3 && is_color(sample[2])) {
    set_mlp(sample, target.classes, guess.config,
            "for lenet or resnet18 save images as [samples, channels, height, width]: x.transpose(0, 3, 1, 2)");
  } else if (sample.size() <= 3) {
    std::vector<int64_t> shape = sample;
    if (shape.size() == 2) shape.insert(shape.begin(), 1);
    set_mlp(shape, target.classes, guess.config,
            sample.size() == 2 ? "for lenet or resnet18 save images as [samples, 1, height, width]: x[:, None]" : "");
  } else {
    stop("inputs with " + std::to_string(sample.size() + 1) + " dimensions", flat);
  }
}

}  // namespace levin::cli
