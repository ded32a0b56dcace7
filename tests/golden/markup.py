"""The words of a page: what is between its tags, block by block."""

from html.parser import HTMLParser

UNREAD = ("script", "style", "title")
LINES = ("h1", "h2", "h3", "p", "tr", "caption", "li", "form", "figure", "header", "nav", "text")
CELLS = ("td", "th")


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[list[str]] = [[""]]  # cells of each line
        self._unread = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._unread += tag in UNREAD
        if tag in LINES:
            self.lines.append([""])
        elif tag in CELLS:
            self.lines[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        self._unread -= tag in UNREAD

    def handle_data(self, data: str) -> None:
        if not self._unread:
            self.lines[-1][-1] += data


def words_of(html: str) -> str:
    """A line for each heading, paragraph and row; cells apart by two spaces."""
    reader = _Words()
    reader.feed(html)
    lines = ([" ".join(cell.split()) for cell in line] for line in reader.lines)
    return "".join("  ".join(filter(None, line)) + "\n" for line in lines if any(line))
