"""HTML, read again: every tag is closed in order, none runs or loads anything; text is text."""

from html.parser import HTMLParser

ALLOWED = frozenset(["div", "span", "p", "b", "br", "table", "thead", "tbody", "tr", "th", "td"])
STYLES = frozenset(["text-align: left"])
"""None has a colour: those of the theme hold, in the dark one, too."""


class Checked(HTMLParser):
    """The tags and the text of a page; AssertionError for one that is not as it should be."""

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
