#pragma once
// The gloo declarations that LibTorch's ProcessGroupGloo.hpp needs, since no LibTorch package includes gloo's own
// headers. Its classes hold only pointers to these types. If gloo's headers are installed, they are used instead
// (trainer/CMakeLists.txt).
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace gloo {

class Algorithm;

class Context {
 public:
  void setTimeout(std::chrono::milliseconds timeout);
};

namespace transport {

class Device {
 public:
  virtual ~Device() = 0;
};

class UnboundBuffer {
 public:
  virtual ~UnboundBuffer() = 0;
};

}  // namespace transport

namespace rendezvous {

class Store {
 public:
  virtual ~Store();
  virtual void set(const std::string& key, const std::vector<char>& value) = 0;
  virtual std::vector<char> get(const std::string& key) = 0;
  virtual void wait(const std::vector<std::string>& keys) = 0;
  virtual void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) = 0;
};

}  // namespace rendezvous
}  // namespace gloo
