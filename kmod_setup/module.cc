#include "kmod_setup/module.h"

#include <fmt/format.h>

#include <algorithm>

namespace blkfair {

namespace {

std::string ModuleDir(const KernelFs& fs, std::string_view name) {
  return fmt::format("{}/module/{}", fs.roots().sys, ModuleSysName(name));
}

// The kernel takes one argument per word; double quotes keep blanks in a value together.
std::string Quoted(const std::string& value) {
  return value.find(' ') == std::string::npos ? value : '"' + value + '"';
}

}  // namespace

std::string FormatModuleParameters(const ModuleParameters& parameters) {
  std::string text;
  for (const auto& [name, value] : parameters) {
    if (!text.empty()) text += ' ';
    text += name + '=' + Quoted(value);
  }
  return text;
}

ModuleParameters ParseModuleParameters(std::string_view text) {
  ModuleParameters parameters;
  while (!text.empty()) {
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) break;
    const std::string name(text.substr(0, equals));
    text.remove_prefix(equals + 1);
    const bool quoted = !text.empty() && text.front() == '"';
    if (quoted) text.remove_prefix(1);
    const size_t end = std::min(text.find(quoted ? '"' : ' '), text.size());
    parameters.emplace_back(name, text.substr(0, end));
    text.remove_prefix(end);
    text.remove_prefix(std::min(text.find_first_not_of("\" "), text.size()));
  }
  return parameters;
}

std::string ModuleSysName(std::string_view name) {
  std::string sys_name(name);
  std::replace(sys_name.begin(), sys_name.end(), '-', '_');
  return sys_name;
}

ModuleState GetModuleState(const KernelFs& fs, std::string_view name) {
  const std::string dir = ModuleDir(fs, name);
  if (!fs.Exists(dir)) return ModuleState::kAbsent;
  // Only loadable modules have an initstate (kernel/module/sysfs.c; seen on 6.1 and 6.12).
  return fs.Exists(dir + "/initstate") ? ModuleState::kLoaded : ModuleState::kBuiltIn;
}

Result<std::string> ReadModuleParameter(const KernelFs& fs, std::string_view name,
                                        std::string_view parameter) {
  Result<std::string> value =
      fs.ReadLine(fmt::format("{}/parameters/{}", ModuleDir(fs, name), parameter));
  if (value && *value == "Y") return "1";
  if (value && *value == "N") return "0";
  return value;
}

Result<ModuleParameters> ReadModuleParameters(const KernelFs& fs, std::string_view name) {
  ModuleParameters parameters;
  const std::string dir = ModuleDir(fs, name) + "/parameters";
  if (!fs.Exists(dir)) return parameters;
  ASSIGN_OR_RETURN(const std::vector<std::string> names, fs.List(dir));
  for (const std::string& parameter : names) {
    Result<std::string> value = ReadModuleParameter(fs, name, parameter);
    if (value && !value->empty() && *value != "(null)") {
      parameters.emplace_back(parameter, std::move(*value));
    }
  }
  return parameters;
}

int64_t ModuleUsers(const KernelFs& fs, std::string_view name) {
  return fs.ReadInt(ModuleDir(fs, name) + "/refcnt").value_or(0);
}

}  // namespace blkfair
