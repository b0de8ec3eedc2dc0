"""Reads the YAML that setups are written in, without aliases and tags: enough to compare setups with their JSON Schema.

    document = small_yaml.load(text)      # dicts, lists, strings, numbers, booleans, None
"""
import re


def load(text):
    return _Reader(text).document()


def scalar(text):
    """A plain scalar as its YAML 1.2 type."""
    if text in ("", "~", "null"):
        return None
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"[-+]?\d+", text):
        return int(text)
    if re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", text):
        return float(text)
    return text


def _without_comment(line):
    quote = ""
    for i, c in enumerate(line):
        if quote:
            quote = "" if c == quote else quote
        elif c in "\"'" and (i == 0 or line[i - 1] in " [{,:"):
            quote = c
        elif c == "#" and (i == 0 or line[i - 1] == " "):
            return line[:i]
    return line


class _Reader:
    def __init__(self, text):
        self.lines = [line.rstrip() for line in text.splitlines()]
        self.at = 0

    def document(self):
        self.skip()
        return self.block(self.indent())

    def skip(self):
        while self.at < len(self.lines) and not _without_comment(self.lines[self.at]).strip():
            self.at += 1

    def indent(self):
        return len(self.lines[self.at]) - len(self.lines[self.at].lstrip()) if self.at < len(self.lines) else -1

    def block(self, indent):
        """A mapping or list whose lines start at this column."""
        if self.lines[self.at].lstrip().startswith("- "):
            return self.block_list(indent)
        found = {}
        while self.at < len(self.lines) and self.indent() == indent:
            key, rest = re.match(r"\s*(\"[^\"]*\"|'[^']*'|[^:{\[]+?)\s*:(?:\s+(.*)|$)", self.lines[self.at]).groups()
            found[str(key).strip("\"'")] = self.value(rest or "", indent)
            self.skip()
        return found

    def block_list(self, indent):
        found = []
        while self.at < len(self.lines) and self.indent() == indent and self.lines[self.at].lstrip().startswith("- "):
            line = self.lines[self.at]
            rest = line[indent + 2:]
            if re.match(r"\s*[\w-]+\s*:(\s|$)", rest):
                self.lines[self.at] = " " * (indent + 2) + rest  # the item's first key, as if it stood on its own line
                found.append(self.block(indent + 2 + len(rest) - len(rest.lstrip())))
            else:
                found.append(self.value(rest, indent))
            self.skip()
        return found

    def value(self, rest, indent):
        rest = _without_comment(rest).strip()
        if rest in ("|", ">", "|-", ">-"):
            return self.literal(indent)
        if rest[:1] in ("{", "["):
            while not _balanced(rest):
                self.at += 1
                rest += " " + _without_comment(self.lines[self.at]).strip()
            self.at += 1
            return _Flow(rest).read()
        self.at += 1
        if rest:
            return rest[1:-1] if rest[0] in "\"'" else scalar(rest)
        self.skip()
        deeper = self.indent() > indent or (self.indent() == indent and self.lines[self.at].lstrip().startswith("- "))
        return self.block(self.indent()) if deeper else None

    def literal(self, indent):
        self.at += 1
        lines = []
        while self.at < len(self.lines) and (not self.lines[self.at].strip() or self.indent() > indent):
            lines.append(self.lines[self.at].strip())
            self.at += 1
        return "\n".join(lines)


def _balanced(text):
    bare = re.sub(r"\"[^\"]*\"|'[^']*'", "", text)
    return bare.count("{") + bare.count("[") == bare.count("}") + bare.count("]")


class _Flow:
    """Braces and brackets on one line."""

    def __init__(self, text):
        self.tokens = re.findall(r"\"[^\"]*\"|'[^']*'|[{}\[\],]|:(?=\s)|(?:[^{}\[\],:\"']|:(?!\s))+", text)
        self.tokens = [t.strip() for t in self.tokens if t.strip()]

    def read(self):
        token = self.tokens.pop(0)
        if token == "[":
            return self.items("]", self.read)
        if token == "{":
            return dict(self.items("}", self.pair))
        return token[1:-1] if token[0] in "\"'" else scalar(token)

    def pair(self):
        key = self.tokens.pop(0).strip("\"'")
        assert self.tokens.pop(0) == ":", key
        return key, self.read()

    def items(self, end, one):
        found = []
        while self.tokens[0] != end:
            found.append(one())
            if self.tokens[0] == ",":
                self.tokens.pop(0)
        self.tokens.pop(0)
        return found
