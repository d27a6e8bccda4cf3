// Text in columns: wrapping and tables for reports that fit a page. Pure; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace blkfair {

inline constexpr size_t kReportColumns = 100;

// Columns that a text takes: UTF-8 characters are one each.
size_t TextColumns(std::string_view text);

// Lines of at most `columns` columns, broken at spaces (a longer word is cut). Newlines break too,
// other control characters become spaces.
std::vector<std::string> WrapText(std::string_view text, size_t columns);

// "label  text...", the text wrapped to the page and indented to `indent`, with a newline.
std::string Labelled(std::string_view label, std::string_view text, size_t indent);

// At most `columns` columns; what is cut off is shown by "~".
std::string Clip(std::string_view text, size_t columns);

enum class Align : unsigned char { kLeft, kRight };

// Rows of cells, padded to the widest of each column, two spaces between columns.
class TextTable {
 public:
  // `indent`: spaces before each row.
  TextTable(std::vector<Align> columns, size_t indent);

  // `colour`: an ANSI sequence for the first cell; empty for none.
  void Row(std::vector<std::string> cells, std::string_view colour = {});
  // A line of its own between rows, as it is.
  void Line(std::string text);
  // The longest a cell of `column` may be: longer ones are clipped.
  void Limit(size_t column, size_t columns);
  // The column that is clipped where the rows would be wider than the page.
  void Shrink(size_t column) { shrinking_ = column; }
  std::string ToString() const;

 private:
  struct Entry {
    std::vector<std::string> cells;
    std::string line;  // where there are no cells
    std::string colour;
  };
  std::vector<Align> columns_;
  std::vector<size_t> limits_;
  size_t indent_;
  std::optional<size_t> shrinking_;
  std::vector<Entry> entries_;
};

// A shell command on as many lines as it takes, broken by "\" at spaces outside quotes: it can be
// copied as it stands.
std::string WrapCommand(std::string_view command, size_t indent);

}  // namespace blkfair
