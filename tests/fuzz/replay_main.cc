// Runs a fuzz target over files and folders, each whole and with cheap mutations (cut short, bytes
// changed): the corpus as an ordinary test, for compilers without libFuzzer.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "base/fd.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

void Run(const std::string& bytes) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

size_t RunMutations(const std::string& bytes) {
  constexpr size_t kMutations = 400;
  uint64_t state = 1;
  const auto next = [&state] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
  };
  for (size_t i = 0; i < kMutations && !bytes.empty(); i++) {
    std::string mutated = bytes;
    const size_t at = next() % mutated.size();
    switch (i % 4) {
      case 0:
        mutated.resize(at);
        break;
      case 1:
        mutated[at] = static_cast<char>(next());
        break;
      case 2:
        mutated.erase(at, 1 + next() % 20);
        break;
      default:
        mutated.insert(at, bytes.substr(next() % bytes.size(), 1 + next() % 20));
        break;
    }
    Run(mutated);
  }
  return bytes.empty() ? 0 : kMutations;
}

std::vector<std::string> FilesOf(const std::string& path) {
  namespace fs = std::filesystem;
  if (!fs::is_directory(path)) return {path};
  std::vector<std::string> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path)) {
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  size_t files = 0;
  size_t mutations = 0;
  for (int i = 1; i < argc; i++) {
    for (const std::string& file : FilesOf(argv[i])) {
      const auto bytes = blkfair::ReadWholeFile(file);
      if (!bytes) {
        std::fprintf(stderr, "%s\n", bytes.error().message.c_str());
        return 1;
      }
      Run(*bytes);
      files++;
      mutations += RunMutations(*bytes);
    }
  }
  std::printf("%zu files, %zu mutations\n", files, mutations);
  return files == 0 ? 1 : 0;  // an empty corpus tests nothing
}
