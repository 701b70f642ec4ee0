#pragma once
#include <levin/data/datasets/mixture_dataset.h>
#include <levin/data/sampler.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace levin::data {

/// A sample of a mixture before it is loaded. It has the interface of a user's own batch struct, with one sample.
struct MixtureSample {
  int64_t part = 0;
  int64_t index = 0;  ///< in a map-style dataset
  uint64_t seed = 0;
  int64_t epoch = 0;  ///< of the part, which counts when it starts again
  Batch sample = {};  ///< of a stream

  int64_t size() const { return 1; }
  MixtureSample to(c10::Device /*device*/) const { return *this; }
};

/// One epoch of a mixture. The state holds, for each part, how often it has started again, how many of its samples were
/// taken, and the state of its stream; it is unset while a stream has none.
class MixtureStream final : public SampleStream {
 public:
  using Parts = std::shared_ptr<const std::vector<MixturePart>>;
  MixtureStream(Parts parts, const MixtureDatasetOptions& mixing, const StreamOptions& options);

  std::optional<Batch> next() override;
  std::optional<State> state_dict() const override;
  /// Throws levin::Error for a state of another number of parts.
  void load_state_dict(const State& state) override;

 private:
  /// The place in one part.
  struct Place {
    int64_t pass = 0;   ///< how often the part has started again
    int64_t taken = 0;  ///< samples in this pass
    int64_t due = 0;    ///< how often the part was chosen, in all passes
    bool ended = false;
    std::shared_ptr<const SampleOrder> order = {};
    std::unique_ptr<SampleStream> stream = {};
  };

  const MixturePart& part(size_t i) const { return (*parts_)[i]; }
  uint64_t seed_of(size_t i) const;
  int64_t epoch_of(const Place& place) const;
  /// Opens the part's present pass if it is not open.
  void open(size_t i);
  /// Returns the part of the next sample; nothing if all have ended.
  std::optional<size_t> choose() const;
  size_t draw(double whole) const;
  /// Returns the part's next sample; nothing at its end.
  std::optional<Batch> take(size_t i);
  /// Lets the part start again, or says that the epoch has ended.
  bool continues_after(size_t i);

  Parts parts_;
  MixtureDatasetOptions mixing_;
  StreamOptions options_;
  std::vector<Place> places_;
  int64_t given_ = 0;
  bool ended_ = false;
  Indices index_ = {};
};

}  // namespace levin::data
