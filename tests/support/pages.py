"""A check of HTML: tags are closed in order, nothing is run or loaded, and text is text."""

from html.parser import HTMLParser

ALLOWED = frozenset(
    ["div", "span", "p", "b", "br", "table", "pre", "thead", "tbody", "tr", "th", "td"]
)
STYLES = frozenset(["text-align: left"])
"""None sets a colour, so the theme's colours apply, also in a dark theme."""


class Checked(HTMLParser):
    """The tags and the text of a page; raises AssertionError for invalid pages."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.text = [], [], ""
        self.parts = []  # the text between tags
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        assert tag in ALLOWED
        assert all(name == "class" or (name == "style" and v in STYLES) for name, v in attrs)
        self.tags.append(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data
        self.parts.append(data)

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")
