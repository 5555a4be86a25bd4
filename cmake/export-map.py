#!/usr/bin/env python3
"""Writes the linker's version script of libhocket: what the installed headers declare, and nothing else.

    export-map.py --output MAP HEADER...

A C header exports its functions; a C++ header the members, the vtable and the type information of its classes, and the
functions and variables that it declares and does not define. Templates and inline functions are compiled by whoever
uses them. The headers are read by a small parser: comments, literals and directives go, braces are matched, and the
declarations of each namespace are looked at one by one.
"""
import argparse
import re
import sys

TOKEN = re.compile(r'extern\s*"C"|::|[A-Za-z_]\w*|\S')


def tokens_of(text):
    text = text.replace("\\\n", " ")
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"^[ \t]*#[^\n]*", " ", text, flags=re.M)
    text = re.sub(r'(?<!extern )"(?:\\.|[^"\\])*"', " 0 ", text)
    text = re.sub(r"\[\[[^\]]*\]\]", " ", text)
    text = re.sub(r"'(?:\\.|[^'\\])'", " 0 ", text)
    return TOKEN.findall(text)


def end_of_block(tokens, start):
    """The place behind the brace that closes the one at `start`."""
    depth = 0
    for place in range(start, len(tokens)):
        depth += {"{": 1, "}": -1}.get(tokens[place], 0)
        if depth == 0:
            return place + 1
    sys.exit("export-map: a brace is not closed")


class Exports:
    def __init__(self):
        self.functions_of_c, self.classes, self.others = set(), set(), set()

    def read(self, tokens, scope, is_c=False):
        place = 0
        while place < len(tokens):
            head, parentheses = place, 0
            while place < len(tokens) and (parentheses or tokens[place] not in "{;"):
                parentheses += {"(": 1, ")": -1}.get(tokens[place], 0)
                place += 1
            declaration = tokens[head:place]
            if place == len(tokens):
                break
            has_body = tokens[place] == "{"
            end = end_of_block(tokens, place) if has_body else place + 1
            if has_body and declaration[:1] == ["namespace"]:
                self.read(tokens[place + 1:end - 1], scope + [t for t in declaration[1:] if t != "::"])
            elif has_body and declaration and declaration[-1].startswith("extern"):
                self.read(tokens[place + 1:end - 1], [], is_c=True)
            else:
                self.declare(declaration, has_body, scope, is_c)
                # What follows a body up to a semicolon belongs to it: the name behind a typedef's braces.
                if has_body and declaration[:1] in (["typedef"], ["class"], ["struct"], ["enum"], ["union"]):
                    while tokens[end - 1] != ";":
                        end += 1
            place = end

    def declare(self, declaration, has_body, scope, is_c):
        if not declaration or declaration[0] in ("using", "typedef", "enum", "template", "static_assert", "friend"):
            return
        if declaration[0] in ("class", "struct"):
            if has_body and not is_c:
                self.classes.add("::".join(scope + [declaration[1]]))
            return
        if has_body or "inline" in declaration or "constexpr" in declaration:
            return
        named = declaration.index("(") if "(" in declaration else len(declaration)
        if is_c and named < len(declaration):
            self.functions_of_c.add(declaration[named - 1])
        elif "operator" in declaration[:named]:
            self.others.add("::".join(scope + ["operator"]))
        elif not is_c:
            self.others.add("::".join(scope + [declaration[named - 1]]))

    def script(self):
        lines = ["{", "  global:"]
        lines += [f"    {name};" for name in sorted(self.functions_of_c)]
        lines += ['    extern "C++" {']
        # A pattern cannot hold a blank or a parenthesis; a class of characters stands for what may follow a name.
        for name in sorted(self.classes):
            lines += [f"      {name}::*;"]
            lines += [f"      {what}?for?{name}{rest};" for what in ("vtable", "VTT", "typeinfo", "typeinfo?name")
                      for rest in ("", "::*")]
            lines += [f"      {kind}?thunk?to?{name}::*;" for kind in ("non-virtual", "virtual")]
        for name in sorted(self.others):
            lines += [f"      {name};", f"      {name}[!a-zA-Z0-9_]*;"]
        return "\n".join(lines + ["    };", "  local:", "    *;", "};", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", required=True)
    parser.add_argument("headers", nargs="+")
    options = parser.parse_args()
    exports = Exports()
    for header in options.headers:
        with open(header, encoding="utf-8") as file:
            exports.read(tokens_of(file.read()), [])
    with open(options.output, "w", encoding="utf-8") as file:
        file.write(exports.script())


if __name__ == "__main__":
    main()
