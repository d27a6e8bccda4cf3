#include "results/report/layout.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace blkfair {

namespace {

bool StartsCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

// The bytes of the first `columns` characters.
std::string_view FirstColumns(std::string_view text, size_t columns) {
  size_t bytes = 0;
  while (bytes < text.size()) {
    if (StartsCharacter(text[bytes]) && columns-- == 0) break;
    bytes++;
  }
  return text.substr(0, bytes);
}

std::string WithoutTrailingSpace(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::string Coloured(const std::string& text, const std::string& colour) {
  return colour.empty() ? text : colour + text + "\x1b[0m";
}

void WrapParagraph(std::string_view text, size_t columns, std::vector<std::string>* lines) {
  std::string line;
  while (!text.empty()) {
    const size_t begin = text.find_first_not_of(' ');
    if (begin == std::string_view::npos) break;
    text.remove_prefix(begin);
    std::string_view word = text.substr(0, text.find(' '));
    if (!line.empty() && TextColumns(line) + 1 + TextColumns(word) > columns) {
      lines->push_back(std::exchange(line, {}));
    }
    if (line.empty()) word = FirstColumns(word, columns);
    line += (line.empty() ? "" : " ") + std::string(word);
    text.remove_prefix(word.size());
    if (!text.empty() && text.front() != ' ') lines->push_back(std::exchange(line, {}));
  }
  if (!line.empty()) lines->push_back(line);
}

}  // namespace

size_t TextColumns(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), StartsCharacter));
}

std::vector<std::string> WrapText(std::string_view text, size_t columns) {
  CHECK(columns > 0);
  std::vector<std::string> lines;
  while (!text.empty()) {
    std::string paragraph(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(text.size(), paragraph.size() + 1));
    std::replace_if(paragraph.begin(), paragraph.end(), IsControl, ' ');
    WrapParagraph(paragraph, columns, &lines);
  }
  return lines;
}

std::string Labelled(std::string_view label, std::string_view text, size_t indent) {
  std::string out(label);
  out.resize(std::max(indent, out.size() + 1), ' ');
  bool first = true;
  for (const std::string& line : WrapText(text, kReportColumns - indent)) {
    if (!first) out += std::string(indent, ' ');
    first = false;
    out += line + '\n';
  }
  return first ? WithoutTrailingSpace(out) + '\n' : out;
}

std::string Clip(std::string_view text, size_t columns) {
  if (TextColumns(text) <= columns) return std::string(text);
  CHECK(columns > 0);
  return std::string(FirstColumns(text, columns - 1)) + "~";
}

TextTable::TextTable(std::vector<Align> columns, size_t indent)
    : columns_(std::move(columns)), limits_(columns_.size(), kReportColumns), indent_(indent) {}

void TextTable::Row(std::vector<std::string> cells, std::string_view colour) {
  CHECK(cells.size() == columns_.size());
  for (size_t i = 0; i < cells.size(); i++) {
    std::replace_if(cells[i].begin(), cells[i].end(), IsControl, ' ');
    cells[i] = Clip(cells[i], limits_[i]);
  }
  entries_.push_back(Entry{std::move(cells), "", std::string(colour)});
}

void TextTable::Line(std::string text) { entries_.push_back(Entry{{}, std::move(text), ""}); }

void TextTable::Limit(size_t column, size_t columns) { limits_[column] = columns; }

std::string TextTable::ToString() const {
  std::vector<size_t> widths(columns_.size(), 0);
  for (const Entry& entry : entries_) {
    for (size_t i = 0; i < entry.cells.size(); i++) {
      widths[i] = std::max(widths[i], TextColumns(entry.cells[i]));
    }
  }
  if (shrinking_) {
    const size_t gaps = 2 * (widths.size() - 1);
    const size_t total = std::accumulate(widths.begin(), widths.end(), indent_ + gaps);
    const size_t over = total - std::min(total, kReportColumns);
    widths[*shrinking_] -= std::min(over, widths[*shrinking_] - 1);
  }
  std::string out;
  for (const Entry& entry : entries_) {
    std::string line = entry.cells.empty() ? entry.line : std::string(indent_, ' ');
    for (size_t i = 0; i < entry.cells.size(); i++) {
      const std::string cell = Clip(entry.cells[i], widths[i]);
      const std::string padding(widths[i] - TextColumns(cell), ' ');
      if (i > 0) line += "  ";
      if (columns_[i] == Align::kRight) line += padding;
      line += i == 0 ? Coloured(cell, entry.colour) : cell;
      if (columns_[i] == Align::kLeft) line += padding;
    }
    out += WithoutTrailingSpace(line) + '\n';
  }
  return out;
}

std::string WrapCommand(std::string_view command, size_t indent) {
  std::vector<std::string> words(1);
  char quote = 0;
  for (const char c : command) {
    if (c == ' ' && quote == 0) {
      words.emplace_back();
      continue;
    }
    if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == quote) {
      quote = 0;
    }
    words.back() += c;
  }
  std::string out;
  std::string line(indent, ' ');
  for (size_t i = 0; i < words.size(); i++) {
    const size_t columns = TextColumns(line) + 1 + TextColumns(words[i]) + 2;
    if (i > 0 && columns > kReportColumns) {
      out += line + " \\\n";
      line = std::string(indent + 4, ' ') + words[i];
    } else {
      line += (i > 0 ? " " : "") + words[i];
    }
  }
  return out + line + '\n';
}

}  // namespace blkfair
