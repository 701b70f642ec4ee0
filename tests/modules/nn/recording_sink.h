#pragma once
#include <levin/core/run/log_sink.h>
#include <levin/core/run/logged_metric.h>

#include <map>
#include <memory>
#include <string>

/// Records what a module logs.
struct RecordingSink : levin::LogSink {
  void log(const std::string& name, const at::Tensor& value, const levin::LogOptions& options_) override {
    values[name] = value.item<double>();
    options[name] = options_;
  }
  void log(const std::string&, double, const levin::LogOptions&) override {}
  void log(const std::string& name, const std::shared_ptr<levin::LoggedMetric>& metric,
           const levin::LogOptions& options_) override {
    metrics[name] = metric;
    options[name] = options_;
  }
  std::map<std::string, double> values = {};
  std::map<std::string, std::shared_ptr<levin::LoggedMetric>> metrics = {};
  std::map<std::string, levin::LogOptions> options = {};
};
