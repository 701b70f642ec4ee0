#pragma once
#define H5_USE_110_API  // the library's newer versions have these functions by these names
#include <hdf5.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace levin::data {

/// Returns what the library says of its last error, and forgets it.
inline std::string hdf5_error() {
  std::string text;
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned, const H5E_error2_t* error, void* into) -> herr_t {
        auto& found = *static_cast<std::string*>(into);
        if (found.empty() && error->desc) found = error->desc;
        return 0;
      },
      &text);
  H5Eclear2(H5E_DEFAULT);
  return text.empty() ? "the file is damaged" : text;
}

/// Throws std::runtime_error for an error of the library; returns `result`.
template <class T>
T hdf5_checked(T result, const std::string& what) {
  if (result < 0) throw std::runtime_error(what + ": " + hdf5_error());
  return result;
}

/// One of the library's objects.
class Hdf5Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Hdf5Handle(hid_t id, Close close, const std::string& what) : id_(hdf5_checked(id, what)), close_(close) {}
  ~Hdf5Handle() {
    if (id_ >= 0) close_(id_);
  }
  Hdf5Handle(Hdf5Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Hdf5Handle& operator=(Hdf5Handle&&) = delete;
  Hdf5Handle(const Hdf5Handle&) = delete;
  Hdf5Handle& operator=(const Hdf5Handle&) = delete;
  operator hid_t() const { return id_; }

 private:
  hid_t id_;
  Close close_;
};

}  // namespace levin::data
