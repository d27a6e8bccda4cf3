#include "tests/style/source_text.h"

#include <algorithm>
#include <cctype>

namespace blkfair::style {
namespace {

bool IsWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

enum class Kind { kCode, kComment, kString, kChar };

struct Piece {
  Kind kind;
  size_t begin;  // of its contents, delimiters left out; for kCode, of the text itself
  size_t end;
  size_t next;  // where the text goes on after it
};

// Where the raw string that starts with R" at `quote` - 1 has its contents, and where it ends.
Piece RawString(std::string_view text, size_t quote) {
  const size_t open = text.find('(', quote);
  if (open == std::string_view::npos) {
    return {Kind::kString, text.size(), text.size(), text.size()};
  }
  const std::string close = ")" + std::string(text.substr(quote + 1, open - quote - 1)) + "\"";
  const size_t end = std::min(text.find(close, open), text.size());
  return {Kind::kString, open + 1, end, end + close.size()};
}

// The literal that `quote` opens; it ends with the line at the latest.
Piece Quoted(std::string_view text, size_t quote, Kind kind) {
  size_t end = quote + 1;
  while (end < text.size() && text[end] != text[quote] && text[end] != '\n') {
    end += text[end] == '\\' ? 2 : 1;
  }
  end = std::min(end, text.size());
  return {kind, quote + 1, end, end + 1};
}

// What starts at `i`.
Piece PieceAt(std::string_view text, size_t i) {
  const std::string_view rest = text.substr(i);
  if (rest.starts_with("//")) {
    const size_t end = std::min(text.find('\n', i), text.size());
    return {Kind::kComment, i, end, end};
  }
  if (rest.starts_with("/*")) {
    const size_t end = std::min(text.find("*/", i + 2), text.size() - 2) + 2;
    return {Kind::kComment, i, end, end};
  }
  if (text[i] == '"') {
    return i > 0 && text[i - 1] == 'R' ? RawString(text, i) : Quoted(text, i, Kind::kString);
  }
  // After a digit or letter it is a digit separator: 1'000.
  if (text[i] == '\'' && !(i > 0 && IsWord(text[i - 1]))) return Quoted(text, i, Kind::kChar);
  return {Kind::kCode, i, i + 1, i + 1};
}

std::vector<Piece> NonCode(std::string_view text) {
  std::vector<Piece> pieces;
  for (size_t i = 0; i < text.size();) {
    const Piece piece = PieceAt(text, i);
    if (piece.kind != Kind::kCode) pieces.push_back(piece);
    i = piece.next;
  }
  return pieces;
}

// `code[open]` is a bracket: the position of the one that closes it.
size_t Closing(std::string_view code, size_t open, char left, char right) {
  int depth = 0;
  for (size_t i = open; i < code.size(); ++i) {
    if (code[i] == left) ++depth;
    if (code[i] == right && --depth == 0) return i;
  }
  return code.size();
}

}  // namespace

std::string CodeOnly(std::string_view text) {
  std::string code(text);
  for (const Piece& piece : NonCode(text)) {
    for (size_t i = piece.begin; i < piece.end; ++i) {
      if (code[i] != '\n') code[i] = ' ';
    }
  }
  return code;
}

std::vector<Literal> StringLiterals(std::string_view text) {
  std::vector<Literal> literals;
  for (const Piece& piece : NonCode(text)) {
    if (piece.kind != Kind::kString) continue;
    const size_t quote = text.rfind('"', piece.begin - 1);
    const size_t before =
        quote == 0 ? std::string_view::npos : text.find_last_not_of(" \n", quote - 1);
    literals.push_back({.line = LineAt(text, piece.begin),
                        .text = std::string(text.substr(piece.begin, piece.end - piece.begin)),
                        .appended = before != std::string_view::npos && text[before] == '+'});
  }
  return literals;
}

std::vector<Include> Includes(std::string_view text) {
  constexpr std::string_view kDirective = "#include ";
  std::vector<Include> includes;
  size_t number = 0;
  for (const std::string_view line : Lines(text)) {
    ++number;
    if (!line.starts_with(kDirective) || line.size() < kDirective.size() + 2) continue;
    const char open = line[kDirective.size()];
    if (open != '"' && open != '<') continue;
    const size_t begin = kDirective.size() + 1;
    const size_t end = line.find(open == '"' ? '"' : '>', begin);
    includes.push_back({number, std::string(line.substr(begin, end - begin)), open == '"'});
  }
  return includes;
}

std::vector<Body> FunctionBodies(std::string_view code, std::span<const std::string_view> names) {
  std::vector<Body> bodies;
  for (const std::string_view name : names) {
    for (const size_t at : FindToken(code, name)) {
      const size_t open = at + name.size();
      if (open >= code.size() || code[open] != '(') continue;
      const size_t after = Closing(code, open, '(', ')') + 1;
      // Between a parameter list and its body stand only words: const, override, noexcept.
      const size_t brace =
          code.find_first_not_of(" \nabcdefghijklmnopqrstuvwxyz", std::min(after, code.size()));
      if (brace == std::string_view::npos || code[brace] != '{') continue;
      const size_t end = Closing(code, brace, '{', '}');
      bodies.push_back({LineAt(code, brace), std::string(code.substr(brace, end - brace))});
    }
  }
  return bodies;
}

std::vector<size_t> FindToken(std::string_view code, std::string_view token) {
  std::vector<size_t> found;
  for (size_t at = code.find(token); at != std::string_view::npos; at = code.find(token, at + 1)) {
    const size_t end = at + token.size();
    const bool starts = at == 0 || !IsWord(token.front()) || !IsWord(code[at - 1]);
    const bool ends = end >= code.size() || !IsWord(token.back()) || !IsWord(code[end]);
    if (starts && ends) found.push_back(at);
  }
  return found;
}

std::vector<std::string_view> Lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

size_t LineAt(std::string_view text, size_t position) {
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(position, text.size()));
  return 1 + static_cast<size_t>(std::count(text.begin(), end, '\n'));
}

std::vector<TestName> TestNamesIn(std::string_view text) {
  std::vector<TestName> tests;
  const std::string code = CodeOnly(text);
  for (const std::string_view macro : {"TEST", "TEST_F", "TEST_P", "TYPED_TEST"}) {
    for (const size_t at : FindToken(code, macro)) {
      const std::string_view after = std::string_view(code).substr(at + macro.size());
      if (!after.starts_with("(")) continue;
      tests.push_back({LineAt(code, at), std::string(after.substr(1, after.find(')') - 1))});
    }
  }
  return tests;
}

}  // namespace blkfair::style
