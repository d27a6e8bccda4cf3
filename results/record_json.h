// The Record as JSON and back. Histograms are sparse; absent metrics are null; keys come in a fixed
// order, so that equal Records are equal texts. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "results/record.h"

namespace blkfair {

// `pretty`: indented, for files; otherwise one line, for the way out of a guest.
std::string RecordToJson(const Record& record, bool pretty);
// One phase alone, one line: what a guest hands out after each phase, so that a run that is cut
// short keeps what was measured.
std::string PhaseToJson(const PhaseRecord& phase);

// A text that is not a record, or of a newer schema, is an error that says so.
Result<Record> RecordFromJson(std::string_view json);
Result<PhaseRecord> PhaseFromJson(std::string_view json);

// RecordToJson without `host`: what must be identical between two runs with the same arguments.
std::string ComparableJson(const Record& record);

}  // namespace blkfair
