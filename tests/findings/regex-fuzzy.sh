#!/usr/bin/env bash
# regex 2026.11.19: braces that are text for `re` can mean "nearly so" for `regex`.
#
# `{d}`, `{i}`, `{s}` and `{e}` allow deleted, inserted, substituted or any wrong characters; `[:digit:]` is a class.
# Other braces are text for both. Both compile each of these without a complaint.
. "$(dirname "$0")/shared.sh"
python regex==2026.11.19

match() {
    python3 -W ignore - <<'END'
import re, regex

for pattern, name in (
    ("INV{d}", "INV{d}"),
    ("INV{d}", "IN"),
    ("foo{s}bar", "foobar"),
    ("INV{nr}", "INV{nr}"),
    ("[[:digit:]]+", "2026"),
):
    answers = (f"{module.__name__} {bool(module.fullmatch(pattern, name))}" for module in (re, regex))
    print(f"{pattern} matches {name}:", *answers)
END
}

expect match <<'END'
INV{d} matches INV{d}: re True regex False
INV{d} matches IN: re False regex True
foo{s}bar matches foobar: re False regex True
INV{nr} matches INV{nr}: re True regex True
[[:digit:]]+ matches 2026: re False regex True
END
