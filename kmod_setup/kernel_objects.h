// One class per kernel object that a fixture changes: a configfs directory, an attribute, a mount,
// a module. Each is journaled before it is made, made by Create, and undone by Release, or else by
// the destructor, which logs what it cannot undo. Owned by a fixture, used from the orchestrator's
// thread; the context outlives the objects.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kmod_setup/fixture.h"
#include "kmod_setup/journal.h"
#include "kmod_setup/module.h"

namespace blkfair {

class KernelObject {
 public:
  KernelObject(const KernelObject&) = delete;
  KernelObject& operator=(const KernelObject&) = delete;
  virtual ~KernelObject();

  // Undoes it. Done once: after a failure the journal keeps the operation for `blkfair clean`.
  Result<void> Release();

 protected:
  KernelObject(const FixtureContext& context, Operation operation)
      : context_(context), operation_(std::move(operation)) {}

  // Journals the operation, then calls `act`; what failed has changed nothing and is marked undone.
  Result<void> Do(const std::function<Result<void>()>& act);

  const FixtureContext& context_;
  const Operation operation_;

 private:
  uint64_t journal_id_ = 0;
  bool done_ = false;
};

// A directory made in configfs: a kernel object with attributes. Its name carries our prefix.
class ConfigfsDir : public KernelObject {
 public:
  // An existing one is an error: it belongs to another run, or is a killed run's leftover.
  static Result<std::unique_ptr<ConfigfsDir>> Create(const FixtureContext& context,
                                                     const std::string& path);

  const std::string& path() const { return operation_.object; }
  std::string AttrPath(std::string_view attribute) const;
  bool HasAttr(std::string_view attribute) const;
  // Writes an attribute, which goes with the directory and is not restored.
  Result<void> Set(std::string_view attribute, std::string_view value);
  Result<std::string> Get(std::string_view attribute) const;

 private:
  using KernelObject::KernelObject;
};

// A link made in configfs, which the kernel takes as a command. Its path carries our prefix.
class ConfigfsLink : public KernelObject {
 public:
  static Result<std::unique_ptr<ConfigfsLink>> Create(const FixtureContext& context,
                                                      const std::string& target,
                                                      const std::string& path);

 private:
  using KernelObject::KernelObject;
};

// An attribute that is written and later gets its value back. Of a choice ("none [kyber] bfq") the
// value is the word in brackets. A busy attribute is retried for a bounded time (udev may be at
// it).
class SavedAttr : public KernelObject {
 public:
  // The value is read back; a mismatch is an error that names both.
  static Result<std::unique_ptr<SavedAttr>> Create(const FixtureContext& context,
                                                   const std::string& path,
                                                   const std::string& value);

 private:
  using KernelObject::KernelObject;
};

// A pseudo file system that was not mounted where it belongs.
class Mount : public KernelObject {
 public:
  // Null when it is mounted already.
  static Result<std::unique_ptr<Mount>> Create(const FixtureContext& context,
                                               const std::string& type, const std::string& path);

 private:
  using KernelObject::KernelObject;
};

// A connection to the NVMe subsystem `nqn`, whose name carries our prefix.
class NvmeConnection : public KernelObject {
 public:
  // `options` as /dev/nvme-fabrics takes them (drivers/nvme/host/fabrics.c), without the nqn. When
  // this returns the controller is there; its namespaces are still being scanned.
  static Result<std::unique_ptr<NvmeConnection>> Create(const FixtureContext& context,
                                                        const std::string& nqn,
                                                        const std::string& options);

 private:
  using KernelObject::KernelObject;
};

// A module that was not loaded. Unloads only what it loaded.
class LoadedModule : public KernelObject {
 public:
  // Loads exactly this module.
  static Result<std::unique_ptr<LoadedModule>> Create(const FixtureContext& context,
                                                      const std::string& name,
                                                      const ModuleParameters& parameters);

 private:
  using KernelObject::KernelObject;
};

// Somebody else's module, unloaded to be loaded with other parameters; Release loads it again as it
// was.
class UnloadedModule : public KernelObject {
 public:
  static Result<std::unique_ptr<UnloadedModule>> Create(const FixtureContext& context,
                                                        const std::string& name);

 private:
  using KernelObject::KernelObject;
};

// The objects of a fixture, in the order in which they were made.
class KernelObjects {
 public:
  KernelObjects() = default;
  KernelObjects(const KernelObjects&) = delete;
  KernelObjects& operator=(const KernelObjects&) = delete;
  ~KernelObjects();

  // Takes ownership; null is fine. Returns the object, for further use.
  template <typename T>
  T* Add(std::unique_ptr<T> object) {
    T* const raw = object.get();
    if (raw != nullptr) objects_.push_back(std::move(object));
    return raw;
  }

  // Loads a module with what it depends on; modules that are loaded or built in are left alone.
  Result<void> LoadModule(const FixtureContext& context, const std::string& name,
                          const ModuleParameters& parameters);

  // Undoes all in strict reverse, going on past failures; the error lists all of them.
  Result<void> Release();

 private:
  std::vector<std::unique_ptr<KernelObject>> objects_;
};

// The chosen word of "none [kyber] bfq"; a text without brackets as it is.
std::string ChosenValue(std::string_view text);

// Whether a file system of that type is mounted exactly there.
bool IsMounted(const KernelFs& fs, const std::string& type, const std::string& path);

// Calls `act` again, for a bounded time, while it fails with EBUSY or EAGAIN. `pause` waits; when
// it returns false (the user interrupted) that ends it. Without `pause` it sleeps, come what may.
Result<void> RetryWhileBusy(const std::function<Result<void>()>& act,
                            const std::function<bool(int64_t ns)>& pause = nullptr);

// All the errors as one, of the first one's kind.
Result<void> JoinErrors(const std::vector<Error>& errors);

}  // namespace blkfair
