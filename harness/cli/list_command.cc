#include <fmt/format.h>

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "engines/engine_table.h"
#include "harness/cli/command.h"
#include "harness/cli/exit_codes.h"
#include "harness/run/catalog.h"
#include "scenarios/language/reference.h"

namespace blkfair {

namespace {

void PrintParts(const char* title, const std::vector<PartInfo>& parts) {
  fmt::print("{}\n", title);
  for (const PartInfo& part : parts) {
    fmt::print("  {:<18} {}\n", part.name, part.help);
    for (const ParamSpec& param : part.params) {
      fmt::print("    {:<18} {}{}{}\n", param.name, param.help,
                 param.default_text.empty() ? "" : fmt::format(" [{}]", param.default_text),
                 param.required ? " (required)" : "");
    }
  }
}

class ListCommand final : public Command {
 public:
  CLI::App* AddTo(CLI::App& app) override {
    CLI::App* command =
        app.add_subcommand("list", "List engines, fixtures and assertions with their keys");
    command->add_flag("--markdown", markdown_, "Print the key reference of scenarios/README.md");
    return command;
  }

  int Run() override {
    const Catalog& catalog = TheCatalog();
    if (markdown_) {
      fmt::print("{}", KeyReferenceMarkdown(catalog));
      return kExitPass;
    }
    PrintParts("Engines", catalog.engines);
    for (const EngineInfo* engine : AllEngines()) {
      if (auto usable = engine->probe(); !usable) {
        fmt::print("  {} is not usable here: {}\n", engine->name, usable.error().message);
      }
    }
    PrintParts("\nFixtures", catalog.fixtures);
    PrintParts("\nAssertions", catalog.assertions);
    return kExitPass;
  }

 private:
  bool markdown_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeListCommand() { return std::make_unique<ListCommand>(); }

}  // namespace blkfair
