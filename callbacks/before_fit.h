#pragma once

namespace levin {

class Trainer;
struct ModuleRef;
struct RunInputs;

/// What a callback does before a fit: a callback derives from this class too, and Trainer::fit calls it first of all,
/// before a run is made. Trials and dry runs do not.
class BeforeFit {
 public:
  virtual ~BeforeFit() = default;
  virtual void before_fit(Trainer& trainer, const ModuleRef& module, const RunInputs& inputs) = 0;
};

}  // namespace levin
