#include "scenarios/language/document.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace blkfair {

namespace {

constexpr size_t kMaxTextBytes = size_t{256} << 10;
// TOML++ bounds the nesting of values (256) but not of dotted keys, and frees tables recursively:
// "a.a.a. ..." with 40,000 parts overflows the stack (seen with 3.3.0).
constexpr size_t kMaxKeyDots = 16;
// Nothing in a scenario is nested deeper than the list of a sweep whose key is written as tables
// (phase, sweep, job, NAME, KEY); below this depth the tree is cut off, and what holds it is
// reported by the reader.
constexpr int kMaxDepth = 8;

// Walks over TOML text outside of strings and comments.
class TextWalker {
 public:
  explicit TextWalker(std::string_view text) : text_(text) {}

  // The next character that is not part of a string or a comment.
  std::optional<char> Next() {
    while (position_ < text_.size()) {
      const char c = text_[position_];
      if (c == '#') {
        while (position_ < text_.size() && text_[position_] != '\n') Step();
      } else if (c == '"' || c == '\'') {
        SkipString(c);
      } else {
        place_ = next_place_;
        Step();
        return c;
      }
    }
    return std::nullopt;
  }

  Place place() const { return place_; }  // of what Next returned

 private:
  void Step() {
    const char c = text_[position_++];
    if (c == '\n') {
      next_place_.line++;
      next_place_.column = 1;
    } else if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) {  // count code points
      next_place_.column++;
    }
  }

  void SkipString(char quote) {
    const std::string triple(3, quote);
    const bool multi_line = text_.substr(position_, 3) == triple;
    for (int i = 0; i < (multi_line ? 3 : 1); i++) Step();
    while (position_ < text_.size()) {
      const char c = text_[position_];
      if (multi_line && text_.substr(position_, 3) == triple) {
        // Up to two quotes more may belong to the string's end.
        for (int i = 0; i < 5 && position_ < text_.size() && text_[position_] == quote; i++) Step();
        return;
      }
      Step();
      if (!multi_line && (c == quote || c == '\n')) return;
      if (c == '\\' && quote == '"' && position_ < text_.size()) Step();
    }
  }

  std::string_view text_;
  size_t position_ = 0;
  Place next_place_{1, 1, -1};
  Place place_;
};

std::optional<SyntaxError> CheckBounds(std::string_view text) {
  if (text.size() > kMaxTextBytes) {
    return SyntaxError{{1, 1, -1}, "larger than 256 KiB: this is no scenario"};
  }
  TextWalker walker(text);
  size_t dots = 0;
  while (const std::optional<char> c = walker.Next()) {
    if (*c == '.') {
      if (++dots > kMaxKeyDots) {
        return SyntaxError{
            walker.place(),
            fmt::format("a key has more than {} dots: no table is so deep", kMaxKeyDots)};
      }
    } else if (std::string_view("=,[]{}\n").find(*c) != std::string_view::npos) {
      dots = 0;
    }
  }
  return std::nullopt;
}

std::string WithLf(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    out += text[i];
  }
  return out;
}

Place PlaceOf(const toml::source_region& region) {
  return {static_cast<uint32_t>(region.begin.line), static_cast<uint32_t>(region.begin.column), -1};
}

// `override_place`: stands for every place, when given.
Node Convert(const toml::node& from, const std::optional<Place>& override_place, int depth) {
  Node node;
  node.place = override_place.value_or(PlaceOf(from.source()));
  if (const auto* boolean = from.as_boolean()) {
    node.kind = Node::Kind::kBool;
    node.boolean = boolean->get();
  } else if (const auto* integer = from.as_integer()) {
    node.kind = Node::Kind::kInt;
    node.integer = integer->get();
  } else if (const auto* real = from.as_floating_point()) {
    node.kind = Node::Kind::kFloat;
    node.real = real->get();
  } else if (const auto* text = from.as_string()) {
    node.kind = Node::Kind::kString;
    node.text = text->get();
  } else if (const auto* array = from.as_array()) {
    node.kind = Node::Kind::kArray;
    if (depth >= kMaxDepth) return node;
    node.items.reserve(array->size());
    for (const toml::node& item : *array) {
      node.items.push_back(Convert(item, override_place, depth + 1));
    }
  } else if (const auto* table = from.as_table()) {
    node.kind = Node::Kind::kTable;
    if (depth >= kMaxDepth) return node;
    for (const auto& [key, value] : *table) {
      node.entries.push_back({std::string(key.str()),
                              override_place.value_or(PlaceOf(key.source())),
                              Convert(value, override_place, depth + 1)});
    }
    // TOML++ keeps tables sorted by key.
    std::stable_sort(
        node.entries.begin(), node.entries.end(), [](const NodeEntry& a, const NodeEntry& b) {
          return std::tie(a.place.line, a.place.column) < std::tie(b.place.line, b.place.column);
        });
  } else {
    node.kind = Node::Kind::kDate;
  }
  return node;
}

std::string_view LineOf(std::string_view text, uint32_t line) {
  for (; line > 1; line--) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) return "";
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

