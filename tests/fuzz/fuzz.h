#pragma once
#include <string>
#include <vector>

namespace levin::testing {

/// Reads `input` as config files (divided by lines of three dashes), merges them, resolves their references and checks
/// them. Only UsageError may come of it, and is caught. Throws std::logic_error where a promise does not hold: a config
/// without problems can be set, and reads the same when it is written and read again.
void fuzz_config(const std::string& input);

/// Reads the lines of `input` as the arguments of a command, by the same rules.
void fuzz_flags(const std::string& input);

/// Reads `input` as a PNG file, or as a JPEG file. Only UsageError may come of it, and is caught. Throws
/// std::logic_error where the image is not what was asked for, or differs when it is written and read again.
void fuzz_png(const std::string& input);
void fuzz_jpeg(const std::string& input);

/// Reads `input` as an idx file, plain or gzip; as a .npy or .npz file; as a CSV file; as a tar file, plain or gzip.
/// Only UsageError may come of it, and is caught. Throws std::logic_error where a promise does not hold: values are no
/// more than the file can hold, arrays and tables read the same when they are written again, and a sample of a tar file
/// is found again at its byte.
void fuzz_idx(const std::string& input);
void fuzz_npy(const std::string& input);
void fuzz_csv(const std::string& input);
void fuzz_tar(const std::string& input);

/// Reads `input` as a state file, with its checksums and without; or as the pickle of one. Only UsageError may come of
/// it, and is caught. Throws std::logic_error where a promise does not hold: no more memory is held at once than 64 MB
/// and the size of the input, and a state reads the same when it is written again.
void fuzz_state_file(const std::string& input);
void fuzz_pickle(const std::string& input);

/// Inputs to begin with.
const std::vector<std::string>& config_seeds();
const std::vector<std::string>& flag_seeds();
const std::vector<std::string>& png_seeds();
const std::vector<std::string>& jpeg_seeds();
const std::vector<std::string>& idx_seeds();
const std::vector<std::string>& npy_seeds();
const std::vector<std::string>& csv_seeds();
const std::vector<std::string>& tar_seeds();
const std::vector<std::string>& state_file_seeds();
const std::vector<std::string>& pickle_seeds();

}  // namespace levin::testing
