// Encodes or decodes the documents of a file once per line on standard input, and prints the seconds that it took.
// benchmarks/tokenizer.py trains the tokenizers, and measures the package tokenizers in alternation.
//
//   benchmark_tokenizer TOKENIZER FILE    FILE: documents, each ends with a byte 0
//   a line is encode, ids (encode without offsets), decode or load
#include <levin/data/tokenizer.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

std::vector<std::string> read_documents(const char* file) {
  std::ifstream stream(file, std::ios::binary);
  const std::string all((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  std::vector<std::string> documents;
  for (size_t begin = 0; begin < all.size();) {
    const size_t end = std::min(all.find('\0', begin), all.size());
    documents.push_back(all.substr(begin, end - begin));
    begin = end + 1;
  }
  return documents;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: benchmark_tokenizer TOKENIZER FILE\n");
    return 2;
  }
  const levin::Tokenizer tokenizer = levin::Tokenizer::from_file(argv[1]);
  const std::vector<std::string> documents = read_documents(argv[2]);
  std::vector<std::vector<int32_t>> ids;
  for (const std::string& document : documents) ids.push_back(tokenizer.encode(document).ids);
  size_t results = 0;
  for (std::string what; std::getline(std::cin, what);) {
    const auto begin = Clock::now();
    if (what == "load") {
      results += static_cast<size_t>(levin::Tokenizer::from_file(argv[1]).vocab_size());
    } else if (what == "decode") {
      for (const auto& one : ids) results += tokenizer.decode(one).size();
    } else {
      for (const std::string& document : documents) {
        results += tokenizer.encode(document, {.with_offsets = what == "encode"}).ids.size();
      }
    }
    std::printf("%.6f\n", std::chrono::duration<double>(Clock::now() - begin).count());
    std::fflush(stdout);
  }
  return results > 0 ? 0 : 1;
}