// The commonest slip is a text or a value with a unit that lacks its quotes: how to write it, or
// nothing when `line` is not like that.
std::string QuotesHint(std::string_view line) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  constexpr std::string_view kWordCharacters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.:/%";
  const size_t key_start = line.find_first_not_of(" \t");
  const size_t equals = line.find('=');
  if (key_start == std::string_view::npos || equals == std::string_view::npos) return "";
  const std::string_view key =
      line.substr(key_start, line.find_first_not_of(kWordCharacters, key_start) - key_start);
  const size_t word_start = line.find_first_not_of(" \t", equals + 1);
  if (key.empty() || word_start == std::string_view::npos) return "";
  const size_t word_end =
      std::min(line.find_first_not_of(kWordCharacters, word_start), line.size());
  const std::string_view word = line.substr(word_start, word_end - word_start);
  const size_t rest = line.find_first_not_of(" \t", word_end);
  if (rest != std::string_view::npos && line[rest] != '#') return "";
  if (word.find_first_of(kLetters) == std::string_view::npos) return "";
  return fmt::format("; texts and values with a unit need quotes: {} = \"{}\"", key, word);
}

std::string SyntaxMessage(std::string_view description, std::string_view line) {
  constexpr std::string_view kPrefix = "Error while parsing ";
  std::string message = "not TOML: ";
  if (description.substr(0, kPrefix.size()) == kPrefix) {
    message += "in ";
    description.remove_prefix(kPrefix.size());
  }
  message += description;
  if (description.find("unescaped control characters") != std::string_view::npos) {
    return message + "; is the closing quote missing?";
  }
  if (description.find("utf-8") != std::string_view::npos) return message + "; save it as UTF-8";
  return message + QuotesHint(line);
}

// Debian builds the library with exceptions: this is the one place where they are met.
tl::expected<toml::table, SyntaxError> Parse(std::string_view text) {
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    const Place place = PlaceOf(error.source());
    return tl::unexpected(
        SyntaxError{place, SyntaxMessage(error.description(), LineOf(text, place.line))});
  }
}

// The value of `text` when it is one TOML value and nothing else.
std::optional<Node> ParseOneValue(std::string_view text, const Place& place) {
  const std::string document = fmt::format("value = {}", text);
  if (CheckBounds(document)) return std::nullopt;
  const auto table = Parse(document);
  if (!table || table->size() != 1) return std::nullopt;
  const toml::node* value = table->get("value");
  if (value == nullptr) return std::nullopt;
  return Convert(*value, place, 2);
}

}  // namespace

const NodeEntry* Node::Find(std::string_view key) const {
  const auto it = std::find_if(entries.begin(), entries.end(),
                               [&](const NodeEntry& entry) { return entry.key == key; });
  return it == entries.end() ? nullptr : &*it;
}

NodeEntry* Node::Find(std::string_view key) {
  return const_cast<NodeEntry*>(std::as_const(*this).Find(key));
}

const std::string* Node::FindText(std::string_view key) const {
  const NodeEntry* entry = Find(key);
  return entry != nullptr && entry->value.IsString() ? &entry->value.text : nullptr;
}

void Node::Set(std::string_view key, Place key_place, Node value) {
  if (NodeEntry* entry = Find(key)) {
    entry->place = key_place;
    entry->value = std::move(value);
  } else {
    entries.push_back({std::string(key), key_place, std::move(value)});
  }
}

void Node::Remove(std::string_view key) {
  std::erase_if(entries, [&](const NodeEntry& entry) { return entry.key == key; });
}

Node Node::Empty(Kind kind, Place place) {
  Node node;
  node.kind = kind;
  node.place = place;
  return node;
}

Node Node::Text(std::string text, Place place) {
  Node node = Empty(Kind::kString, place);
  node.text = std::move(text);
  return node;
}

std::string_view KindName(Node::Kind kind) {
  switch (kind) {
    case Node::Kind::kBool:
      return "true or false";
    case Node::Kind::kInt:
      return "a whole number";
    case Node::Kind::kFloat:
      return "a decimal number";
    case Node::Kind::kString:
      return "a text";
    case Node::Kind::kDate:
      return "a date or time";
    case Node::Kind::kArray:
      return "a list";
    case Node::Kind::kTable:
      return "a table";
  }
  CHECK(false);
}

tl::expected<Node, SyntaxError> ParseDocument(std::string_view toml_text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (toml_text.substr(0, kByteOrderMark.size()) == kByteOrderMark) {
    toml_text.remove_prefix(kByteOrderMark.size());
  }
  if (auto error = CheckBounds(toml_text)) return tl::unexpected(std::move(*error));
  const auto table = Parse(WithLf(toml_text));
  if (!table) return tl::unexpected(table.error());
  return Convert(*table, std::nullopt, 0);
}

tl::expected<Node, SyntaxError> ParseOverrideValue(std::string_view text, int override_index) {
  const Place place{0, 0, override_index};
  if (std::optional<Node> value = ParseOneValue(text, place)) return std::move(*value);
  if (std::optional<Node> word = ParseOneValue(QuoteToml(text), place)) return std::move(*word);
  return tl::unexpected(SyntaxError{place, "the value is not valid UTF-8 text"});
}

std::string QuoteToml(std::string_view text) {
  const bool multi_line = text.find('\n') != std::string_view::npos;
  std::string out = multi_line ? "\"\"\"\n" : "\"";
  size_t quotes = 0;  // in a row
  for (size_t i = 0; i < text.size(); i++) {
    const char c = text[i];
    quotes = c == '"' ? quotes + 1 : 0;
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '"' && (!multi_line || quotes == 3 || i + 1 == text.size())) {
      out += "\\\"";
      quotes = 0;
    } else if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f) {
      out += fmt::format("\\u{:04X}", byte);
    } else {
      out += c;
    }
  }
  return out + (multi_line ? "\"\"\"" : "\"");
}

}  // namespace blkfair
