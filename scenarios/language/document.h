// A parsed TOML document as a plain tree in which every node knows its place. It keeps TOML++ in
// one source file, and lets the reader change the tree (overrides, shorthands) before it is
// checked. Internal to scenarios/language. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

namespace blkfair {

// Where a node stands: in the file, or in one of the overrides.
struct Place {
  uint32_t line = 0;
  uint32_t column = 0;
  int override_index = -1;  // >= 0: came from that override; line and column are 0
  bool operator==(const Place&) const = default;
};

struct NodeEntry;

struct Node {
  enum class Kind : uint8_t { kBool, kInt, kFloat, kString, kDate, kArray, kTable };
  Kind kind = Kind::kTable;
  Place place;
  bool boolean = false;
  int64_t integer = 0;
  double real = 0;
  std::string text;
  std::vector<Node> items;         // kArray
  std::vector<NodeEntry> entries;  // kTable, in file order, keys unique

  bool IsTable() const { return kind == Kind::kTable; }
  bool IsString() const { return kind == Kind::kString; }
  bool IsArray() const { return kind == Kind::kArray; }

  const NodeEntry* Find(std::string_view key) const;
  NodeEntry* Find(std::string_view key);
  // The text of a string entry; null when the key is absent or something else.
  const std::string* FindText(std::string_view key) const;
  void Set(std::string_view key, Place key_place, Node value);
  void Remove(std::string_view key);

  static Node Empty(Kind kind, Place place);
  static Node Text(std::string text, Place place);
};

struct NodeEntry {
  std::string key;
  Place place;  // of the key
  Node value;
};

// "a whole number", "a table", ...: for messages.
std::string_view KindName(Node::Kind kind);

struct SyntaxError {
  Place place;
  std::string message;
};

// CRLF line ends and a UTF-8 byte order mark are accepted; line ends within strings become LF.
tl::expected<Node, SyntaxError> ParseDocument(std::string_view toml_text);

// One value as it would stand after "key =". A text that is no TOML value is taken as a string, if
// it is valid UTF-8. All places are those of override `override_index`.
tl::expected<Node, SyntaxError> ParseOverrideValue(std::string_view text, int override_index);

// `text` as a TOML string, over several lines if it has several.
std::string QuoteToml(std::string_view text);

}  // namespace blkfair
