#pragma once
#include <string>
#include <vector>

namespace levin::testing {

/// Reads `input` as config files (separated by lines of three dashes), merges them, resolves their references and
/// checks them. Only UsageError is allowed, and is caught. Throws std::logic_error if a promise is broken: a config
/// without problems can be set, and is the same after it is written and read again.
void fuzz_config(const std::string& input);

/// Reads the lines of `input` as command-line arguments, by the same rules.
void fuzz_flags(const std::string& input);

/// Reads `input` as the header of a request to `levin serve`. Throws std::logic_error if a promise is broken: what was
/// read has no control characters, and is the same after it is written and read again.
void fuzz_http_request(const std::string& input);

/// Reads `input` as a PNG, JPEG, TIFF or WebP file. Only UsageError is allowed, and is caught. Throws std::logic_error
/// if the image is not what was requested, or changes when it is written and read again.
void fuzz_png(const std::string& input);
void fuzz_jpeg(const std::string& input);
void fuzz_tiff(const std::string& input);
void fuzz_webp(const std::string& input);

/// Reads `input` as an idx file, plain or gzip; as a .npy or .npz file; as a CSV file; as a tar file, plain or gzip.
/// Only UsageError is allowed, and is caught. Throws std::logic_error if a promise is broken: there are no more values
/// than the file can hold, arrays and tables are the same after they are written and read again, and a sample of a tar
/// file is found again at its byte offset.
void fuzz_idx(const std::string& input);
void fuzz_npy(const std::string& input);
void fuzz_csv(const std::string& input);
void fuzz_tar(const std::string& input);

/// Reads `input` as a tokenizer.json and, behind a byte 0x1e, a text, and encodes that. Only UsageError is allowed, and
/// is caught. Throws std::logic_error if a promise is broken: each token is in the vocabulary, lies in the text, and is
/// the same without offsets.
void fuzz_tokenizer(const std::string& input);

/// Reads `input` as a state file, with and without its checksums, or as the pickle of a state file. Only UsageError is
/// allowed, and is caught. Throws std::logic_error if a promise is broken: at any time the memory in use is at most 64
/// MB plus the size of the input, and a state is the same after it is written and read again.
void fuzz_state_file(const std::string& input);
void fuzz_pickle(const std::string& input);

/// Reads `input` as the JSON of an exported program, or as choices of operators and arguments, and runs the program.
/// Only errors of the program are allowed, and are caught: no operator may crash the process.
void fuzz_program(const std::string& input);
void fuzz_program_operators(const std::string& input);

/// Reads `input` as a package of a compiled step, or as the description in one whose archive is sound, up to where its
/// code would be loaded. Only UsageError is allowed, and is caught. Throws std::logic_error if a promise is broken: at
/// any time the memory in use is at most 64 MB plus the size of the input, and the input's sizes fit in 64 bits.
void fuzz_compiled_package(const std::string& input);
void fuzz_compiled_description(const std::string& input);

/// Reads `input` as the files of a run, each behind a byte 0x1e and a letter, and shows the run as ls, compare, watch,
/// report and serve do. Only UsageError is allowed, and is caught. Throws std::logic_error if a promise is broken: the
/// memory in use is at most 64 MB, a page's data are JSON without a tag, and no text controls a terminal.
void fuzz_recorded_run(const std::string& input);

/// Initial inputs of the fuzz targets.
const std::vector<std::string>& config_seeds();
const std::vector<std::string>& flag_seeds();
const std::vector<std::string>& http_request_seeds();
const std::vector<std::string>& png_seeds();
const std::vector<std::string>& jpeg_seeds();
const std::vector<std::string>& tiff_seeds();
const std::vector<std::string>& webp_seeds();
const std::vector<std::string>& idx_seeds();
const std::vector<std::string>& npy_seeds();
const std::vector<std::string>& csv_seeds();
const std::vector<std::string>& tar_seeds();
const std::vector<std::string>& tokenizer_seeds();
const std::vector<std::string>& state_file_seeds();
const std::vector<std::string>& pickle_seeds();
const std::vector<std::string>& program_seeds();
const std::vector<std::string>& program_operators_seeds();
const std::vector<std::string>& compiled_package_seeds();
const std::vector<std::string>& compiled_description_seeds();
const std::vector<std::string>& recorded_run_seeds();

}  // namespace levin::testing
